/**
 * Transport over streamable HTTP: the SDK's transport with a `fetch` that adds headers, bounds what is read, and
 * detects answers that will not come.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Deadline from "../internal/fiber/Deadline.js"
import type { McpError } from "../skill/mcp/McpClient.js"
import type { AuthFailure, Authorization, Challenge } from "./auth/McpAuthorization.js"
import type { Sdk } from "./McpSdk.js"
import type { Events, Failure, Link } from "./McpSession.js"

export type Headers = Readonly<Record<string, string | Redacted.Redacted<string>>>

export interface Options {
  readonly server: string
  readonly url: URL
  readonly headers: Effect.Effect<Headers, unknown>
  /** Kept at the last values sent: text from the server must not reveal them. */
  readonly secrets: Array<Redacted.Redacted<string>>
  readonly authorization: Authorization | undefined
  readonly fetch: typeof globalThis.fetch
  readonly maxMessageBytes: number
  /** Resuming an interrupted answer: attempts, and milliseconds before the first. */
  readonly resume: { readonly attempts: number; readonly delay: number }
  /** Milliseconds for the server to end the session. */
  readonly grace: number
}

const textOf = (value: string | Redacted.Redacted<string>): string =>
  Redacted.isRedacted(value) ? Redacted.value(value) : value

/** A credential is also secret without its scheme. */
const secretsOf = (value: string): ReadonlyArray<Redacted.Redacted<string>> => {
  const space = value.indexOf(" ")
  return (space === -1 ? [value] : [value, value.slice(space + 1)]).map((text) => Redacted.make(text))
}

class TooLarge extends Error {}
class NoHeaders extends Error {}
class Unauthorized extends Error {
  constructor(readonly failure: AuthFailure) {
    super()
  }
}

/** Error codes that mean nothing reached the server. */
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
 * Watches the lines of an event stream: the length of events, and whether they have ids, so that the stream can be
 * resumed.
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

/** The id of the request that an HTTP request carries; `undefined` for other messages. */
const idOf = (init: RequestInit | undefined): unknown => {
  if (init?.method !== "POST" || typeof init.body !== "string") return undefined
  const message = JSON.parse(init.body) as { readonly id?: unknown; readonly method?: unknown }
  return message.method === undefined ? undefined : message.id
}

const isEventStream = (response: Response): boolean =>
  /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")

type RunPromise = <A>(effect: Effect.Effect<A>) => Promise<A>

/** Refusals of one request that are answered with a new token. */
const MAX_RENEWALS = 3

/** The `fetch` of the SDK's transport: adds headers, bounds what is read, and reports streams that end early. */
class HttpLink {
  private isClosed = false
  private wasCut = false
  private failedResumes = 0

  constructor(
    private readonly sdk: Sdk,
    private readonly options: Options,
    private readonly events: Events,
    private readonly runPromise: RunPromise
  ) {}

  readonly fetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    if (this.isClosed && init?.method !== "DELETE") throw new Error("closed")
    const id = idOf(init)
    const isGet = init?.method === "GET"
    let isOpened = false
    try {
      const response = await this.authorized(url, init)
      isOpened = response.ok
      return this.bound(response, id, isGet)
    } finally {
      if (isGet && this.wasCut && !this.isClosed) this.countResume(isOpened)
    }
  }

  close(): void {
    this.isClosed = true
  }

  tooLarge(): Failure {
    return { reason: "TooLarge", message: `it sent a message of more than ${this.options.maxMessageBytes} bytes` }
  }

  /** Sends the request, and again where the server refuses its token and another one can be had. */
  private async authorized(url: string | URL, init: RequestInit | undefined): Promise<Response> {
    const { authorization } = this.options
    for (let renewals = 0; ; renewals++) {
      const token = authorization === undefined ? undefined : await this.run(authorization.token)
      const response = await this.options.fetch(url, {
        ...init,
        headers: await this.addHeaders(init?.headers, token),
        // The SDK follows redirects within the origin itself.
        redirect: "manual"
      })
      if (authorization === undefined) return response
      const sent = token === undefined ? undefined : Redacted.value(token)
      const challenge = this.challengeOf(response, sent)
      if (challenge === undefined && sent !== undefined && response.status !== 403) authorization.accepted(sent)
      // A client that leaves asks nobody.
      if (challenge === undefined || renewals === MAX_RENEWALS || init?.method === "DELETE") return response
      await response.body?.cancel()
      await this.events.paused(() => this.run(authorization.renew(challenge)))
    }
  }

  private async run<A>(effect: Effect.Effect<A, AuthFailure>): Promise<A> {
    const exit = await this.runPromise(Effect.exit(effect))
    if (Exit.isSuccess(exit)) return exit.value
    // A defect may quote a secret, so it is dropped.
    const broken: AuthFailure = { reason: "AuthorizationFailed", message: "its authorization broke off" }
    throw new Unauthorized(Option.getOrElse(Cause.failureOption(exit.cause), () => broken))
  }

  private challengeOf(response: Response, token: string | undefined): Challenge | undefined {
    if (response.status !== 401 && response.status !== 403) return undefined
    const { error, resourceMetadataUrl, scope } = this.sdk.extractWWWAuthenticateParams(response)
    const isInsufficient = response.status === 403
    return isInsufficient && error !== "insufficient_scope"
      ? undefined
      : { token, isInsufficient, scope, resourceMetadataUrl }
  }

  private async addHeaders(
    given: HeadersInit | undefined,
    token: Redacted.Redacted<string> | undefined
  ): Promise<globalThis.Headers> {
    const { headers, secrets } = this.options
    const all = new globalThis.Headers(given)
    const own = await this.runPromise(Effect.exit(headers))
    // The cause may quote the header, so it is dropped.
    if (Exit.isFailure(own)) throw new NoHeaders()
    const values = Object.entries(own.value).map(([name, value]) => [name, textOf(value)] as const)
    if (token !== undefined) values.push(["authorization", `Bearer ${Redacted.value(token)}`])
    secrets.splice(0, Number.POSITIVE_INFINITY, ...values.flatMap(([, value]) => secretsOf(value)))
    try {
      for (const [name, value] of values) all.set(name, value)
    } catch {
      throw new NoHeaders()
    }
    return all
  }

  private countResume(isOpened: boolean): void {
    this.failedResumes = isOpened ? 0 : this.failedResumes + 1
    if (this.failedResumes >= this.options.resume.attempts) {
      this.events.lost({ reason: "Closed", message: "the connection was cut and could not be resumed" })
    }
  }

  /** Called when a stream has ended. Waits a tick, so that the readers see everything in it first. */
  private afterEnd(id: unknown, isResumable: boolean): void {
    if (this.isClosed) return
    if (isResumable) {
      this.wasCut = true
      return
    }
    if (id === undefined) return
    const missing = Effect.sync(() =>
      this.events.unanswered(id, { reason: "Closed", message: "the connection ended before the answer came" })
    )
    void this.runPromise(Effect.zipRight(Effect.sleep(0), missing))
  }

  private bound(response: Response, id: unknown, isGet: boolean): Response {
    const { body, headers, ok, status, statusText } = response
    if (body === null) return response
    const { maxMessageBytes } = this.options
    const isStream = ok && isEventStream(response)
    const seen = new EventWatch()
    let bytes = 0
    const reader = body.getReader()
    const finish = (): void => {
      if (isStream) this.afterEnd(id, isGet || (seen.hasIds && id !== undefined && this.events.isPending(id)))
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
          if (isStream ? !seen.push(value, maxMessageBytes) : bytes > maxMessageBytes) throw new TooLarge()
          controller.enqueue(value)
        } catch (error) {
          controller.error(error)
          if (error instanceof TooLarge) {
            reader.cancel().catch(() => {})
            this.events.lost(this.tooLarge())
          } else finish()
        }
      },
      cancel: (reason) => reader.cancel(reason)
    })
    return new Response(source, { headers, status, statusText })
  }
}

const failureOfStatus = (status: number, hasSession: boolean): Failure => {
  if (status === 401 || status === 403) {
    return { reason: "Refused", status, message: `it rejects this client (${status})`, hint: "Check the credentials" }
  }
  if (hasSession && (status === 404 || status === 400 || status === 410)) {
    const message = `it no longer accepts this session (${status})`
    // Only 404 means, by the protocol, that the request was not processed.
    return { reason: "Closed", status, message, again: status === 404, final: true }
  }
  return { reason: "InvalidResponse", status, message: `it answered with the status ${status}` }
}

const failureOfConnection = (error: unknown, { host }: URL): Failure => {
  const code = codeOf(error)
  const named = typeof code === "string" ? ` (${code})` : ""
  return unreached.has(code as string)
    ? { reason: "Connection", message: `it cannot be reached at ${host}${named}`, again: true, final: true }
    : { reason: "Closed", message: `the connection to ${host} broke${named}` }
}

export const make = (sdk: Sdk, options: Options, events: Events): Effect.Effect<Link, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const link = new HttpLink(sdk, options, events, Runtime.runPromise(yield* Effect.runtime<never>()))
    const transport = new sdk.StreamableHTTPClientTransport(options.url, {
      fetch: link.fetch,
      reconnectionOptions: {
        initialReconnectionDelay: options.resume.delay,
        maxReconnectionDelay: 30_000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: options.resume.attempts
      }
    })
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        link.close()
        const leave = Effect.ignore(Effect.tryPromise(() => transport.terminateSession()))
        yield* Deadline.run(() => leave, { whole: options.grace, onTimeout: () => "late" }).pipe(Effect.ignore)
        yield* Effect.ignore(Effect.tryPromise(() => transport.close()))
      })
    )
    const failureOf = (error: unknown): Failure => {
      if (error instanceof NoHeaders) {
        return { reason: "Configuration", message: "its headers could not be built" }
      }
      if (error instanceof Unauthorized) return error.failure
      if (error instanceof TooLarge) return link.tooLarge()
      if (error instanceof sdk.StreamableHTTPError) {
        return error.code === undefined || error.code < 100
          ? { reason: "InvalidResponse", message: "it answered with another content type" }
          : failureOfStatus(error.code, transport.sessionId !== undefined)
      }
      if (error instanceof SyntaxError || (error as { name?: unknown } | null)?.name === "ZodError") {
        return { reason: "InvalidResponse", message: "its answer does not follow the protocol" }
      }
      return failureOfConnection(error, options.url)
    }
    return { transport: transport as Link["transport"], failureOf }
  })
