/**
 * Sends one request over its own connection to prechecked addresses, and bounds the answer while reading it.
 *
 * @private
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
  /** The connection uses one of these; no name is resolved. */
  readonly addresses: ReadonlyArray<string>
  /** Maximum bytes of the decompressed body. */
  readonly maxBytes: number
  /** Maximum bytes of the body as it arrives. */
  readonly maxCompressedBytes: number
  /** Cuts the body at the limits instead of failing. */
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
 * `Unreachable`: nothing was sent; `Connection`: the connection broke later.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason: "Unreachable" | "Connection" | "Tls" | "TooLarge" | "Decoding"
  readonly message: string
}

/** Maximum size of a server's headers. */
const maxHeaderSize = 16 * 1024

const loadModules = () => Promise.all([import("node:http"), import("node:https"), import("node:zlib")] as const)

type Modules = Awaited<ReturnType<typeof loadModules>>

const modules = Effect.promise(loadModules)

/**
 * The target of a redirect.
 *
 * @since 0.1.0
 * @category conversions
 */
export const locationOf = ({ headers, status }: Pick<Response, "headers" | "status">): string | undefined =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308 ? headers.location : undefined

const isTls = (code: string): boolean => /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|UNABLE_TO|SELF_SIGNED|EPROTO)/.test(code)

const failureOf = (error: unknown, host: string, isConnected: boolean): Failure => {
  const code = (error as { readonly code?: unknown } | null)?.code
  // The error's message may quote data from the wire; its code does not.
  const text = typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? code : "closed early"
  if (isTls(text)) return { reason: "Tls", message: `No secure connection to ${host}: ${text}` }
  if (text === "HPE_HEADER_OVERFLOW") return { reason: "TooLarge", message: "The headers of the answer are too large" }
  return isConnected
    ? { reason: "Connection", message: `The connection to ${host} broke: ${text}` }
    : { reason: "Unreachable", message: `No connection to ${host}: ${text}` }
}

/** `net.connect` asks in different forms, depending on whether it tries several addresses. */
const pinned = (addresses: ReadonlyArray<string>): NonNullable<RequestOptions["lookup"]> => {
  const all = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }))
  return (_host, options, callback) => {
    const [first] = all
    if (options.all === true || first === undefined) callback(null, all)
    else callback(null, first.address, first.family)
  }
}

/** One request in progress, and the part of its answer read so far. */
class Exchange {
  private isConnected = false
  private isDone = false
  private outgoing: ClientRequest | undefined
  private decoder: Transform | undefined
  status = 0
  headers: IncomingHttpHeaders = {}
  private readonly parts: Array<Uint8Array> = []
  /** Bytes of the decompressed body, and of the body as it arrives. */
  private size = 0
  private arrived = 0

  constructor(
    private readonly request: Request,
    private readonly modules: Modules,
    private readonly resume: (result: Effect.Effect<Response, Failure>) => void
  ) {}

  send(): void {
    const { addresses, body, headers, method, url } = this.request
    const [http, https] = this.modules
    const isSecure = url.protocol === "https:"
    try {
      const outgoing = (isSecure ? https : http).request({
        protocol: url.protocol,
        hostname: url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname,
        port: url.port,
        path: `${url.pathname}${url.search}`,
        method,
        headers: body === undefined ? headers : { ...headers, "content-length": String(body.length) },
        lookup: pinned(addresses),
        agent: false,
        maxHeaderSize,
        insecureHTTPParser: false
      })
      this.outgoing = outgoing
      outgoing.on("socket", (socket) =>
        socket.once(isSecure ? "secureConnect" : "connect", () => {
          this.isConnected = true
        })
      )
      outgoing.on("error", this.onError)
      outgoing.on("response", (incoming) => this.receive(incoming))
      outgoing.end(body)
    } catch (error) {
      this.onError(error)
    }
  }

  close(): void {
    this.isDone = true
    this.outgoing?.destroy()
    this.decoder?.destroy()
  }

  private end(result: Effect.Effect<Response, Failure>): void {
    if (this.isDone) return
    this.close()
    this.resume(result)
  }

  private fail(failure: Failure): void {
    this.end(Effect.fail(failure))
  }

  private readonly onError = (error: unknown): void =>
    this.fail(failureOf(error, this.request.url.host, this.isConnected))

  private respond(truncated: boolean): void {
    const { headers, parts, status } = this
    this.end(Effect.sync(() => ({ status, headers, body: Buffer.concat(parts), truncated })))
  }

  private overflow(what: string, limit: number): void {
    if (this.request.truncate) this.respond(true)
    else this.fail({ reason: "TooLarge", message: `The ${what} is larger than ${limit} bytes` })
  }

  private take(chunk: Uint8Array): void {
    if (this.isDone) return
    const rest = this.request.maxBytes - this.size
    this.parts.push(chunk.length > rest ? chunk.subarray(0, rest) : chunk)
    this.size += chunk.length
    if (chunk.length > rest) this.overflow("body", this.request.maxBytes)
  }

  private receive(incoming: IncomingMessage): void {
    const { request } = this
    this.status = incoming.statusCode ?? 0
    this.headers = incoming.headers
    incoming.on("error", this.onError)
    const encoding = (incoming.headers["content-encoding"] ?? "identity").trim().toLowerCase()
    if (locationOf(this) !== undefined) this.respond(false)
    else if (encoding !== "identity" && encoding !== "" && !this.decode(encoding)) {
      this.fail({ reason: "Decoding", message: "The body has a content encoding that was not requested" })
    } else {
      const limit = this.decoder === undefined ? request.maxBytes : request.maxCompressedBytes
      const isTooLong = !request.truncate && Number(incoming.headers["content-length"] ?? 0) > limit
      if (isTooLong) this.overflow("body", limit)
      else this.read(incoming, limit)
    }
  }

  /** False for an encoding that was not requested. */
  private decode(encoding: string): boolean {
    const [, , zlib] = this.modules
    if (encoding !== "gzip" && encoding !== "x-gzip" && encoding !== "br") return false
    const decoder = encoding === "br" ? zlib.createBrotliDecompress() : zlib.createGunzip()
    decoder.on("data", (chunk: Uint8Array) => this.take(chunk))
    decoder.on("end", () => this.respond(false))
    decoder.on("error", () => this.fail({ reason: "Decoding", message: "The body cannot be decompressed" }))
    this.decoder = decoder
    return true
  }

  private read(incoming: IncomingMessage, limit: number): void {
    const { decoder, request } = this
    incoming.on("data", (chunk: Uint8Array) => {
      if (this.isDone) return
      const rest = limit - this.arrived
      this.arrived += chunk.length
      if (decoder === undefined) this.take(chunk)
      else if (rest < 0) return
      else if (chunk.length > rest) {
        // The bytes within the limit are decompressed before the rest is rejected.
        const over = (): void => this.overflow("compressed body", limit)
        if (request.truncate) decoder.write(chunk.subarray(0, rest), over)
        else over()
      } else if (!decoder.write(chunk)) {
        incoming.pause()
        decoder.once("drain", () => incoming.resume())
      }
    })
    // An empty body is not a broken archive.
    incoming.on("end", () => (decoder === undefined || this.arrived === 0 ? this.respond(false) : decoder.end()))
    // Node reports a body shorter than its announced length as an error; this covers a connection that just closes.
    incoming.on("close", () => {
      if (!incoming.complete) this.onError(undefined)
    })
  }
}

/**
 * Sends a request and reads the answer to its end or its limit. No connection outlives it, interrupted or not.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (request: Request): Effect.Effect<Response, Failure> =>
  Effect.flatMap(modules, (modules) =>
    Effect.async<Response, Failure>((resume) => {
      const exchange = new Exchange(request, modules, resume)
      exchange.send()
      return Effect.sync(() => exchange.close())
    })
  )
