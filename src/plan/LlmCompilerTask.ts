/**
 * The tasks of LLMCompiler plans, and the result of reading a plan.
 *
 * @private
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
  /** Positional arguments, with references as they were written. */
  args: Schema.Array(Schema.Unknown),
  /** Named arguments. */
  named: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The arguments as the model wrote them. */
  argsRaw: Schema.String,
  /** The thought before it; `""` if there is none. */
  thought: Schema.String,
  /**
   * The tasks it waits for, each once: those it refers to and those it names in addition; for the join all before it.
   */
  dependencies: Schema.Array(Schema.String),
  /** How it refers to other tasks: `$1` only, or `#name` as well. */
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
  /** The call of `join`, if the plan has one. Nothing after it belongs to the plan. */
  readonly join: PlanTask | undefined
}

/**
 * A plan with its issues.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reading {
  /** The readable tasks. */
  readonly plan: LlmCompilerPlan
  /** Empty for a valid plan. */
  readonly issues: ReadonlyArray<PlanIssue>
  /** The number of tasks in the text, including unreadable ones and the join. */
  readonly written: number
  /** Ids that are referred to, or missing in the numbering before the join, without a readable task. */
  readonly missing: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The available tools. Other tools are an issue, and so are more arguments than a tool has parameters. Default: any
   * tool.
   */
  readonly tools?:
    | ReadonlyArray<{ readonly name: string; readonly parameters?: PlanArguments.Schema | undefined }>
    | undefined
  /** Finds a tool that `tools` does not list. */
  readonly findTool?:
    | ((name: string) => { readonly name: string; readonly parameters?: PlanArguments.Schema | undefined } | undefined)
    | undefined
  /** Maximum number of tasks in one plan; default 500. */
  readonly maxTasks?: number | undefined
  /**
   * Tasks of earlier plans of the same run, and whether they have a result. A plan whose first task has an unused
   * number continues them; a plan that begins with a used number starts over and cannot refer to them.
   */
  readonly earlier?: ReadonlyMap<string, boolean> | undefined
}
