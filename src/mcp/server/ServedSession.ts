/**
 * The session of one client: a server of the SDK whose handlers are effects.
 *
 * @private
 * @since 0.1.0
 */
import type { Server } from "@modelcontextprotocol/sdk/server/index.js"
import type { CallToolResult, ServerResult } from "@modelcontextprotocol/sdk/types.js"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as FiberMap from "effect/FiberMap"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type { Identity } from "../../http/api/Authentication.js"
import * as JsonDepth from "../../internal/JsonDepth.js"
import * as McpPeer from "../offer/McpPeer.js"
import { McpServerError, toRpcCode } from "../offer/McpServerError.js"
import type { Served } from "./Served.js"
import type { ServedCall, ServedTool } from "./ServedCall.js"
import * as ServedPeer from "./ServedPeer.js"

type Run = <A>(effect: Effect.Effect<A, never, any>, signal: AbortSignal) => Promise<A>

type Fork = <A>(effect: Effect.Effect<A, never, any>) => Fiber.RuntimeFiber<A>

/** The end of an effect as a promise. The signal interrupts the effect. */
const running =
  (fork: Fork): Run =>
  (effect, signal) =>
    new Promise((resolve, reject) => {
      // A session is made where nothing is interrupted, and its fibers would inherit that.
      const fiber = fork(Effect.interruptible(effect))
      const stop = () => fiber.unsafeInterruptAsFork(FiberId.none)
      fiber.addObserver((exit) => {
        signal.removeEventListener("abort", stop)
        if (Exit.isSuccess(exit)) resolve(exit.value)
        else reject(Cause.squash(exit.cause))
      })
      if (signal.aborted) stop()
      else signal.addEventListener("abort", stop)
    })

/** The schemas of requests, by which the SDK finds handlers. */
type RequestSchema = Parameters<Server["setRequestHandler"]>[0]

/** Parameters of requests are no deeper. */
const DEEPEST = 64

const tooDeep = new McpServerError({ reason: "invalid", message: `The parameters are nested deeper than ${DEEPEST}` })

const failed = new McpServerError({ reason: "failed", message: "The server failed; its log has more" })

/** Bugs are logged, and the client learns nothing of them. */
const exposed = <A>(
  effect: Effect.Effect<A, McpServerError, any>
): Effect.Effect<Either.Either<A, McpServerError>, never, any> =>
  SystemAccess.drop(effect).pipe(
    Effect.either,
    Effect.catchAllDefect((defect) =>
      Effect.as(
        Effect.annotateLogs(Effect.logError("A request of an MCP client failed by a bug", Cause.die(defect)), {
          module: "McpServer"
        }),
        Either.left(failed)
      )
    )
  )

/** A page of a list. The cursor is the place in it. */
const page = <A>(
  all: ReadonlyArray<A>,
  cursor: string | undefined,
  size: number
): Effect.Effect<{ readonly items: ReadonlyArray<A>; readonly nextCursor?: string }, McpServerError> => {
  const from = cursor === undefined ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : Number.NaN
  if (Number.isNaN(from) || (from > 0 && from >= all.length)) {
    return new McpServerError({ reason: "invalid", message: "The cursor is not one of this list" })
  }
  const to = from + size
  return Effect.succeed({ items: all.slice(from, to), ...(to < all.length ? { nextCursor: String(to) } : {}) })
}

const shownTool = ({ annotations, description, inputSchema, name, outputSchema, title }: ServedTool) => ({
  name,
  description,
  inputSchema,
  ...(title === undefined ? {} : { title }),
  ...(outputSchema === undefined ? {} : { outputSchema }),
  ...(annotations === undefined ? {} : { annotations })
})

const described = ({
  description,
  name,
  title
}: {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
}) => ({
  name,
  ...(title === undefined ? {} : { title }),
  ...(description === undefined ? {} : { description })
})

class ServedSession {
  private calls = 0
  private level: McpPeer.LogLevel = "info"

  constructor(
    private readonly served: Served,
    private readonly server: Server,
    private readonly own: Identity | undefined,
    private readonly run: Run,
    private readonly followed: FiberMap.FiberMap<string>
  ) {}

  /** The caller of a request: over HTTP that of its own credentials, which every request has. */
  private callerOf({ authInfo }: ServedPeer.Extra): Identity {
    const given = authInfo?.extra as { readonly caller?: Identity } | undefined
    return this.own ?? given?.caller ?? {}
  }

  private handle<const S extends RequestSchema>(
    schema: S,
    handler: (
      params: any,
      caller: Identity,
      extra: ServedPeer.Extra
    ) => Effect.Effect<ServerResult, McpServerError, any>
  ): void {
    const { McpError } = this.served.sdk.types
    this.server.setRequestHandler(schema, async (request, extra) => {
      const { params } = request as { readonly params?: unknown }
      const effect = JsonDepth.isDeeper(params, DEEPEST)
        ? tooDeep
        : Effect.suspend(() => handler(params ?? {}, this.callerOf(extra), extra))
      const result = await this.run(exposed(effect), extra.signal)
      if (Either.isRight(result)) return result.right
      throw new McpError(toRpcCode(result.left), result.left.message)
    })
  }

  install(): void {
    const { types } = this.served.sdk
    this.installTools()
    this.installOffers()
    this.handle(types.SetLevelRequestSchema, ({ level }: { readonly level: McpPeer.LogLevel }) =>
      Effect.sync(() => {
        this.level = level
        return {}
      })
    )
  }

  private isPermitted(tool: ServedTool, caller: Identity): boolean {
    return this.served.permits(caller, { kind: tool.kind, name: tool.own })
  }

  private callOf(caller: Identity, extra: ServedPeer.Extra): ServedCall {
    const { answerTimeout, isStopping, options, policy } = this.served
    const rank = (level: McpPeer.LogLevel) => McpPeer.levels.indexOf(level)
    return {
      caller,
      isStopping,
      policy: policy(caller),
      approves: options.approves?.(caller) ?? true,
      progress: ServedPeer.progressOf(extra),
      peer: ServedPeer.make(this.server, extra, {
        answerTimeout,
        name: options.name,
        isLogged: (level) => rank(level) >= rank(this.level)
      })
    }
  }

  private counted(call: Effect.Effect<CallToolResult, McpServerError>): Effect.Effect<CallToolResult, McpServerError> {
    const { maxCalls } = this.served
    return Effect.acquireUseRelease(
      Effect.suspend(() => {
        if (this.calls >= maxCalls) {
          return new McpServerError({ reason: "refused", message: `A session makes at most ${maxCalls} calls at once` })
        }
        this.calls++
        return Effect.void
      }),
      () => call,
      () =>
        Effect.sync(() => {
          this.calls--
        })
    )
  }

  private installTools(): void {
    const { pageSize, sdk, tools } = this.served
    this.handle(sdk.types.ListToolsRequestSchema, ({ cursor }, caller) => {
      const all = Array.from(tools.values()).filter((tool) => this.isPermitted(tool, caller))
      return Effect.map(page(all, cursor, pageSize), ({ items, ...next }) => ({
        tools: items.map(shownTool) as [],
        ...next
      }))
    })
    this.handle(sdk.types.CallToolRequestSchema, ({ arguments: args = {}, name }, caller, extra) => {
      const tool = tools.get(name)
      return tool === undefined || !this.isPermitted(tool, caller)
        ? new McpServerError({ reason: "invalid", message: "This server has no such tool" })
        : this.counted(Effect.suspend(() => tool.call(args, this.callOf(caller, extra))))
    })
  }

  private installOffers(): void {
    const { offers, pageSize, sdk } = this.served
    const { types } = sdk
    this.handle(types.ListPromptsRequestSchema, ({ cursor }, caller) =>
      Effect.flatMap(offers.prompts({ caller }), (all) =>
        Effect.map(page(all, cursor, pageSize), ({ items, ...next }) => ({
          ...next,
          prompts: items.map((prompt) => ({
            ...described(prompt),
            arguments: (prompt.arguments ?? []).map((one) => ({ ...described(one), required: one.required === true }))
          }))
        }))
      )
    )
    this.handle(types.GetPromptRequestSchema, ({ arguments: args = {}, name }, caller) =>
      offers.getPrompt(name, args, { caller })
    )
    this.handle(types.ListResourcesRequestSchema, ({ cursor }, caller) =>
      Effect.flatMap(offers.resources({ caller }), (all) =>
        Effect.map(page(all, cursor, pageSize), ({ items, ...next }) => ({
          ...next,
          resources: items.map((one) => ({ ...described(one), uri: one.uri, mimeType: one.mimeType ?? "text/plain" }))
        }))
      )
    )
    this.handle(types.ListResourceTemplatesRequestSchema, ({ cursor }, caller) =>
      Effect.map(page(offers.templates({ caller }), cursor, pageSize), ({ items, ...next }) => ({
        ...next,
        resourceTemplates: items.map((one) => ({
          ...described(one),
          uriTemplate: one.uriTemplate,
          mimeType: one.mimeType ?? "text/plain"
        }))
      }))
    )
    this.handle(types.ReadResourceRequestSchema, ({ uri }, caller) => offers.read(uri, { caller }))
    this.handle(types.CompleteRequestSchema, (params, caller) => offers.complete(params, { caller }))
    this.handle(types.SubscribeRequestSchema, ({ uri }, caller) => this.subscribe(uri, caller))
    this.handle(types.UnsubscribeRequestSchema, ({ uri }) => Effect.as(FiberMap.remove(this.followed, uri), {}))
  }

  private subscribe(uri: string, caller: Identity): Effect.Effect<ServerResult, McpServerError, any> {
    const { maxSubscriptions, offers } = this.served
    const tell = Effect.ignore(Effect.tryPromise(() => this.server.sendResourceUpdated({ uri })))
    return Effect.gen(this, function* () {
      const changes = yield* offers.changes(uri, { caller })
      if (changes === undefined) return {}
      if (!FiberMap.unsafeHas(this.followed, uri) && (yield* FiberMap.size(this.followed)) >= maxSubscriptions) {
        return yield* new McpServerError({
          reason: "refused",
          message: `A session follows at most ${maxSubscriptions} resources at once`
        })
      }
      yield* FiberMap.run(
        this.followed,
        uri,
        Stream.runForEach(changes, () => tell)
      )
      return {}
    })
  }
}

/**
 * A server that is not connected yet. Its work ends with the scope. `own` is the caller of every request; without it,
 * requests have theirs.
 *
 * @category constructors
 */
export const make = (served: Served, own: Identity | undefined): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { options, sdk } = served
    const run = running(yield* FiberSet.makeRuntime<any>())
    const followed = yield* FiberMap.make<string>()
    const server = new sdk.Server(
      {
        name: options.name,
        version: options.version,
        ...(options.title === undefined ? {} : { title: options.title })
      },
      {
        capabilities: {
          tools: {},
          prompts: {},
          resources: { subscribe: true },
          completions: {},
          logging: {}
        },
        ...(options.instructions === undefined ? {} : { instructions: options.instructions })
      }
    )
    new ServedSession(served, server, own, run, followed).install()
    yield* Effect.addFinalizer(() => Effect.ignore(Effect.tryPromise(() => server.close())))
    return server
  })
