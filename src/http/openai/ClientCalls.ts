/**
 * The results of calls of the tools that a request brings: a call's id is that of the request that waits for its
 * result.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { ApiError } from "../api/ApiError.js"
import * as Refusals from "../api/Refusals.js"
import * as CallerTools from "../chat/CallerTools.js"
import { refused } from "./OpenAiFailures.js"

/**
 * What a client says that a call gave.
 *
 * @category models
 */
export interface CallResult {
  readonly id: string
  readonly result: string
}

const again = "Ask again without the call and its result"

/**
 * @category models
 */
export interface Answered {
  readonly record: RunRecord
  /** The requests of the run that were answered. */
  readonly requests: ReadonlySet<string>
}

/**
 * Gives results to the run that waits for them. A repeated request finds its results there.
 *
 * @category constructors
 */
export const answer = (
  runs: Runs.Service,
  pending: PendingApprovals.Service,
  access: Runs.Access,
  agent: string,
  results: ReadonlyArray<CallResult>,
  place: "input" | "messages"
): Effect.Effect<Answered, ApiError> =>
  Effect.gen(function* () {
    const unknownCall = refused([place], "invalid_request", "No call of yours waits with this id", again)
    const found: Array<ApprovalRecord> = []
    for (const { id } of results) {
      const call = Option.getOrUndefined(yield* Effect.catchAll(pending.get(id, access), Refusals.fromApproval))
      if (call === undefined || !CallerTools.isClientCall(call) || call.request.agent !== agent)
        return yield* unknownCall
      if (call.request.runId !== (found[0] ?? call).request.runId) {
        return yield* refused([place], "invalid_request", "The results are of calls of different runs")
      }
      found.push(call)
    }
    const [first] = found
    if (first === undefined) return yield* unknownCall
    const run = yield* Refusals.ofRun(runs.poll(first.request.runId, access))
    if (Option.isNone(run)) return yield* unknownCall
    for (const [at, call] of found.entries()) {
      const { request, settlement } = call
      const decision = CallerTools.toDecision(results[at]?.result ?? "")
      if (settlement === undefined) yield* Refusals.ofRun(runs.answer(request.id, decision, access))
      else if (!CallerTools.isDecided(call, decision)) {
        return yield* new ApiError({
          reason: "conflict",
          message: "The call has another result, or its time is over",
          hint: again
        })
      }
    }
    return { record: run.value.record, requests: new Set(found.map(({ request }) => request.id)) }
  })
