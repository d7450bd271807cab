/**
 * One connection to a server: the SDK's client over a transport, with progress, changes and the end of the connection
 * taken from the messages themselves.
 *
 * @internal
 * @since 0.1.0
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Version from "../domain/Version.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as SecretText from "../internal/text/SecretText.js"
import * as VisibleText from "../internal/text/VisibleText.js"
import * as OptionalPackage from "../provider/exchange/OptionalPackage.js"
import { type Change, McpError, type Progress, type ServerInfo } from "../skill/mcp/McpClient.js"
import * as McpOutput from "../skill/mcp/McpOutput.js"
import * as McpWire from "./McpWire.js"

const loadModules = async () => {
  const [client, http, types] = await Promise.all([
    import("@modelcontextprotocol/sdk/client/index.js"),
    import("@modelcontextprotocol/sdk/client/streamableHttp.js"),
    import("@modelcontextprotocol/sdk/types.js")
  ])
  return { ...client, ...http, ...types }
}

/** What is used of the SDK. */
export type Sdk = Awaited<ReturnType<typeof loadModules>>

export const load = (server: string): Effect.Effect<Sdk, McpError> =>
  Effect.mapError(
    OptionalPackage.load({ name: "@modelcontextprotocol/sdk", provider: "MCP", modules: loadModules }),
    (error) =>
      new McpError({
        server,
        reason: "Configuration",
        message: "MCP clients need the package @modelcontextprotocol/sdk, which could not be loaded",
        hint: "npm install @modelcontextprotocol/sdk",
        cause: error.cause
      })
  )

/** What a failure says, without the server's name. */
export type Failure = Pick<McpError, "reason" | "message"> &
  Partial<Pick<McpError, "rpcCode" | "status" | "exitCode" | "signal" | "stderr" | "hint">> & {
    /** Nothing came of the request: it may be made again over another connection. */
    readonly again?: boolean | undefined
    /** The connection is of no more use. */
    readonly final?: boolean | undefined
  }

/** Travels as the `data` of the error that stands for the server's answer. */
class Sent {
  constructor(readonly failure: Failure) {}
}

/** What a transport is given. */
export interface Events {
  /** The connection is of no more use. */
  readonly lost: (failure: Failure) => void
  /** There will be no answer to this request. */
  readonly unanswered: (id: unknown, failure: Failure) => void
  readonly isPending: (id: unknown) => boolean
}

/** A transport of the SDK, and how its failures are read. */
export interface Link {
  readonly transport: Transport
  readonly failureOf: (error: unknown) => Failure
}

export interface RequestOptions {
  readonly timeout: number
  readonly maxTotal: number | undefined
  readonly onProgress: ((progress: Progress) => void) | undefined
}

export interface Session {
  readonly info: ServerInfo
  /** Why it ended, once it did. */
  readonly lost: () => Failure | undefined
  readonly request: (
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: RequestOptions
  ) => Effect.Effect<unknown, Failure>
}

const EXCERPT = 300

/** The beginning of what another party says: one line, nothing hidden, no credentials. */
export const excerpt = (text: unknown, secrets: ReadonlyArray<Redacted.Redacted<string>>): string =>
  VisibleText.visible(
    SecretText.excerpt(typeof text === "string" ? text : String(text), { maxLength: EXCERPT, redact: secrets })
  )

const changes: Readonly<Record<string, Change["_tag"]>> = {
  "notifications/tools/list_changed": "ToolsChanged",
  "notifications/resources/list_changed": "ResourcesChanged",
  "notifications/prompts/list_changed": "PromptsChanged"
}

/** What a timer of the platform can wait at most: times are kept by `Deadline`, on Effect's clock. */
const NEVER = 2 ** 31 - 1

const CONNECTION_CLOSED = -32000
const METHOD_NOT_FOUND = -32601

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
}

/**
 * Connects and shakes hands. The scope is the connection's: when it closes, so does the transport.
 */
export const make = (options: {
  readonly server: string
  readonly sdk: Sdk
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
  readonly connectTimeout: number
  readonly roots: ReadonlyArray<{ readonly uri: string; readonly name?: string | undefined }> | undefined
  readonly link: (events: Events) => Effect.Effect<Link, McpError, Scope.Scope>
  readonly onChange: (change: Change["_tag"]) => void
  readonly onLost: () => void
}): Effect.Effect<Session, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const { sdk, secrets } = options
    const pending = new Set<unknown>()
    const progress = new Map<unknown, (progress: Progress) => void>()
    let ended: Failure | undefined
    let tokens = 0

    const lost = (failure: Failure): void => {
      if (ended !== undefined) return
      ended = failure
      front.onclose?.()
      pending.clear()
      progress.clear()
      options.onLost()
    }

    const unanswered = (id: unknown, failure: Failure): void => {
      if (!pending.delete(id)) return
      const error = { code: CONNECTION_CLOSED, message: failure.message, data: new Sent(failure) }
      front.onmessage?.({ jsonrpc: "2.0", id: id as number, error })
    }

    const { failureOf, transport } = yield* options.link({ lost, unanswered, isPending: (id) => pending.has(id) })

    const front: Transport = {
      start: () => transport.start(),
      close: async () => {},
      // An answer that stands for the failure: the SDK forgets a request that is answered, and keeps one that could not
      // be sent.
      send: async (message, sendOptions) => {
        const { id, method } = message as Message
        const isRequest = id !== undefined && method !== undefined
        if (isRequest) pending.add(id)
        try {
          await transport.send(message, sendOptions)
        } catch (error) {
          const failure = failureOf(error)
          if (!isRequest) throw new sdk.McpError(CONNECTION_CLOSED, failure.message, new Sent(failure))
          unanswered(id, failure)
          // The others know less: whether they took effect.
          if (failure.final === true) lost({ ...failure, reason: "Closed" })
        }
      },
      get sessionId() {
        return transport.sessionId as string
      },
      setProtocolVersion: (version) => transport.setProtocolVersion?.(version)
    }

    transport.onmessage = (message: JSONRPCMessage) => {
      const { id, method, params } = message as Message
      if (method === undefined) pending.delete(id)
      else if (method === "notifications/progress") {
        const fields = params as Readonly<Record<string, unknown>> | undefined
        const told = fields === undefined ? undefined : McpWire.progress(fields)
        if (told !== undefined) progress.get(fields?.["progressToken"])?.(told)
        return
      } else if (typeof method === "string" && Object.hasOwn(changes, method)) {
        options.onChange(changes[method] as Change["_tag"])
        return
      }
      front.onmessage?.(message)
    }

    const client = new sdk.Client(
      { name: "effect-lexigram", version: Version.version },
      { capabilities: options.roots === undefined ? {} : { roots: {} } }
    )
    if (options.roots !== undefined) {
      const roots = options.roots.map(({ name, uri }) => (name === undefined ? { uri } : { uri, name }))
      client.setRequestHandler(sdk.ListRootsRequestSchema, () => ({ roots }))
    }

    const readFailure = (error: unknown): Failure => {
      if (error instanceof sdk.McpError) {
        if (error.data instanceof Sent) return error.data.failure
        if (ended !== undefined) return ended
        // The SDK puts its code before the server's text.
        const said = error.message.replace(/^MCP error -?\d+: /, "")
        return error.code === METHOD_NOT_FOUND
          ? { reason: "Unsupported", rpcCode: error.code, message: excerpt(said, secrets) }
          : { reason: "Protocol", rpcCode: error.code, message: excerpt(said, secrets) }
      }
      return ended ?? { reason: "InvalidResponse", message: "its answer is not what the protocol wants" }
    }

    let protocolVersion: string | undefined
    const connect = Effect.tryPromise({
      try: (signal) => client.connect(front, { signal, timeout: NEVER }),
      catch: readFailure
    })
    const setVersion = front.setProtocolVersion
    front.setProtocolVersion = (version) => {
      protocolVersion = version
      setVersion?.(version)
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => lost({ reason: "Closed", message: "the client was closed" })))
    yield* Deadline.run(() => connect, {
      whole: options.connectTimeout,
      onTimeout: (): Failure => ({ reason: "Timeout", message: "it did not introduce itself in time" })
    }).pipe(
      Effect.mapError((failure) =>
        // Nothing was asked of it yet.
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
      lost: () => ended,
      request: (method, params, { maxTotal, onProgress, timeout }) =>
        Effect.suspend(() => {
          if (ended !== undefined) return Effect.fail({ ...ended, again: true })
          const token = onProgress === undefined ? undefined : `p${++tokens}`
          const given = token === undefined ? params : { ...params, _meta: { progressToken: token } }
          return Deadline.run(
            (beat) =>
              Effect.tryPromise({
                try: (signal) => {
                  if (token !== undefined) {
                    progress.set(token, (told) => {
                      beat()
                      onProgress?.(told)
                    })
                  }
                  return client.request({ method, params: given } as never, sdk.ResultSchema, {
                    signal,
                    timeout: NEVER
                  })
                },
                catch: readFailure
              }),
            {
              // Without progress no beat comes, and the first limit is the only one.
              first: timeout,
              gap: timeout,
              whole: maxTotal,
              onTimeout: (_, limit): Failure => ({ reason: "Timeout", message: `it did not answer within ${limit} ms` })
            }
          ).pipe(Effect.ensuring(Effect.sync(() => progress.delete(token))))
        })
    }
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
