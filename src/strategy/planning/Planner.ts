/**
 * A custom planner in place of the model: rules, a solver, a recorded plan.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as PlanText from "../../plan/PlanText.js"
import type { Task } from "../definition/Strategy.js"
import { PlanError } from "../definition/StrategyError.js"

/**
 * A step of a plan. A step with a tool is a call of it; without `arguments` the model writes them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly description: string
  readonly tool?: string | undefined
  /** JSON that fits the parameters of the tool. */
  readonly arguments?: unknown
}

/**
 * A completed step.
 *
 * @since 0.1.0
 * @category models
 */
export interface Completed {
  readonly id: string
  readonly description: string
  readonly result: string
}

/**
 * A failed step.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failed {
  readonly id: string
  readonly description: string
  readonly error: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Context {
  readonly task: Task
  readonly completed: ReadonlyArray<Completed>
  /** The failed step that requires a new plan; absent for the first plan. */
  readonly failed?: Failed | undefined
}

/**
 * `plan` returns the remaining steps. A text may begin with a tag: `[TOOL:name] …`, `[REASON] …`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Planner<out E = never, out R = never> {
  readonly plan: (goal: string, context: Context) => Effect.Effect<ReadonlyArray<string | Step>, E, R>
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Planner } from "effect-lexigram/strategy"
 *
 * const fixed = Planner.make((goal) => Effect.succeed([`[TOOL:search] ${goal}`, "[REASON] Sum up what was found"]))
 * ```
 */
export const make = <E = never, R = never>(plan: Planner<E, R>["plan"]): Planner<E, R> => ({ plan })

const stepOf = (given: string | Step): Step | undefined => {
  if (typeof given !== "string") return given.description.trim() === "" ? undefined : given
  const read = PlanText.step("", given)
  return read === undefined
    ? undefined
    : { description: read.description, ...(read.tool === undefined ? {} : { tool: read.tool }) }
}

/**
 * Runs a planner and reads the texts of its plan. A first plan without steps, or a step without text, is a `PlanError`;
 * a later plan may be empty.
 *
 * @since 0.1.0
 * @category conversions
 */
export const run = <E, R>(
  planner: Planner<E, R>,
  strategyName: string,
  context: Context
): Effect.Effect<ReadonlyArray<Step>, E | PlanError, R> =>
  Effect.flatMap(planner.plan(context.task.input, context), (given) => {
    const steps: Array<Step> = []
    for (const one of given) {
      const step = stepOf(one)
      if (step !== undefined) steps.push(step)
    }
    if (steps.length === given.length && (steps.length > 0 || context.failed !== undefined)) {
      return Effect.succeed(steps)
    }
    const message = given.length === 0 ? "it has no steps" : "a step of it says nothing"
    return new PlanError({
      strategyName,
      issues: [{ reason: given.length === 0 ? "empty" : "malformed", message }],
      message: `The plan cannot be executed: ${message}`,
      hint: "The planner must return at least one step, each with a description"
    })
  })
