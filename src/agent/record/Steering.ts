/**
 * Sends messages to running runs, and serializes the runs of a session.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"

/**
 * A message could not be added to a run (`not-running`: there is none, or it already has its answer; `full`: too many
 * messages wait; `storage`: the database failed), or a run could not wait for its session (`busy`: too many runs wait).
 *
 * @since 0.1.0
 * @category errors
 */
export class SteeringError extends ErrorCode.TaggedError<SteeringError>("effect-lexigram/agent/Steering/SteeringError")(
  "SteeringError",
  { ...ErrorCode.fields("LEX_ERR_AGT_113"), reason: Schema.Literal("not-running", "full", "busy", "storage") }
) {}

/**
 * A run by its id, or the one running in a session. With `userId`, only a run of that user is found; without it only a
 * run without a user, unless the caller acts for the system (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export type Target =
  | { readonly runId: string; readonly userId?: string | undefined }
  | { readonly sessionId: string; readonly userId?: string | undefined }

/**
 * The messages that wait for a run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inbox {
  /** True if what waits is kept while the run is suspended, and when its process ends. */
  readonly isKept: boolean
  /** Takes all waiting messages in order. */
  readonly take: Effect.Effect<ReadonlyArray<string>>
  /** Stops accepting messages. If some wait, changes nothing and succeeds with false. */
  readonly close: Effect.Effect<boolean>
}

/**
 * Where messages to durable runs are kept, for any process.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inboxes {
  /** Adds a message, unless `atMost` wait already, or the run has ended or takes no more. */
  readonly add: (runId: string, message: string, atMost: number) => Effect.Effect<void, SteeringError>
  readonly of: (runId: string) => Inbox
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Running {
  readonly runId: RunId
  readonly userId?: UserId | undefined
  /** The run is durable, so its messages are kept where they can be. Default false. */
  readonly isDurable?: boolean | undefined
  /** Absent for inner runs: they do not wait for the session that their outer run holds. */
  readonly sessionId?: SessionId | undefined
  /**
   * The capability of the caller: only the system reaches a run of the system without a user. Default nothing.
   */
  readonly held?: SystemAccess.Held | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: no run can be reached, and none waits for another. */
  readonly enabled: boolean
  /** True: messages to durable runs are kept, and reach them in other processes. Default false. */
  readonly keeps?: boolean | undefined
  /**
   * Adds a message to a running run. The model sees it with its next call; a run that would have ended continues for
   * it. Input guards judge it like any message of the user.
   */
  readonly steer: (target: Target, message: string) => Effect.Effect<void, SteeringError>
  /** The run that goes on in a session, by the same rule. */
  readonly running: (sessionId: string, userId?: string | undefined) => Effect.Effect<Option.Option<RunId>>
  /**
   * Used by the executor to wrap a run. Runs of one session and user follow one another in the order of their arrival;
   * waiting is interruptible.
   */
  readonly within: <A, E, R>(
    run: Running,
    use: (inbox: Inbox) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SteeringError, R>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Steering extends Context.Tag("effect-lexigram/agent/Steering")<Steering, Service>() {}

/**
 * @since 0.1.0
 * @category accessors
 */
export const steer = (target: Target, message: string): Effect.Effect<void, SteeringError, Steering> =>
  Effect.flatMap(Steering, (steering) => steering.steer(target, message))

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Messages that may wait for one run; default 64. */
  readonly maxMessages?: number | undefined
  /** Runs that may wait for one session; default 64. */
  readonly maxWaiting?: number | undefined
}

interface Entry {
  readonly runId: RunId
  /** A run of the system: it belongs to no user, and not to callers without one either. */
  readonly system: boolean
  messages: Array<string>
  open: boolean
  /** Its messages are kept apart. */
  readonly isKept: boolean
}

interface Line {
  readonly sessionId: string
  current: Entry | undefined
  readonly waiting: Array<Deferred.Deferred<void>>
}

/**
 * @category errors
 */
export const notRunning = (): SteeringError =>
  new SteeringError({
    reason: "not-running",
    message: "No running run accepts the message",
    hint: "Start a run with the message; it follows the current run of the same session"
  })

/**
 * @category errors
 */
export const full = (atMost: number): SteeringError =>
  new SteeringError({
    reason: "full",
    message: `${atMost} messages already wait for the run`,
    hint: "Send the message again when the model has seen some of them"
  })

// By id and user, so that another user with the same session id does not block the line.
const lineKey = (sessionId: string, userId: string | undefined): string => JSON.stringify([sessionId, userId ?? null])
const runKey = (runId: string, userId: string | undefined, system: boolean): string =>
  JSON.stringify([runId, userId ?? null, system])

/** The messages of a run of this process. */
const inboxOf = (entry: Entry): Inbox => ({
  isKept: false,
  take: Effect.sync(() => {
    const { messages } = entry
    entry.messages = []
    return messages
  }),
  close: Effect.sync(() => {
    if (entry.messages.length > 0) return false
    entry.open = false
    return true
  })
})

/**
 * Steering of the runs of this process and, with `inboxes`, of durable runs wherever they are. The system, which must
 * have checked whose a run is, reaches those of other processes by their ids.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined, inboxes?: Inboxes | undefined): Service => {
  const maxMessages = options?.maxMessages ?? 64
  const maxWaiting = options?.maxWaiting ?? 64
  const runs = new Map<string, Entry>()
  const lines = new Map<string, Line>()

  const anybodys = (target: Target): Entry | undefined => {
    if ("runId" in target) {
      for (const entry of runs.values()) if (entry.runId === target.runId) return entry
    } else {
      for (const { current, sessionId } of lines.values()) {
        if (current !== undefined && sessionId === target.sessionId) return current
      }
    }
    return undefined
  }

  const find = (target: Target, held: SystemAccess.Held): Entry | undefined => {
    if (target.userId === undefined && SystemAccess.isGrant(held)) return anybodys(target)
    const own =
      "runId" in target
        ? runs.get(runKey(target.runId, target.userId, false))
        : lines.get(lineKey(target.sessionId, target.userId))?.current
    return own?.system === true ? undefined : own
  }

  const leave = (key: string, line: Line): void => {
    line.current = undefined
    const next = line.waiting.shift()
    if (next === undefined) lines.delete(key)
    else Deferred.unsafeDone(next, Effect.void)
  }

  /** Completes when it is this run's turn; passes the turn on if it is interrupted at that moment. */
  const turn = (
    key: string,
    sessionId: string,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ): Effect.Effect<Line, SteeringError> =>
    Effect.withFiberRuntime((fiber) => {
      const known = lines.get(key)
      if (known === undefined) {
        const line: Line = { sessionId, current: undefined, waiting: [] }
        lines.set(key, line)
        return Effect.succeed(line)
      }
      if (known.waiting.length >= maxWaiting) {
        return new SteeringError({
          reason: "busy",
          message: `${maxWaiting} runs already wait for this session`,
          hint: "Send the message again later, or add it to the current run (Steering.steer)"
        })
      }
      const mine = Deferred.unsafeMake<void>(fiber.id())
      known.waiting.push(mine)
      return Effect.onInterrupt(Effect.as(restore(Deferred.await(mine)), known), () =>
        Effect.sync(() => {
          const index = known.waiting.indexOf(mine)
          if (index >= 0) known.waiting.splice(index, 1)
          else leave(key, known)
        })
      )
    })

  return {
    enabled: true,
    keeps: inboxes !== undefined,
    steer: (target, message) =>
      Effect.flatMap(SystemAccess.held, (held) => {
        const entry = find(target, held)
        if (inboxes !== undefined) {
          if (entry?.isKept === true) return inboxes.add(entry.runId, message, maxMessages)
          if (entry === undefined && "runId" in target && SystemAccess.isGrant(held)) {
            return inboxes.add(target.runId, message, maxMessages)
          }
        }
        if (entry === undefined || !entry.open) return notRunning()
        if (entry.messages.length >= maxMessages) return full(maxMessages)
        entry.messages.push(message)
        return Effect.void
      }),
    running: (sessionId, userId) =>
      Effect.map(SystemAccess.held, (held) => Option.fromNullable(find({ sessionId, userId }, held)?.runId)),
    within: (run, use) =>
      Effect.uninterruptibleMask((restore) => {
        const system = run.userId === undefined && SystemAccess.isGrant(run.held)
        const isKept = inboxes !== undefined && run.isDurable === true
        const entry: Entry = { runId: run.runId, system, messages: [], open: true, isKept }
        const inbox = isKept ? inboxes.of(run.runId) : inboxOf(entry)
        const known = runKey(run.runId, run.userId, system)
        const { sessionId } = run
        const key = sessionId === undefined ? undefined : lineKey(sessionId, run.userId)
        const enter: Effect.Effect<Line | undefined, SteeringError> =
          key === undefined || sessionId === undefined ? Effect.succeed(undefined) : turn(key, sessionId, restore)
        return Effect.flatMap(enter, (line) => {
          if (line !== undefined) line.current = entry
          runs.set(known, entry)
          return Effect.onExit(restore(use(inbox)), () =>
            Effect.sync(() => {
              entry.open = false
              if (runs.get(known) === entry) runs.delete(known)
              if (line !== undefined && key !== undefined) leave(key, line)
            })
          )
        })
      })
  }
}

/**
 * Steering within one process: running runs can be reached, and the runs of one session follow one another.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, Steering } from "effect-lexigram"
 * import * as Layer from "effect/Layer"
 *
 * const steering = Steering.layer({ maxMessages: 16 })
 * const layer = Layer.merge(Agents.layerWith({ steering }), steering)
 *
 * // Reaches the run that goes on in the session; fails with `SteeringError` if there is none.
 * const program = Steering.steer({ sessionId: "orders", userId: "ada" }, "Order 18, not 17")
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<Steering> => Layer.sync(Steering, () => make(options))

/**
 * An inbox that is always empty.
 *
 * @since 0.1.0
 * @category constructors
 */
export const nothing: Inbox = { isKept: false, take: Effect.succeed([]), close: Effect.succeed(true) }

/**
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  enabled: false,
  steer: () => notRunning(),
  running: () => Effect.succeed(Option.none()),
  within: (_run, use) => use(nothing)
}

/**
 * No run can be reached while it goes on, and none waits for another.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Steering> = Layer.succeed(Steering, noop)
