/**
 * The events of a run as a stream: those of its log, then those that follow.
 *
 * @private
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as AgentEvents from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"
import * as Pulls from "../../internal/fiber/Pulls.js"
import { WholeTexts } from "../../observability/log/WholeTexts.js"
import type * as RunLog from "../../observability/RunLog.js"
import type { RunError } from "../record/RunError.js"
import type { LiveRun } from "./LiveRun.js"

/** Events that are read from the log at once. */
const PAGE = 1000

/** Milliseconds after which a log that is behind is read again. */
const BEHIND = 25

/**
 * Where events come from.
 *
 * @category models
 */
export interface Source {
  readonly runId: RunId
  readonly read: (options: RunLog.ReadOptions) => Effect.Effect<ReadonlyArray<AgentEvent>, RunError>
  /** The run, if it goes on in this process. */
  readonly live: LiveRun | undefined
  /** Whether the record says that the run has ended. */
  readonly hasEnded: Effect.Effect<boolean, RunError>
  /** Waits before the log is read again. */
  readonly pause: Effect.Effect<void>
}

/** What was read at once. */
export interface Read {
  readonly events: ReadonlyArray<AgentEvent>
  readonly isLast: boolean
}

/** Whether the last event of a run is the last of these. */
export const endsWithLast = (events: ReadonlyArray<AgentEvent>): boolean => {
  const last = events.at(-1)
  return last !== undefined && AgentEvents.isTerminal(last)
}

/** The events from a number on, once there are some. */
type Next = (from: number) => Effect.Effect<Read, RunError>

/**
 * Of a run that goes on here. Its last event is held back until the record has the last state, also where the log has
 * it before.
 */
const nextLive = ({ read }: Source, live: LiveRun): Next => {
  const rest = (from: number): Effect.Effect<Read, RunError> =>
    Effect.map(read({ from, limit: PAGE }), (events) => {
      const { last } = live
      if (events.length > 0) return { events, isLast: endsWithLast(events) }
      // The log may have failed, or keep nothing.
      return { events: last !== undefined && last.seq >= from ? [last] : [], isLast: true }
    })
  const next: Next = (from) =>
    Effect.suspend(() => {
      const kept = live.from(from)
      if (kept !== undefined) {
        if (kept.length > 0) return Effect.succeed({ events: kept, isLast: false })
        return live.hasEnded ? rest(from) : Effect.zipRight(live.changed(from), next(from))
      }
      if (live.hasEnded) return rest(from)
      return Effect.flatMap(read({ from, limit: PAGE }), (logged) => {
        const events = endsWithLast(logged) ? logged.slice(0, -1) : logged
        if (events.length > 0) return Effect.succeed({ events, isLast: false })
        // Only deltas are between the reader and what is kept, or the log is behind.
        return live.isLogged(from)
          ? Effect.zipRight(Effect.timeoutOption(Deferred.await(live.ended), BEHIND), next(from))
          : next(live.begin)
      })
    })
  return next
}

/** Of a run that ended, or goes on in another process. */
const nextLogged = ({ hasEnded, pause, read }: Source): Next => {
  const next: Next = (from) =>
    Effect.flatMap(read({ from, limit: PAGE }), (events) => {
      if (events.length > 0) return Effect.succeed({ events, isLast: endsWithLast(events) })
      return Effect.flatMap(hasEnded, (hasEnded) =>
        hasEnded
          ? // What was written between the two.
            Effect.map(read({ from, limit: PAGE }), (events) => ({
              events,
              isLast: events.length === 0 || endsWithLast(events)
            }))
          : Effect.zipRight(pause, next(from))
      )
    })
  return next
}

/**
 * Each event once, from a number on.
 *
 * @category constructors
 */
export const stream = (source: Source, from: number): Stream.Stream<AgentEvent, RunError> => {
  const { live } = source
  const begin = Effect.sync(() => {
    const texts = new WholeTexts(from)
    return { at: from, isOver: false, page: (events: ReadonlyArray<AgentEvent>) => texts.page(events) }
  })
  type State = Effect.Effect.Success<typeof begin>
  const given = (state: State, events: ReadonlyArray<AgentEvent>): ReadonlyArray<AgentEvent> => {
    state.at = (events.at(-1)?.seq ?? state.at - 1) + 1
    return state.page(events)
  }
  const next = live === undefined ? nextLogged(source) : nextLive(source, live)
  const pullOf = (state: State): Pulls.Pull<AgentEvent, RunError> =>
    Effect.suspend(() =>
      state.isOver
        ? Effect.succeed(undefined)
        : Effect.map(next(state.at), ({ events, isLast }) => {
            state.isOver = isLast
            return given(state, events)
          })
    )
  const drive = (take: Pulls.Take<AgentEvent>): Effect.Effect<void, RunError> =>
    Effect.flatMap(begin, (state) => {
      const behind: Effect.Effect<void, RunError> = Effect.flatMap(pullOf(state), (events) =>
        events === undefined ? Effect.void : Effect.zipRight(take(events) ?? Effect.void, ahead)
      )
      const ahead: Effect.Effect<void, RunError> =
        live === undefined
          ? behind
          : Effect.suspend(() => live.follow(state.at, (events) => take(given(state, events)), behind))
      return ahead
    })
  return Pulls.make({ acquire: begin, pull: pullOf, drive })
}
