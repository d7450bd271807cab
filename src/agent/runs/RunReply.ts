/**
 * The response of a run, from the events of the log.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as AgentResponse from "../../domain/AgentResponse.js"
import type { RunId } from "../../domain/Ids.js"
import type * as RunLog from "../../observability/RunLog.js"
import type { RunError } from "../record/RunError.js"

/** Events that are read from the log at once. */
const PAGE = 1000

/**
 * @category models
 */
export type Read = (runId: RunId, options: RunLog.ReadOptions) => Effect.Effect<ReadonlyArray<AgentEvent>, RunError>

/**
 * Folds a run, and of its inner runs the costs. `undefined` if the log has no events of it.
 *
 * @category constructors
 */
export const make = (
  read: Read,
  runId: RunId
): Effect.Effect<AgentResponse.AgentResponse<unknown> | undefined, RunError> =>
  Effect.gen(function* () {
    const fold = AgentResponse.fold()
    const runs = new Set([runId])
    let isKnown = false
    for (const run of runs) {
      for (let from = 0; ; ) {
        const events = yield* read(run, { from, limit: PAGE })
        for (const event of events) {
          isKnown = true
          fold.push(event)
          if (event._tag === "Delegated") runs.add(event.childRunId)
        }
        const last = events.at(-1)
        if (last === undefined || events.length < PAGE) break
        from = last.seq + 1
      }
      if (!isKnown) return undefined
    }
    return fold.response()
  })
