/**
 * The options of Reflexion and the state of its graph.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Evaluator from "../definition/Evaluator.js"
import type * as Strategy from "../definition/Strategy.js"
import * as ReflexionActor from "./ReflexionActor.js"
import type * as ReflexionCritique from "./ReflexionCritique.js"

/**
 * `EI` and `RI` are those of `inner`, `EV` and `RV` those of `evaluator`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<out EI = never, out RI = never, out EV = never, out RV = never>
  extends ReflexionCritique.Options<EI, RI> {
  /** `trials` (default), or `critique`: generate, criticize, refine. */
  readonly form?: "trials" | "critique" | undefined
  /** Maximum number of trials; default 3. */
  readonly maxTrials?: number | undefined
  /**
   * Maximum number of reflections shown to a trial, the latest ones; default 3. With 0 there are no reflections: plain
   * retries.
   */
  readonly memorySize?: number | undefined
  /** Maximum characters kept of a reflection; default 4,000. */
  readonly reflectionMaxChars?: number | undefined
  /** Maximum characters of a strategy's trajectory shown to its reflection; default 8,000. */
  readonly trajectoryMaxChars?: number | undefined
  /** Judges the trials. Default: the provided `Evaluator.Evaluator`, else a model. */
  readonly evaluator?: Evaluator.Service<EV, RV> | undefined
  /**
   * In the trials form: runs each trial, with the reflections in its system prompt. Without it, a task with tools is
   * tried by `FunctionCalling`, and one without tools by a plan and its execution. In the critique form: writes the
   * first text.
   */
  readonly inner?: Strategy.Strategy<EI, RI> | undefined
  /**
   * In the critique form: maximum number of rounds; default 3. The limit of a trial's own run is that of its strategy.
   */
  readonly maxIterations?: number | undefined
  /**
   * If no trial succeeds: answer with the last answer of a trial, marked `limit` (default, as in the paper), or fail.
   * Trials without any answer fail in either case. In the critique form: the same if the critic never accepts.
   */
  readonly onLimit?: "answer" | "fail" | undefined
}

/**
 * The state of a run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  /** The trial, from 1; 0 before the first. */
  trial: Schema.Number,
  /** Reflections, the oldest first. */
  memory: Schema.Array(Schema.String),
  /** The plan of the trial; for a strategy's run, its trajectory. */
  plan: Schema.String,
  /** The outcome of the trial. */
  outcome: Schema.String,
  /** Why there is nothing to judge; empty otherwise. */
  failure: Schema.String,
  verdict: Schema.optional(Evaluator.Verdict),
  reflection: Schema.String,
  /** The last answer of a trial. */
  last: Schema.optional(ReflexionActor.Answered),
  answer: Schema.optional(ReflexionActor.Answered)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface State extends Schema.Schema.Type<typeof State> {}
