/**
 * Messages with a server over streamable HTTP: the SDK's transport over a `fetch` that adds the headers, bounds what is
 * read, and notices when an answer will not come any more.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Deadline from "../internal/fiber/Deadline.js"
import type { McpError } from "../skill/mcp/McpClient.js"
import type { Events, Failure, Link, Sdk } from "./McpSession.js"

export type Headers = Readonly<Record<string, string | Redacted.Redacted<string>>>

export interface Options {
  readonly server: string
  readonly url: URL
  readonly headers: Effect.Effect<Headers, unknown>
  /** Kept at what was sent last: what a server says must not give it away. */
  readonly secrets: Array<Redacted.Redacted<string>>
  readonly fetch: typeof globalThis.fetch
  readonly maxMessageBytes: number
  /** What goes on after an interrupted answer: attempts, and milliseconds before the first. */
  readonly resume: { readonly attempts: number; readonly delay: number }
  /** Milliseconds for the server to end the session. */
  readonly grace: number
}

const textOf = (value: string | Redacted.Redacted<string>): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

/** A credential is a secret without its scheme too. */
const secretsOf = (value: string): ReadonlyArray<Redacted.Redacted<string>> => {
  const space = value.indexOf(" ")
  return (space === -1 ? [value] : [value, value.slice(space + 1)]).map((text) => Redacted.make(text))
}

class TooLarge extends Error {}
class NoHeaders extends Error {}

/** Nothing reached the server. */
const unreached = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

const codeOf = (error: unknown): unknown => {
  let current: unknown = error
  for (let depth = 0; depth < 5 && typeof current === "object" && current !== null; depth++) {
    const { cause, code, errors } = current as { readonly [key: string]: unknown }
    if (typeof code === "string") return code
    current = Array.isArray(errors) ? errors[0] : cause
  }
  return undefined
}

const LF = 10

/**
 * Watches the lines of an event stream: how long an event is, and whether events have ids (then the stream can be
 * resumed).
 */
class EventWatch {
  size = 0
  hasIds = false
  private line = 0
  private head = ""

  /** False when an event is longer than allowed. */
  push(chunk: Uint8Array, maxBytes: number): boolean {
    let from = 0
    while (from < chunk.length) {
      const end = chunk.indexOf(LF, from)
      const to = end === -1 ? chunk.length : end
      for (let i = from; i < to && this.head.length < 3; i++) this.head += String.fromCharCode(chunk[i] as number)
      this.line += to - from
      this.size += to - from
      if (this.size > maxBytes) return false
      from = to + 1
      if (end === -1) break
      if (this.head === "id:" && this.line > 3) this.hasIds = true
      if (this.line === 0 || (this.line === 1 && this.head === "\r")) this.size = 0
      this.line = 0
      this.head = ""
    }
    return true
  }
}

/** The request whose answer an HTTP request waits for; `undefined` for other messages. */
const idOf = (init: RequestInit | undefined): unknown => {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined
  const message = JSON.parse(init.body) as { readonly id?: unknown; readonly method?: unknown }
  return message.method === undefined ? undefined : message.id
}

const isEventStream = (response: Response): boolean =>
  /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")

export const make = (sdk: Sdk, options: Options, events: Events): Effect.Effect<Link, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const runPromise = Runtime.runPromise(runtime)
    let isClosed = false
    let wasCut = false
    let failedResumes = 0

    const tooLarge = (): Failure => ({
      reason: "TooLarge",
      message: `it sent a message of more than ${options.maxMessageBytes} bytes`
    })

    const headersOf = async (given: HeadersInit | undefined): Promise<globalThis.Headers> => {
      const headers = new globalThis.Headers(given)
      const own = await runPromise(Effect.exit(options.headers))
      // Whatever says why may say the header too.
      if (Exit.isFailure(own)) throw new NoHeaders()
      const values = Object.entries(own.value).map(([name, value]) => [name, textOf(value)] as const)
      options.secrets.splice(0, Number.POSITIVE_INFINITY, ...values.flatMap(([, value]) => secretsOf(value)))
      try {
        for (const [name, value] of values) headers.set(name, value)
      } catch {
        throw new NoHeaders()
      }
      return headers
    }

    /** Called when a stream has ended, after everything that was in it was read: this waits for its readers. */
    const afterEnd = (id: unknown, isResumable: boolean): void => {
      if (isClosed) return
      if (isResumable) wasCut = true
      else if (id !== undefined) {
        const missing = Effect.sync(() =>
          events.unanswered(id, { reason: "Closed", message: "the connection ended before the answer came" })
        )
        Runtime.runFork(runtime)(Effect.zipRight(Effect.sleep(0), missing))
      }
    }

    const bounded = (response: Response, id: unknown, isGet: boolean): Response => {
      const { body } = response
      if (body === null) return response
      const isStream = response.ok && isEventStream(response)
      const seen = new EventWatch()
      let bytes = 0
      const reader = body.getReader()
      const finish = () => {
        if (isStream) afterEnd(id, isGet || (seen.hasIds && id !== undefined && events.isPending(id)))
      }
      const source = new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          try {
            const { done, value } = await reader.read()
            if (done) {
              controller.close()
              return finish()
            }
            bytes += value.length
            if (isStream ? !seen.push(value, options.maxMessageBytes) : bytes > options.maxMessageBytes) {
              throw new TooLarge()
            }
            controller.enqueue(value)
          } catch (error) {
            controller.error(error)
            if (error instanceof TooLarge) {
              reader.cancel().catch(() => {})
              events.lost(tooLarge())
            } else finish()
          }
        },
        cancel: (reason) => reader.cancel(reason)
      })
      const { headers, status, statusText } = response
      return new Response(source, { headers, status, statusText })
    }

    const fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      if (isClosed && init?.method !== "DELETE") throw new Error("closed")
      const id = idOf(init)
      const isGet = init?.method === "GET"
      let isOpened = false
      try {
        const response = await options.fetch(url, {
          ...init,
          headers: await headersOf(init?.headers),
          // The SDK follows redirects within the origin itself.
          redirect: "manual"
        })
        isOpened = response.ok
        return bounded(response, id, isGet)
      } finally {
        if (isGet && wasCut && !isClosed) {
          failedResumes = isOpened ? 0 : failedResumes + 1
          if (failedResumes >= options.resume.attempts) {
            events.lost({ reason: "Closed", message: "the connection was cut and could not be resumed" })
          }
        }
      }
    }

    const transport = new sdk.StreamableHTTPClientTransport(options.url, {
      fetch,
      reconnectionOptions: {
        initialReconnectionDelay: options.resume.delay,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: options.resume.attempts
      }
    })

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        isClosed = true
        const leave = Effect.ignore(Effect.tryPromise(() => transport.terminateSession()))
        yield* Deadline.run(() => leave, { whole: options.grace, onTimeout: () => "late" }).pipe(Effect.ignore)
        yield* Effect.ignore(Effect.tryPromise(() => transport.close()))
      })
    )

    const failureOfStatus = (status: number): Failure => {
      if (status === 401 || status === 403) {
        return {
          reason: "Refused",
          status,
          message: `it refuses this client (${status})`,
          hint: "Check the credentials"
        }
      }
      const hasSession = transport.sessionId !== undefined
      if (hasSession && (status === 404 || status === 400 || status === 410)) {
        const message = `it does not go on with this session (${status})`
        // By the protocol only 404 says that the request was not looked at.
        return { reason: "Closed", status, message, again: status === 404, final: true }
      }
      return { reason: "InvalidResponse", status, message: `it answered with the status ${status}` }
    }

    const failureOf = (error: unknown): Failure => {
      if (error instanceof NoHeaders) {
        return { reason: "Configuration", message: "the headers for it could not be made" }
      }
      if (error instanceof TooLarge) return tooLarge()
      if (error instanceof sdk.StreamableHTTPError) {
        return error.code === undefined || error.code < 100
          ? { reason: "InvalidResponse", message: "it answered with another type of content" }
          : failureOfStatus(error.code)
      }
      if (error instanceof SyntaxError || (error as { name?: unknown } | null)?.name === "ZodError") {
        return { reason: "InvalidResponse", message: "its answer is not what the protocol wants" }
      }
      const code = codeOf(error)
      const named = typeof code === "string" ? ` (${code})` : ""
      if (unreached.has(code as string)) {
        return {
          reason: "Connection",
          message: `it cannot be reached at ${options.url.host}${named}`,
          again: true,
          final: true
        }
      }
      return { reason: "Closed", message: `the connection to ${options.url.host} broke${named}` }
    }

    return { transport: transport as Link["transport"], failureOf }
  })
