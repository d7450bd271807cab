/**
 * A client whose connection comes back: one session at a time, made anew when it was lost.
 *
 * @internal
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Mailbox from "effect/Mailbox"
import * as PubSub from "effect/PubSub"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CallOptions, Change, McpError, Progress, Service } from "../skill/mcp/McpClient.js"
import { type Failure, type Session, toError } from "./McpSession.js"
import * as McpWire from "./McpWire.js"

/** How a connection that was lost comes back. */
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
  /** `undefined`: never. */
  readonly reconnect: Reconnect | undefined
  readonly open: (events: {
    readonly onChange: (change: Change["_tag"]) => void
    readonly onLost: () => void
  }) => Effect.Effect<Session, McpError, Scope.Scope>
}

/** Entries of a list in all, and its pages: what a server can make a client keep. */
const MAX_ENTRIES = 10_000
const MAX_PAGES = 1000

interface Live {
  readonly session: Session
  readonly scope: Scope.CloseableScope
}

const unavailable: ReadonlySet<McpError["reason"]> = new Set(["Connection", "Closed", "Timeout"])

export const make = (options: Options): Effect.Effect<Service, McpError, Scope.Scope> =>
  Effect.gen(function* () {
    const { reconnect, server } = options
    const outer = yield* Effect.scope
    const runtime = yield* Effect.runtime<never>()
    const pubsub = yield* PubSub.sliding<Change>(256)
    const scopes = new Set<Scope.CloseableScope>()
    let current: Live | undefined
    let connecting: Fiber.RuntimeFiber<Live, McpError> | undefined
    let isClosed = false
    let restarts: ReadonlyArray<bigint> = []

    const publish = (_tag: Change["_tag"]): void => void pubsub.unsafeOffer({ _tag })
    const fail = (failure: Failure) => Effect.fail(toError(server, failure))

    const release = (scope: Scope.CloseableScope): Effect.Effect<void> =>
      Effect.uninterruptible(
        Effect.ensuring(
          Scope.close(scope, Exit.void),
          Effect.sync(() => scopes.delete(scope))
        )
      )

    const onLost = (live: Live): void => {
      if (current !== live) return
      current = undefined
      publish("Disconnected")
      if (isClosed) return
      Runtime.runFork(runtime)(release(live.scope), { scope: outer })
      if (reconnect?.background === true) {
        const report = (error: McpError) => Effect.logWarning(`${error.message} (${error.reason})`)
        Runtime.runFork(runtime)(Effect.catchAll(acquire, report), { scope: outer })
      }
    }

    const connect: Effect.Effect<Live, McpError> = Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        scopes.add(scope)
        let live: Live | undefined
        let isLost = false
        const events = {
          onChange: publish,
          onLost: () => {
            isLost = true
            if (live !== undefined) onLost(live)
          }
        }
        const opened = yield* Effect.exit(restore(Scope.extend(options.open(events), scope)))
        if (Exit.isFailure(opened)) {
          yield* release(scope)
          return yield* Effect.failCause(opened.cause)
        }
        live = { session: opened.value, scope }
        current = live
        publish("Connected")
        if (isLost) onLost(live)
        return live
      })
    )

    const admitted: Effect.Effect<void, McpError> = Effect.suspend(() => {
      if (reconnect === undefined) return fail({ reason: "Closed", message: "the connection was lost" })
      return Effect.flatMap(Clock.currentTimeNanos, (now) => {
        const since = now - BigInt(Math.round(Duration.toMillis(reconnect.window))) * 1_000_000n
        restarts = restarts.filter((at) => at > since)
        if (restarts.length >= reconnect.maxRestarts) {
          return fail({
            reason: "RestartLimit",
            message: `it was lost ${reconnect.maxRestarts} times within ${Duration.format(reconnect.window)}`,
            hint: "Look why it ends, or allow more restarts"
          })
        }
        restarts = [...restarts, now]
        return Effect.void
      })
    })

    const again: Effect.Effect<Live, McpError> = Effect.suspend(() =>
      Effect.zipRight(
        admitted,
        reconnect === undefined
          ? connect
          : Effect.retry(connect, { schedule: reconnect.schedule, while: (error) => unavailable.has(error.reason) })
      )
    )

    /** Whoever waits may leave: the connection is made for all, and belongs to the client. */
    const shared = (attempt: Effect.Effect<Live, McpError>): Effect.Effect<Live, McpError> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          if (connecting === undefined) {
            const settled = Effect.ensuring(
              attempt,
              Effect.sync(() => {
                connecting = undefined
              })
            )
            connecting = yield* Effect.forkIn(Effect.interruptible(settled), outer)
          }
          const exit = yield* restore(Fiber.await(connecting))
          if (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)) return yield* closed
          return yield* exit
        })
      )

    const closed = fail({ reason: "Closed", message: "the client was closed" })

    const acquire: Effect.Effect<Live, McpError> = Effect.suspend(() =>
      isClosed ? closed : current !== undefined ? Effect.succeed(current) : shared(again)
    )

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        return Effect.forEach([...scopes], release, { discard: true })
      })
    )
    yield* shared(connect)

    const request = (
      method: string,
      params: Readonly<Record<string, unknown>>,
      call: CallOptions | undefined,
      onProgress?: (progress: Progress) => void
    ): Effect.Effect<unknown, Failure | McpError> => {
      const times = {
        timeout: Duration.toMillis(call?.timeout ?? options.timeout),
        maxTotal: total(call?.maxTotal ?? options.maxTotal),
        onProgress
      }
      const once = Effect.flatMap(acquire, ({ session }) => session.request(method, params, times))
      return Effect.catchIf(once, isAgain, () => once)
    }

    const asked = <A>(
      effect: Effect.Effect<unknown, Failure | McpError>,
      read: (answer: unknown) => A | undefined,
      toolName?: string
    ): Effect.Effect<A, McpError> =>
      effect.pipe(
        Effect.flatMap((answer) => {
          const value = read(answer)
          return value === undefined
            ? Effect.fail<Failure>({ reason: "InvalidResponse", message: "its answer is not what the protocol wants" })
            : Effect.succeed(value)
        }),
        Effect.mapError((failure) => ("_tag" in failure ? failure : toError(server, failure, toolName)))
      )

    const list = <A>(
      capability: "tools" | "resources" | "prompts",
      method: string,
      key: string,
      read: (entry: Readonly<Record<string, unknown>>) => A | undefined
    ): Effect.Effect<ReadonlyArray<A>, McpError> =>
      Effect.gen(function* () {
        const { session } = yield* acquire
        if (!session.info.capabilities[capability]) return []
        const all: Array<A> = []
        let cursor: string | undefined
        for (let pages = 0; pages < MAX_PAGES; pages++) {
          const params = cursor === undefined ? {} : { cursor }
          const { items, next } = yield* asked(request(method, params, undefined), (u) => McpWire.page(u, key, read))
          for (const item of items) all.push(item)
          if (next === undefined || next === "") return all
          if (next === cursor || all.length > MAX_ENTRIES) break
          cursor = next
        }
        return yield* fail({ reason: "InvalidResponse", message: `its list of ${key} does not end` })
      })

    const watched = <A>(
      call: CallOptions | undefined,
      run: (onProgress?: (progress: Progress) => void) => Effect.Effect<A, McpError>
    ): Effect.Effect<A, McpError> => {
      const tell = call?.onProgress
      return tell === undefined ? run() : withProgress(tell, run)
    }

    const service: Service = {
      name: server,
      info: Effect.map(acquire, ({ session }) => session.info),
      ping: asked(request("ping", {}, undefined), () => true).pipe(Effect.asVoid),
      listTools: list("tools", "tools/list", "tools", McpWire.tool),
      callTool: (name, args, call) =>
        watched(call, (onProgress) =>
          asked(request("tools/call", { name, arguments: args ?? {} }, call, onProgress), McpWire.toolResult, name)
        ),
      listResources: list("resources", "resources/list", "resources", McpWire.resource),
      listResourceTemplates: list(
        "resources",
        "resources/templates/list",
        "resourceTemplates",
        McpWire.resourceTemplate
      ),
      readResource: (uri, call) =>
        watched(call, (onProgress) =>
          asked(request("resources/read", { uri }, call, onProgress), McpWire.readContents)
        ),
      listPrompts: list("prompts", "prompts/list", "prompts", McpWire.prompt),
      getPrompt: (name, args, call) =>
        watched(call, (onProgress) =>
          asked(request("prompts/get", { name, arguments: args ?? {} }, call, onProgress), McpWire.promptResult)
        ),
      changes: Stream.unwrapScoped(
        Effect.map(PubSub.subscribe(pubsub), (queue) => {
          const changes = Stream.fromQueue(queue)
          return current === undefined ? changes : Stream.concat(Stream.make<[Change]>({ _tag: "Connected" }), changes)
        })
      )
    }
    return service
  })

const isAgain = (failure: Failure | McpError): boolean => "again" in failure && failure.again === true

/** No limit at all is none, however long. */
const total = (duration: Duration.DurationInput | undefined): number | undefined =>
  duration === undefined ? undefined : Duration.toMillis(duration)

/** As many may wait for a consumer that is slow. */
const MAX_WAITING = 256

/** Progress arrives in callbacks, and is told in order, by a fiber that ends with the call. */
const withProgress = <A>(
  tell: (progress: Progress) => Effect.Effect<void>,
  run: (onProgress: (progress: Progress) => void) => Effect.Effect<A, McpError>
): Effect.Effect<A, McpError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const mailbox = yield* Mailbox.make<Progress>({ capacity: MAX_WAITING, strategy: "sliding" })
      const told = Effect.gen(function* () {
        while (true) {
          const [batch, isDone] = yield* mailbox.takeAll
          for (const progress of Chunk.toReadonlyArray(batch)) yield* tell(progress)
          if (isDone) return
        }
      })
      const teller = yield* Effect.forkScoped(told)
      const result = yield* run((progress) => void mailbox.unsafeOffer(progress))
      yield* mailbox.end
      yield* Fiber.join(teller)
      return result
    })
  )

/** 200 ms, 400 ms, 800 ms … 10 s, and after five attempts no more. */
export const defaultSchedule: Schedule.Schedule<unknown, unknown> = Schedule.exponential("200 millis", 2).pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(4))
)
