/**
 * One request over a connection of its own, to addresses that were checked before, whose answer is bounded while it is
 * read.
 *
 * @internal
 * @since 0.1.0
 */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from "node:http"
import type { Transform } from "node:stream"
import * as Effect from "effect/Effect"

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | undefined
  /** The connection is made to one of these; no name is looked up. */
  readonly addresses: ReadonlyArray<string>
  /** Of the body as it is read, decompressed. */
  readonly maxBytes: number
  /** Of the body as it arrives. */
  readonly maxCompressedBytes: number
  /** The body is cut at the limits instead of failing. */
  readonly truncate: boolean
}

/**
 * The body of a redirect is not read.
 *
 * @since 0.1.0
 * @category models
 */
export interface Response {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
  readonly truncated: boolean
}

/**
 * `Unreachable`: nothing was sent; `Connection`: it broke later on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason: "Unreachable" | "Connection" | "Tls" | "TooLarge" | "Decoding"
  readonly message: string
}

/** What a server may send as headers. */
const maxHeaderSize = 16 * 1024

const modules = Effect.promise(() =>
  Promise.all([import("node:http"), import("node:https"), import("node:zlib")] as const)
)

/**
 * Whether a response points elsewhere.
 *
 * @since 0.1.0
 * @category conversions
 */
export const locationOf = ({ headers, status }: Pick<Response, "headers" | "status">): string | undefined =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308 ? headers.location : undefined

const isTls = (code: string): boolean => /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|EPROTO)/.test(code)

const failureOf = (error: unknown, host: string, isConnected: boolean): Failure => {
  const code = (error as { readonly code?: unknown } | null)?.code
  // The text of the error may quote what came over the wire; its code does not.
  const text = typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? code : "closed early"
  if (isTls(text)) return { reason: "Tls", message: `No secure connection to ${host}: ${text}` }
  if (text === "HPE_HEADER_OVERFLOW") return { reason: "TooLarge", message: "The headers of the answer are too large" }
  return isConnected
    ? { reason: "Connection", message: `The connection to ${host} broke: ${text}` }
    : { reason: "Unreachable", message: `No connection to ${host}: ${text}` }
}

/** The form that `net.connect` asks with depends on whether it tries several addresses. */
const pinned = (addresses: ReadonlyArray<string>): NonNullable<RequestOptions["lookup"]> => {
  const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all === true || first === undefined) callback(null, all)
    else callback(null, first.address, first.family)
  }
}

/**
 * Sends a request and reads the answer to its end or its limit. No connection outlives it, interrupted or not.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (request: Request): Effect.Effect<Response, Failure> =>
  Effect.flatMap(modules, ([http, https, zlib]) =>
    Effect.async<Response, Failure>((resume) => {
      const { url } = request
      let isConnected = false
      let isDone = false
      let outgoing: ClientRequest | undefined
      let decoder: Transform | undefined

      const end = (result: Effect.Effect<Response, Failure>): void => {
        if (isDone) return
        close()
        resume(result)
      }
      const close = (): void => {
        isDone = true
        outgoing?.destroy()
        decoder?.destroy()
      }
      const fail = (failure: Failure): void => end(Effect.fail(failure))
      const onError = (error: unknown): void => fail(failureOf(error, url.host, isConnected))

      const onResponse = (incoming: IncomingMessage): void => {
        const status = incoming.statusCode ?? 0
        const { headers } = incoming
        const parts: Array<Uint8Array> = []
        let size = 0
        let arrived = 0
        const respond = (truncated: boolean): void =>
          end(Effect.sync(() => ({ status, headers, body: Buffer.concat(parts), truncated })))
        const overflow = (what: string, limit: number): void =>
          request.truncate
            ? respond(true)
            : fail({ reason: "TooLarge", message: `The ${what} is larger than ${limit} bytes` })
        const take = (chunk: Uint8Array): void => {
          if (isDone) return
          const rest = request.maxBytes - size
          parts.push(chunk.length > rest ? chunk.subarray(0, rest) : chunk)
          size += chunk.length
          if (chunk.length > rest) overflow("body", request.maxBytes)
        }
        incoming.on("error", onError)
        if (locationOf({ headers, status }) !== undefined) {
          respond(false)
          return
        }

        const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase()
        if (encoding === "gzip" || encoding === "x-gzip") decoder = zlib.createGunzip()
        else if (encoding === "br") decoder = zlib.createBrotliDecompress()
        else if (encoding !== "identity" && encoding !== "") {
          fail({ reason: "Decoding", message: "The body has a content encoding that was not asked for" })
          return
        }
        const limit = decoder === undefined ? request.maxBytes : request.maxCompressedBytes
        if (!request.truncate && Number(headers["content-length"] ?? 0) > limit) {
          overflow("body", limit)
          return
        }

        decoder?.on("data", take)
        decoder?.on("end", () => respond(false))
        decoder?.on("error", () => fail({ reason: "Decoding", message: "The body cannot be decompressed" }))
        incoming.on("data", (chunk: Uint8Array) => {
          if (isDone) return
          const rest = limit - arrived
          arrived += chunk.length
          if (decoder === undefined) take(chunk)
          else if (rest < 0) return
          else if (chunk.length > rest) {
            // What was let in is decompressed before the rest is refused.
            const over = (): void => overflow("compressed body", limit)
            if (request.truncate) decoder.write(chunk.subarray(0, rest), over)
            else over()
          } else if (!decoder.write(chunk)) {
            incoming.pause()
            decoder.once("drain", () => incoming.resume())
          }
        })
        // A body that has no byte is no broken archive.
        incoming.on("end", () => (decoder === undefined || arrived === 0 ? respond(false) : decoder.end()))
        // A body that ends before its length was told is an error of its own; this is for what is neither.
        incoming.on("close", () => {
          if (!incoming.complete) onError(undefined)
        })
      }

      try {
        outgoing = (url.protocol === "https:" ? https : http).request({
          protocol: url.protocol,
          hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
          port: url.port,
          path: `${url.pathname}${url.search}`,
          method: request.method,
          headers:
            request.body === undefined
              ? request.headers
              : { ...request.headers, "content-length": String(request.body.length) },
          lookup: pinned(request.addresses),
          agent: false,
          maxHeaderSize,
          insecureHTTPParser: false
        })
        const ready = url.protocol === "https:" ? "secureConnect" : "connect"
        outgoing.on("socket", (socket) =>
          socket.once(ready, () => {
            isConnected = true
          })
        )
        outgoing.on("error", onError)
        outgoing.on("response", onResponse)
        outgoing.end(request.body)
      } catch (error) {
        onError(error)
      }
      return Effect.sync(close)
    })
  )
