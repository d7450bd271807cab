/**
 * Errors of plans.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Reached } from "../domain/AgentResponse.js"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * One issue of a plan.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PlanIssue = Schema.Struct({
  reason: Schema.Literal("empty", "malformed", "duplicate", "unknown-tool", "missing-reference", "cycle", "too-long"),
  /** The id of the task with the issue, as the plan names it. */
  task: Schema.optional(Schema.String),
  message: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface PlanIssue extends Schema.Schema.Type<typeof PlanIssue> {}

/**
 * A plan that cannot be carried out. If it was read as a whole, nothing was begun; if it was carried out while it was
 * written, calls before the fault may have run.
 *
 * @since 0.1.0
 * @category errors
 */
export class PlanError extends ErrorCode.TaggedError<PlanError>("effect-lexigram/plan/PlanError/PlanError")(
  "PlanError",
  {
    ...ErrorCode.fields("LEX_ERR_AGT_108"),
    strategyName: Schema.String,
    partial: Schema.optional(Reached),
    issues: Schema.NonEmptyArray(PlanIssue)
  }
) {}
