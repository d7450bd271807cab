/**
 * An MCP client with one session at a time, which is replaced when it is lost.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as PubSub from "effect/PubSub"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CallOptions, Change, McpError, Progress, Service, ToolResult } from "../skill/mcp/McpClient.js"
import * as McpAnswers from "./McpAnswers.js"
import type { Asking } from "./McpFlights.js"
import { type Failure, type Session, toError } from "./McpSession.js"
import * as McpTaskCalls from "./McpTaskCalls.js"
import * as McpWire from "./McpWire.js"

/** How a lost connection is replaced. */
export interface Reconnect {
  readonly schedule: Schedule.Schedule<unknown, McpError>
  readonly maxRestarts: number
  readonly window: Duration.Duration
  readonly background: boolean
}

export interface Options {
  readonly server: string
  readonly timeout: Duration.Duration
  readonly maxTotal: Duration.Duration | undefined
  /** Requests of the server that a model answers during one call. */
  readonly maxSamples: number
  /** `undefined`: never. */
  readonly reconnect: Reconnect | undefined
  readonly open: (events: {
    readonly onChange: (change: Change["_tag"]) => void
    readonly onLost: () => void
  }) => Effect.Effect<Session, McpError, Scope.Scope>
}

/** Bounds what a server can make a client keep: entries and pages of a list. */
const MAX_ENTRIES = 10_000
const MAX_PAGES = 1000

interface Live {
  readonly session: Session
  readonly scope: Scope.CloseableScope
}

const unavailable: ReadonlySet<McpError["reason"]> = new Set(["Connection", "Closed", "Timeout"])

/** The session of a client, and how it is replaced after a loss. */
class Connection {
  current: Live | undefined
  private connecting: Fiber.RuntimeFiber<Live, McpError> | undefined
  private isClosed = false
  private restarts: ReadonlyArray<bigint> = []
  private readonly scopes = new Set<Scope.CloseableScope>()

  constructor(
    private readonly options: Options,
    private readonly pubsub: PubSub.PubSub<Change>,
    private readonly outer: Scope.Scope,
    private readonly runFork: <A, E>(effect: Effect.Effect<A, E>, options: Runtime.RunForkOptions) => void
  ) {}

  /** The current session, or a new one in place of a lost one. */
  readonly acquire: Effect.Effect<Live, McpError> = Effect.suspend(() =>
    this.isClosed ? this.closed : this.current !== undefined ? Effect.succeed(this.current) : this.share(this.again)
  )

  /** Makes the first connection. */
  readonly open: Effect.Effect<Live, McpError> = Effect.suspend(() => this.share(this.connect))

  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.isClosed = true
    return Effect.forEach([...this.scopes], (scope) => this.release(scope), { discard: true })
  })

  fail(failure: Failure): Effect.Effect<never, McpError> {
    return Effect.fail(toError(this.options.server, failure))
  }

  private readonly closed = Effect.suspend(() => this.fail({ reason: "Closed", message: "the client was closed" }))

  private publish(_tag: Change["_tag"]): void {
    this.pubsub.unsafeOffer({ _tag })
  }

  private release(scope: Scope.CloseableScope): Effect.Effect<void> {
    return Effect.uninterruptible(
      Effect.ensuring(
        Scope.close(scope, Exit.void),
        Effect.sync(() => this.scopes.delete(scope))
      )
    )
  }

  private onLost(live: Live): void {
    if (this.current !== live) return
    this.current = undefined
    this.publish("Disconnected")
    if (this.isClosed) return
    this.runFork(this.release(live.scope), { scope: this.outer })
    if (this.options.reconnect?.background === true) {
      const report = (error: McpError) => Effect.logWarning(`${error.message} (${error.reason})`)
      this.runFork(Effect.catchAll(this.acquire, report), { scope: this.outer })
    }
  }

  private readonly connect: Effect.Effect<Live, McpError> = Effect.uninterruptibleMask((restore) =>
    Effect.gen(this, function* () {
      const scope = yield* Scope.make()
      this.scopes.add(scope)
      let live: Live | undefined
      let isLost = false
      const events = {
        onChange: (change: Change["_tag"]) => this.publish(change),
        onLost: () => {
          isLost = true
          if (live !== undefined) this.onLost(live)
        }
      }
      const opened = yield* Effect.exit(restore(Scope.extend(this.options.open(events), scope)))
      if (Exit.isFailure(opened)) {
        yield* this.release(scope)
        return yield* Effect.failCause(opened.cause)
      }
      live = { session: opened.value, scope }
      this.current = live
      this.publish("Connected")
      if (isLost) this.onLost(live)
      return live
    })
  )

  private readonly again: Effect.Effect<Live, McpError> = Effect.suspend(() => {
    const { reconnect } = this.options
    if (reconnect === undefined) return this.fail({ reason: "Closed", message: "the connection was lost" })
    const { schedule } = reconnect
    return Effect.zipRight(
      this.admit(reconnect),
      Effect.retry(this.connect, { schedule, while: (error) => unavailable.has(error.reason) })
    )
  })

  private admit({ maxRestarts, window }: Reconnect): Effect.Effect<void, McpError> {
    return Effect.flatMap(Clock.currentTimeNanos, (now) => {
      const since = now - BigInt(Math.round(Duration.toMillis(window))) * 1_000_000n
      this.restarts = this.restarts.filter((at) => at > since)
      if (this.restarts.length >= maxRestarts) {
        return this.fail({
          reason: "RestartLimit",
          message: `it was lost ${maxRestarts} times within ${Duration.format(window)}`,
          hint: "Find out why it ends, or allow more restarts"
        })
      }
      this.restarts = [...this.restarts, now]
      return Effect.void
    })
  }

  /** Callers may stop waiting: the attempt is shared by all of them and belongs to the client. */
  private share(attempt: Effect.Effect<Live, McpError>): Effect.Effect<Live, McpError> {
    return Effect.uninterruptibleMask((restore) =>
      Effect.gen(this, function* () {
        if (this.connecting === undefined) {
          const settled = Effect.ensuring(
            attempt,
            Effect.sync(() => {
              this.connecting = undefined
            })
          )
          this.connecting = yield* Effect.forkIn(Effect.interruptible(settled), this.outer)
        }
        const exit = yield* restore(Fiber.await(this.connecting))
        if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)) return yield* this.closed
        return yield* exit
      })
    )
  }
}

/** Requests over a connection, and their answers as values. */
class Requests {
  constructor(
    private readonly options: Options,
    private readonly connection: Connection
  ) {}

  ask<A>(
    method: string,
    params: Readonly<Record<string, unknown>>,
    read: (answer: unknown) => A | undefined,
    options?: {
      readonly call?: CallOptions | undefined
      readonly onProgress?: ((progress: Progress) => void) | undefined
      readonly asking?: Asking | undefined
      readonly toolName?: string | undefined
    }
  ): Effect.Effect<A, McpError> {
    const { server } = this.options
    const times = {
      timeout: Duration.toMillis(options?.call?.timeout ?? this.options.timeout),
      maxTotal: toTotal(options?.call?.maxTotal ?? this.options.maxTotal),
      onProgress: options?.onProgress,
      asking: options?.asking
    }
    const once = Effect.flatMap(this.connection.acquire, ({ session }) => session.request(method, params, times))
    return Effect.catchIf(once, isAgain, () => once).pipe(
      Effect.flatMap((answer) => {
        const value = read(answer)
        return value === undefined
          ? Effect.fail<Failure>({ reason: "InvalidResponse", message: "its answer does not follow the protocol" })
          : Effect.succeed(value)
      }),
      Effect.mapError((failure) => ("_tag" in failure ? failure : toError(server, failure, options?.toolName)))
    )
  }

  /** As `ask`, with the progress that the caller wants to hear of. */
  follow<A>(
    method: string,
    params: Readonly<Record<string, unknown>>,
    read: (answer: unknown) => A | undefined,
    call: CallOptions | undefined,
    toolName?: string
  ): Effect.Effect<A, McpError> {
    const listener = call?.onProgress
    return McpAnswers.withAnswers(call, this.options.maxSamples, (asking) =>
      listener === undefined
        ? this.ask(method, params, read, { call, asking, toolName })
        : McpAnswers.withProgress(listener, (onProgress) =>
            this.ask(method, params, read, { call, onProgress, asking, toolName })
          )
    )
  }

  task(name: string, args: Readonly<Record<string, unknown>>, call: CallOptions): Effect.Effect<ToolResult, McpError> {
    const { maxSamples, server } = this.options
    return McpAnswers.withAnswers(call, maxSamples, (asking) =>
      McpTaskCalls.run({ server, ask: this.ask.bind(this), name, args, call, asking })
    )
  }

  list<A>(
    capability: "tools" | "resources" | "prompts",
    method: string,
    key: string,
    read: (entry: Readonly<Record<string, unknown>>) => A | undefined
  ): Effect.Effect<ReadonlyArray<A>, McpError> {
    return Effect.gen(this, function* () {
      const { session } = yield* this.connection.acquire
      if (!session.info.capabilities[capability]) return []
      const all: Array<A> = []
      let cursor: string | undefined
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const params = cursor === undefined ? {} : { cursor }
        const { items, next } = yield* this.ask(method, params, (u) => McpWire.page(u, key, read))
        for (const item of items) all.push(item)
        if (next === undefined || next === "") return all
        if (next === cursor || all.length > MAX_ENTRIES) break
        cursor = next
      }
      return yield* this.connection.fail({ reason: "InvalidResponse", message: `its list of ${key} does not end` })
    })
  }
}

export const make = (options: Options): Effect.Effect<Service, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const runtime = yield* Effect.runtime<never>()
    const pubsub = yield* PubSub.sliding<Change>(256)
    const connection = new Connection(options, pubsub, yield* Effect.scope, Runtime.runFork(runtime))
    yield* Effect.addFinalizer(() => connection.close)
    yield* connection.open
    const requests = new Requests(options, connection)
    return {
      name: options.server,
      info: Effect.map(connection.acquire, ({ session }) => session.info),
      ping: Effect.asVoid(requests.ask("ping", {}, () => true)),
      listTools: Effect.flatMap(connection.acquire, ({ session }) =>
        requests.list("tools", "tools/list", "tools", McpWire.tool(session.info.capabilities.tasks === true))
      ),
      callTool: (name, args = {}, call) =>
        call?.task === true
          ? requests.task(name, args, call)
          : requests.follow("tools/call", { name, arguments: args }, McpWire.toolResult, call, name),
      listResources: requests.list("resources", "resources/list", "resources", McpWire.resource),
      listResourceTemplates: requests.list(
        "resources",
        "resources/templates/list",
        "resourceTemplates",
        McpWire.resourceTemplate
      ),
      readResource: (uri, call) => requests.follow("resources/read", { uri }, McpWire.readContents, call),
      listPrompts: requests.list("prompts", "prompts/list", "prompts", McpWire.prompt),
      getPrompt: (name, args, call) =>
        requests.follow("prompts/get", { name, arguments: args ?? {} }, McpWire.promptResult, call),
      changes: Stream.unwrapScoped(
        Effect.map(PubSub.subscribe(pubsub), (queue) => {
          const changes = Stream.fromQueue(queue)
          return connection.current === undefined
            ? changes
            : Stream.concat(Stream.make<[Change]>({ _tag: "Connected" }), changes)
        })
      )
    }
  })

const isAgain = (failure: Failure | McpError): boolean => "again" in failure && failure.again === true

/** Without a duration there is no limit. */
const toTotal = (duration: Duration.DurationInput | undefined): number | undefined =>
  duration === undefined ? undefined : Duration.toMillis(duration)

/** Waits 200 ms, 400 ms, 800 ms … at most 10 s; gives up after five attempts. */
export const defaultSchedule: Schedule.Schedule<unknown, unknown> = Schedule.exponential("200 millis", 2).pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(4))
)
