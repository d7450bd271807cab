/**
 * What the people of the shop do. Refunds that wait belong to the customers whose runs asked for them; that somebody of
 * the shop decides them is the one place where the application acts for the system.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ApprovalError, SystemAccess } from "effect-lexigram"
import { type RunError, Runs } from "effect-lexigram/agent"
import { PendingApprovals } from "effect-lexigram/tool"

export interface Waiting {
  readonly id: string
  readonly customer: string | undefined
  readonly tool: string
  readonly params: unknown
}

export interface Service {
  /** The oldest first. */
  readonly waiting: Effect.Effect<ReadonlyArray<Waiting>, ApprovalError.ApprovalError>
  readonly approve: (id: string, by: string) => Effect.Effect<void, RunError.RunError>
  readonly deny: (id: string, by: string, reason: string) => Effect.Effect<void, RunError.RunError>
}

export class Staff extends Context.Tag("support-desk/Staff")<Staff, Service>() {}

export const layer = Layer.effect(
  Staff,
  Effect.gen(function* () {
    const approvals = yield* PendingApprovals.PendingApprovals
    const runs = yield* Runs.Runs
    return {
      waiting: Effect.map(SystemAccess.grant(approvals.list()), (records) =>
        records.map(({ request: { id, params, tool, userId } }) => ({ id, customer: userId, tool, params }))
      ),
      approve: (id, by) => SystemAccess.grant(runs.answer(id, { _tag: "Approved" }, { by })),
      deny: (id, by, reason) => SystemAccess.grant(runs.answer(id, { _tag: "Denied", reason }, { by }))
    }
  })
)
