/**
 * Messages for runs that are going on, and the order of runs that share a session.
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
 * A message could not be put into a run (`not-running`: there is none, or it has its answer already; `full`: too many
 * wait), or a run could not wait for its session (`busy`: too many wait).
 *
 * @since 0.1.0
 * @category errors
 */
export class SteeringError extends ErrorCode.TaggedError<SteeringError>("effect-lexigram/agent/Steering/SteeringError")(
  "SteeringError",
  { ...ErrorCode.fields("LEX_ERR_AGT_113"), reason: Schema.Literal("not-running", "full", "busy") }
) {}

/**
 * A run by its id, or the one that goes on in a session. With `userId`, only a run of that user is found; without one
 * only a run of nobody, unless the caller acts for the system (`SystemAccess`).
 *
 * @since 0.1.0
 * @category models
 */
export type Target =
  | { readonly runId: string; readonly userId?: string | undefined }
  | { readonly sessionId: string; readonly userId?: string | undefined }

/**
 * What waits for a run.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inbox {
  /** Takes everything that waits, in the order in which it came. */
  readonly take: () => ReadonlyArray<string>
  /** Takes no more messages, unless some wait: then nothing changes, and it gives back false. */
  readonly close: () => boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Running {
  readonly runId: RunId
  readonly userId?: UserId | undefined
  /** Absent for runs inside of others: they do not wait for the session their outer run holds. */
  readonly sessionId?: SessionId | undefined
  /**
   * What the caller of the run holds: a run of the system without a user is reached by the system alone. Default
   * nothing.
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
  /**
   * Puts a message into a run that goes on. The model sees it with its next call; a run that would have ended goes on
   * for it. Input guards judge it like any message of the user.
   */
  readonly steer: (target: Target, message: string) => Effect.Effect<void, SteeringError>
  /** The run that goes on in a session, by the same rule. */
  readonly running: (sessionId: string, userId?: string | undefined) => Effect.Effect<Option.Option<RunId>>
  /**
   * What the executor does a run in. Runs of one session and user follow one another in the order in which they came;
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
  /** One of the system: no user has it, nor nobody. */
  readonly system: boolean
  messages: Array<string>
  open: boolean
}

interface Line {
  readonly sessionId: string
  current: Entry | undefined
  readonly waiting: Array<Deferred.Deferred<void>>
}

const notRunning = () =>
  new SteeringError({
    reason: "not-running",
    message: "There is no such run that could still take the message",
    hint: "Start a run with the message: one of the same session follows the one that goes on"
  })

// By id and user: what somebody else begins under the same id takes nobody's place.
const lineKey = (sessionId: string, userId: string | undefined): string => JSON.stringify([sessionId, userId ?? null])
const runKey = (runId: string, userId: string | undefined, system: boolean): string =>
  JSON.stringify([runId, userId ?? null, system])

/**
 * Steering within one process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Service => {
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

  /** Done when it is this run's turn; gives the turn on when it was interrupted in that very moment. */
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
          message: `${maxWaiting} runs wait for this session already`,
          hint: "Send the message again later, or put it into the run that goes on (Steering.steer)"
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
    steer: (target, message) =>
      Effect.flatMap(SystemAccess.held, (held) => {
        const entry = find(target, held)
        if (entry === undefined || !entry.open) return notRunning()
        if (entry.messages.length >= maxMessages) {
          return new SteeringError({
            reason: "full",
            message: `${maxMessages} messages wait for the run already`,
            hint: "Send the message again when the model has seen some of them"
          })
        }
        entry.messages.push(message)
        return Effect.void
      }),
    running: (sessionId, userId) =>
      Effect.map(SystemAccess.held, (held) => Option.fromNullable(find({ sessionId, userId }, held)?.runId)),
    within: (run, use) =>
      Effect.uninterruptibleMask((restore) => {
        const system = run.userId === undefined && SystemAccess.isGrant(run.held)
        const entry: Entry = { runId: run.runId, system, messages: [], open: true }
        const inbox: Inbox = {
          take: () => {
            const { messages } = entry
            entry.messages = []
            return messages
          },
          close: () => {
            if (entry.messages.length > 0) return false
            entry.open = false
            return true
          }
        }
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
 * Runs can be reached while they go on, and runs of one session follow one another: within one process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Steering> => Layer.sync(Steering, () => make(options))

/**
 * Nothing waits, and nothing will.
 *
 * @since 0.1.0
 * @category constructors
 */
export const nothing: Inbox = { take: () => [], close: () => true }

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
