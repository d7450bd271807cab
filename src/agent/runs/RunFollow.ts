/**
 * The events of a run as a stream: those of its log, then those that follow.
 *
 * @private
 * @since 0.1.0
 */
import * as Channel from "effect/Channel"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
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
  const open = Effect.sync((): Pulls.Pull<AgentEvent, RunError> => {
    const texts = new WholeTexts(from)
    const next = source.live === undefined ? nextLogged(source) : nextLive(source, source.live)
    let at = from
    let isOver = false
    return Effect.suspend(() =>
      isOver
        ? Effect.succeed(undefined)
        : Effect.map(next(at), ({ events, isLast }) => {
            isOver = isLast
            at = (events.at(-1)?.seq ?? at - 1) + 1
            return texts.page(events)
          })
    )
  })
  return Pulls.make(
    Stream.unwrap(
      Effect.map(open, (pull) => {
        const channel: Channel.Channel<Chunk.Chunk<AgentEvent>, unknown, RunError> = Channel.flatMap(
          Channel.fromEffect(pull),
          (events) =>
            events === undefined
              ? Channel.void
              : Channel.flatMap(Channel.write(Chunk.unsafeFromArray(events)), () => channel)
        )
        return Stream.fromChannel(channel)
      })
    ),
    open
  )
}
