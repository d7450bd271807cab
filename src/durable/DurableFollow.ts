/**
 * The events of a durable run as a stream: those of its log, then those that follow, across sleep and restarts.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RunError } from "../agent/record/RunError.js"
import { endsWithLast, type Read } from "../agent/runs/RunFollow.js"
import type { AgentEvent } from "../domain/AgentEvent.js"
import { WholeTexts } from "../observability/log/WholeTexts.js"
import type * as RunLog from "../observability/RunLog.js"

/** Events that are read at once. */
const PAGE = 1000

/**
 * @category models
 */
export interface Source {
  readonly read: (
    options: RunLog.ReadOptions & { readonly from: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<AgentEvent>, RunError>
  /** Whether the record says that the run has ended. */
  readonly hasEnded: Effect.Effect<boolean, RunError>
  /** Waits for a change, or for the time after which another process may have made one. */
  readonly pause: Effect.Effect<void>
}

/** The events from a number on, once there are some. The last one is held back until the record has the last state. */
const next = (source: Source, from: number): Effect.Effect<Read, RunError> =>
  Effect.flatMap(source.read({ from, limit: PAGE }), (events): Effect.Effect<Read, RunError> => {
    const isLast = endsWithLast(events)
    if (!isLast && events.length > 0) return Effect.succeed({ events, isLast })
    return Effect.flatMap(source.hasEnded, (hasEnded): Effect.Effect<Read, RunError> => {
      if (isLast && hasEnded) return Effect.succeed({ events, isLast })
      if (isLast && events.length > 1) return Effect.succeed({ events: events.slice(0, -1), isLast: false })
      if (!hasEnded) return Effect.zipRight(source.pause, next(source, from))
      // What was written between the two, also where an attempt of this process, which another one overtook, does not
      // know of it. The log may have failed, or keep nothing.
      return Effect.map(source.read({ from, limit: PAGE, written: true }), (rest) => ({
        events: rest,
        isLast: rest.length === 0 || endsWithLast(rest)
      }))
    })
  })

/**
 * Each event once, from a number on.
 *
 * @category constructors
 */
export const stream = (source: Source, from: number): Stream.Stream<AgentEvent, RunError> =>
  Stream.suspend(() => {
    const texts = new WholeTexts(from)
    return Stream.paginateChunkEffect(from, (from) =>
      Effect.map(next(source, from), ({ events, isLast }) => {
        const last = events.at(-1)
        return [
          Chunk.unsafeFromArray(texts.page(events)),
          isLast ? Option.none() : Option.some(last === undefined ? from : last.seq + 1)
        ]
      })
    )
  })
