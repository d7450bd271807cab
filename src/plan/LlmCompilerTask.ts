/**
 * The tasks of `llm-compiler` plans, and what reading a plan results in.
 *
 * @internal
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type * as PlanArguments from "./PlanArguments.js"
import type { PlanIssue } from "./PlanError.js"

/**
 * One call of a plan.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PlanTask = Schema.Struct({
  /** Its number or name, without `$` or `#`. */
  id: Schema.String,
  tool: Schema.String,
  /** Arguments by position, references as they were written. */
  args: Schema.Array(Schema.Unknown),
  /** Arguments by name. */
  named: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The arguments as the model wrote them. */
  argsRaw: Schema.String,
  /** What the model thought before it; `""` when nothing. */
  thought: Schema.String,
  /** The tasks it waits for, each once: those it refers to and those it names besides; for the join all before it. */
  dependencies: Schema.Array(Schema.String),
  /** How it refers to others: `$1` alone, or `#name` as well. */
  notation: Schema.Literal("$", "$#")
}).annotations({ identifier: "effect-lexigram/strategy/LlmCompilerPlan/PlanTask" })
/**
 * @since 0.1.0
 * @category models
 */
export interface PlanTask extends Schema.Schema.Type<typeof PlanTask> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface LlmCompilerPlan {
  /** In the order of the text, without the join. */
  readonly tasks: ReadonlyArray<PlanTask>
  /** The call of `join`, when the plan has one. Nothing behind it belongs to the plan. */
  readonly join: PlanTask | undefined
}

/**
 * A plan with all that is wrong with it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reading {
  /** The tasks that could be read. */
  readonly plan: LlmCompilerPlan
  /** Empty for a plan that can be carried out. */
  readonly issues: ReadonlyArray<PlanIssue>
  /** Tasks that stand in the text, those that could not be read among them, and the join. */
  readonly written: number
  /** Ids that are referred to, or left out in the numbers before the join, and that no readable task has. */
  readonly missing: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The tools there are: others become an issue, as do more arguments than a tool has parameters. Not given: any tool.
   */
  readonly tools?:
    | ReadonlyArray<{ readonly name: string; readonly parameters?: PlanArguments.Schema | undefined }>
    | undefined
  /** Tasks of one plan at most; default 500. */
  readonly maxTasks?: number | undefined
  /**
   * Tasks of earlier plans of the same run, and whether they have a result to refer to. A plan whose first task has a
   * number of its own goes on from them; one that begins with a number that was taken begins anew and cannot refer to
   * them.
   */
  readonly earlier?: ReadonlyMap<string, boolean> | undefined
}
