/**
 * One connection to a server: the SDK's client over a transport, with progress, changes and the end of the connection
 * read from the messages themselves.
 *
 * @private
 * @since 0.1.0
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import { type Change, McpError, type Progress, type ServerInfo } from "../skill/mcp/McpClient.js"
import * as McpOutput from "../skill/mcp/McpOutput.js"
import * as McpFlights from "./McpFlights.js"
import * as McpHandlers from "./McpHandlers.js"
import type { Sdk } from "./McpSdk.js"
import * as McpWire from "./McpWire.js"

/** A failure without the server's name. */
export type Failure = Pick<McpError, "reason" | "message"> &
  Partial<Pick<McpError, "rpcCode" | "status" | "exitCode" | "signal" | "stderr" | "hint">> & {
    /** The request had no effect and may be repeated over another connection. */
    readonly again?: boolean | undefined
    /** The connection is unusable. */
    readonly final?: boolean | undefined
  }

/** Marks a failure in the `data` of the error that replaces the server's answer. */
class Sent {
  constructor(readonly failure: Failure) {}
}

/** Callbacks for a transport. */
export interface Events {
  /** The connection is unusable. */
  readonly lost: (failure: Failure) => void
  /** This request will not be answered. */
  readonly unanswered: (id: unknown, failure: Failure) => void
  readonly isPending: (id: unknown) => boolean
  /** Waits while no limit of a request counts. */
  readonly paused: <A>(wait: () => Promise<A>) => Promise<A>
}

/** A transport of the SDK, and a reader of its failures. */
export interface Link {
  readonly transport: Transport
  readonly failureOf: (error: unknown) => Failure
}

export interface RequestOptions {
  readonly timeout: number
  readonly maxTotal: number | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
  /** Absent: a request during which a server has nothing to ask. */
  readonly asking: McpFlights.Asking | undefined
}

export interface Session {
  readonly info: ServerInfo
  /** Why it ended, if it has. */
  readonly lost: () => Failure | undefined
  readonly request: (
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: RequestOptions
  ) => Effect.Effect<unknown, Failure>
}

const EXCERPT = 300

/** The beginning of a third party's text: one line, no hidden characters, no credentials. */
const excerpt = (text: unknown, secrets: ReadonlyArray<Redacted.Redacted<string>>): string =>
  VisibleText.visible(
    SecretText.excerpt(typeof text === "string" ? text : String(text), { maxLength: EXCERPT, redact: secrets })
  )

const changes: Readonly<Record<string, Change["_tag"]>> = {
  "notifications/tools/list_changed": "ToolsChanged",
  "notifications/resources/list_changed": "ResourcesChanged",
  "notifications/prompts/list_changed": "PromptsChanged"
}

/** The longest delay of a platform timer: `Deadline` keeps the time, on Effect's clock. */
const NEVER = 2 ** 31 - 1

const CONNECTION_CLOSED = -32000
const METHOD_NOT_FOUND = -32601

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

interface Options extends McpHandlers.Options {
  readonly server: string
  readonly sdk: Sdk
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  readonly connectTimeout: number
  readonly link: (events: Events) => Effect.Effect<Link, McpError, Scope.Scope>
  readonly onChange: (change: Change["_tag"]) => void
  readonly onLost: () => void
}

/** The requests of one connection that wait for an answer, and the end of the connection. */
class Exchange implements Events {
  ended: Failure | undefined
  readonly progress = new Map<unknown, (progress: Progress) => void>()
  readonly flights = new McpFlights.Flights()
  private readonly pending = new Set<unknown>()
  private tokens = 0
  /** The transport that the SDK's client is given. */
  private front: Transport | undefined

  constructor(private readonly options: Options) {}

  readonly isPending = (id: unknown): boolean => this.pending.has(id)

  readonly paused = <A>(wait: () => Promise<A>): Promise<A> => this.flights.paused(wait)

  readonly lost = (failure: Failure): void => {
    if (this.ended !== undefined) return
    this.ended = failure
    this.front?.onclose?.()
    this.pending.clear()
    this.progress.clear()
    this.options.onLost()
  }

  readonly unanswered = (id: unknown, failure: Failure): void => {
    if (!this.pending.delete(id)) return
    const error = { code: CONNECTION_CLOSED, message: failure.message, data: new Sent(failure) }
    this.front?.onmessage?.({ jsonrpc: "2.0", id: id as number, error })
  }

  nextToken(): string {
    return `p${++this.tokens}`
  }

  /** The transport for the SDK's client: the link's, with progress, changes and failed requests taken out. */
  wrap({ failureOf, transport }: Link, onVersion: (version: string) => void): Transport {
    const front: Transport = {
      start: () => transport.start(),
      close: async () => {},
      // A request that cannot be sent is answered with its failure: the SDK forgets an answered request and would keep
      // the other.
      send: async (message, sendOptions) => {
        const { id, method } = message as Message
        const isRequest = id !== undefined && method !== undefined
        if (isRequest) this.pending.add(id)
        try {
          await transport.send(message, sendOptions)
        } catch (error) {
          const failure = failureOf(error)
          if (!isRequest) {
            throw new this.options.sdk.McpError(CONNECTION_CLOSED, failure.message, new Sent(failure))
          }
          this.unanswered(id, failure)
          // Whether the other pending requests took effect is unknown.
          if (failure.final === true) this.lost({ ...failure, reason: "Closed" })
        }
      },
      get sessionId() {
        return transport.sessionId as string
      },
      setProtocolVersion: (version) => {
        onVersion(version)
        transport.setProtocolVersion?.(version)
      }
    }
    transport.onmessage = (message: JSONRPCMessage) => {
      if (!this.intercept(message as Message)) front.onmessage?.(message)
    }
    this.front = front
    return front
  }

  /** True for a notification that is handled here. */
  private intercept({ id, method, params }: Message): boolean {
    if (method === undefined) this.pending.delete(id)
    else if (method === "notifications/progress") {
      const fields = params as Readonly<Record<string, unknown>> | undefined
      const progress = fields === undefined ? undefined : McpWire.progress(fields)
      if (progress !== undefined) this.progress.get(fields?.["progressToken"])?.(progress)
      return true
    } else if (typeof method === "string" && Object.hasOwn(changes, method)) {
      this.options.onChange(changes[method] as Change["_tag"])
      return true
    }
    return false
  }

  readonly readFailure = (error: unknown): Failure => {
    const { sdk, secrets } = this.options
    if (!(error instanceof sdk.McpError)) {
      return this.ended ?? { reason: "InvalidResponse", message: "its answer does not follow the protocol" }
    }
    if (error.data instanceof Sent) return error.data.failure
    if (this.ended !== undefined) return this.ended
    // The SDK puts its code before the server's text.
    const message = excerpt(error.message.replace(/^MCP error -?\d+: /, ""), secrets)
    return { reason: error.code === METHOD_NOT_FOUND ? "Unsupported" : "Protocol", rpcCode: error.code, message }
  }
}

/** Connects and initializes. The connection lives in the scope: closing the scope closes the transport. */
export const make = (options: Options): Effect.Effect<Session, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const exchange = new Exchange(options)
    const link = yield* options.link(exchange)
    const client = McpHandlers.makeClient(options, exchange.flights)
    let protocolVersion: string | undefined
    const front = exchange.wrap(link, (version) => {
      protocolVersion = version
    })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => exchange.lost({ reason: "Closed", message: "the client was closed" }))
    )
    const connect = (pulse: Deadline.Pulse) =>
      Effect.tryPromise({
        try: (signal) => {
          exchange.flights.add(pulse, undefined)
          return client.connect(front, { signal, timeout: NEVER })
        },
        catch: exchange.readFailure
      }).pipe(Effect.ensuring(Effect.sync(() => exchange.flights.delete(pulse))))
    yield* Deadline.run(connect, {
      whole: options.connectTimeout,
      onTimeout: (): Failure => ({ reason: "Timeout", message: "it did not initialize in time" })
    }).pipe(
      Effect.mapError((failure) =>
        // No request was made yet.
        toError(options.server, failure.reason === "Closed" ? { ...failure, reason: "Connection" } : failure)
      )
    )
    return {
      info: McpWire.serverInfo({
        version: client.getServerVersion(),
        capabilities: client.getServerCapabilities(),
        instructions: client.getInstructions(),
        protocolVersion
      }),
      lost: () => exchange.ended,
      request: (method, params, requestOptions) =>
        request(options.sdk, client, exchange, method, params, requestOptions)
    }
  })

const request = (
  sdk: Sdk,
  client: InstanceType<Sdk["Client"]>,
  exchange: Exchange,
  method: string,
  params: Readonly<Record<string, unknown>>,
  { asking, maxTotal, onProgress, timeout }: RequestOptions
): Effect.Effect<unknown, Failure> =>
  Effect.suspend(() => {
    if (exchange.ended !== undefined) return Effect.fail({ ...exchange.ended, again: true })
    const token = onProgress === undefined ? undefined : exchange.nextToken()
    const given = token === undefined ? params : { ...params, _meta: { progressToken: token } }
    const answer = (pulse: Deadline.Pulse) =>
      Effect.tryPromise({
        try: (signal) => {
          exchange.flights.add(pulse, asking)
          if (token !== undefined) {
            exchange.progress.set(token, (progress) => {
              pulse.beat()
              onProgress?.(progress)
            })
          }
          return client.request({ method, params: given } as never, sdk.ResultSchema, { signal, timeout: NEVER })
        },
        catch: exchange.readFailure
      }).pipe(Effect.ensuring(Effect.sync(() => exchange.flights.delete(pulse))))
    return Deadline.run(answer, {
      // Without progress there is no beat, and the first limit is the only one.
      first: timeout,
      gap: timeout,
      whole: maxTotal,
      onTimeout: (_, limit): Failure => ({ reason: "Timeout", message: `it did not answer within ${limit} ms` })
    }).pipe(Effect.ensuring(Effect.sync(() => exchange.progress.delete(token))))
  })

const MAX_TOOL_NAME = 128

/** The failure as callers see it. */
export const toError = (server: string, failure: Failure, toolName?: string): McpError => {
  const { again: _, final: _final, message, ...fields } = failure
  return new McpError({
    ...fields,
    server,
    message: `The MCP server "${server}": ${message}`,
    ...(toolName === undefined ? {} : { toolName: McpOutput.excerpt(toolName, MAX_TOOL_NAME) })
  })
}
