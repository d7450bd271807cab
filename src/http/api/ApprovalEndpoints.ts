/**
 * Requests that wait for a person, over HTTP.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Runs from "../../agent/runs/Runs.js"
import * as PublicView from "../../domain/PublicView.js"
import * as ApprovalGate from "../../tool/approval/ApprovalGate.js"
import type { ApprovalRecord } from "../../tool/approval/ApprovalStore.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import { AgentApi } from "./AgentApi.js"
import { ApiError } from "./ApiError.js"
import * as ApiModels from "./ApiModels.js"
import { accessOf, Caller, type Identity } from "./Authentication.js"
import * as Refusals from "./Refusals.js"

/**
 * The decision of a caller about a request.
 *
 * @category conversions
 */
export const decisionOf = (
  { decision, params, reason }: ApiModels.Decision,
  { request }: ApprovalRecord
): ApprovalGate.ApprovalDecision =>
  decision === "deny"
    ? ApprovalGate.deny({ reason })
    : ApprovalGate.approve({ params: params === undefined ? undefined : PublicView.restored(params, request.params) })

/**
 * What the endpoints do, for requests of the caller alone.
 *
 * @category constructors
 */
export const make = (pending: PendingApprovals.Service, runs: Runs.Service) => {
  const find = (id: string, caller: Identity): Effect.Effect<ApprovalRecord, ApiError> =>
    Effect.flatMap(
      Effect.catchAll(pending.get(id, accessOf(caller)), Refusals.fromApproval),
      Option.match({
        onNone: () => new ApiError({ reason: "unknown", message: "No request of yours has this id" }),
        onSome: Effect.succeed
      })
    )
  return {
    list: (filter: Omit<PendingApprovals.Filter, "userId">, caller: Identity) =>
      Effect.map(Effect.catchAll(pending.list({ ...filter, ...accessOf(caller) }), Refusals.fromApproval), (records) =>
        records.map(ApiModels.fromApproval)
      ),
    get: (id: string, caller: Identity) => Effect.map(find(id, caller), ApiModels.fromApproval),
    decide: (id: string, decision: ApiModels.Decision, caller: Identity): Effect.Effect<void, ApiError> =>
      Effect.flatMap(find(id, caller), (record) =>
        Effect.asVoid(
          Refusals.ofRun(
            runs.answer(id, decisionOf(decision, record), {
              ...accessOf(caller),
              ...(decision.remember === undefined ? {} : { remember: decision.remember }),
              ...(caller.userId === undefined ? {} : { by: caller.userId })
            })
          )
        )
      )
  }
}

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(AgentApi, "approvals", (handlers) =>
  Effect.map(Effect.all([PendingApprovals.PendingApprovals, Runs.Runs]), ([pending, runs]) => {
    const all = make(pending, runs)
    return handlers
      .handle("listApprovals", ({ urlParams }) =>
        Effect.flatMap(Caller, (caller) => Effect.map(all.list(urlParams, caller), (approvals) => ({ approvals })))
      )
      .handle("getApproval", ({ path }) => Effect.flatMap(Caller, (caller) => all.get(path.requestId, caller)))
      .handle("decideApproval", ({ path, payload }) =>
        Effect.flatMap(Caller, (caller) => all.decide(path.requestId, payload, caller))
      )
  })
)
