/**
 * Judges whether an answer solves its task, by a model, a custom check or an answer key. The verdict is a value; it is
 * never inferred from words in a text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type { Reasoning } from "./Reasoning.js"
import type { Answer, Task } from "./Strategy.js"
import type { StrategyReplyError } from "./StrategyError.js"

/**
 * A verdict. `score` is between 0 and 1; a reflection on a failure uses `reason`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Struct({
  success: Schema.Boolean,
  score: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
  reason: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

/**
 * An evaluator. `E` and `R` become part of the type of the strategy that uses it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service<out E = never, out R = never> {
  readonly name: string
  /** Judges one answer. If there is no verdict, it fails. */
  readonly evaluate: (
    task: Task,
    answer: Answer
  ) => Effect.Effect<Verdict, E | LlmError | Fatality | StrategyReplyError, R | Reasoning>
}

/**
 * An evaluator from a function: a test run, a look-up, a rule. It makes no model call. Its failures are failures of the
 * strategy. Scores are clamped to the range 0 to 1.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Evaluator, Reflexion } from "effect-lexigram/strategy"
 * import * as Effect from "effect/Effect"
 *
 * const cited = Evaluator.check((_task, { text }) =>
 *   Effect.succeed({ success: /\[\d+\]/.test(text), reason: "The answer must cite a source, as [1]" })
 * )
 *
 * const clerk = Agent.make("clerk", { strategy: Reflexion.make({ evaluator: cited }) })
 * ```
 */
export const check = <E = never, R = never>(
  evaluate: (task: Task, answer: Answer) => Effect.Effect<boolean | Verdict, E, R>
): Service<E, R> => ({
  name: "check",
  evaluate: (task, answer) =>
    Effect.map(evaluate(task, answer), (verdict) => {
      if (typeof verdict === "boolean") {
        return { success: verdict, reason: verdict ? "The check passed" : "The check did not pass" }
      }
      const { reason, score, success } = verdict
      return score === undefined || Number.isNaN(score)
        ? { success, reason }
        : { success, score: Math.min(1, Math.max(0, score)), reason }
    })
})

const punctuation = /[!-/:-@[-`{-~]/g
// Articles as whole words, next to letters of any alphabet.
const articles = /(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu

/**
 * Normalizes text as HotpotQA and SQuAD do: lower case, no ASCII punctuation, no articles (a, an, the), single spaces.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalize = (text: string): string =>
  text.toLowerCase().replace(punctuation, "").replace(articles, " ").replace(/\s+/g, " ").trim()

/**
 * Succeeds if the normalized answer equals one of the normalized keys. The verdict does not contain the key, because a
 * reflection must not learn it. The whole text is compared; for a task with an output specification that text is JSON,
 * so use `check` there.
 *
 * @since 0.1.0
 * @category constructors
 */
export const exactMatch = (...keys: readonly [string, ...ReadonlyArray<string>]): Service => {
  const wanted = new Set(keys.map(normalize))
  return {
    name: "exact-match",
    evaluate: (_task, answer) =>
      Effect.sync(() =>
        wanted.has(normalize(answer.text))
          ? { success: true, score: 1, reason: "The answer is correct" }
          : { success: false, score: 0, reason: "The answer is not correct" }
      )
  }
}

/**
 * The evaluator of strategies without one of their own. Without a provided evaluator they ask a model
 * (`ModelEvaluator`).
 *
 * @since 0.1.0
 * @category tags
 */
export class Evaluator extends Ambient.Reference<Evaluator>()("effect-lexigram/strategy/Evaluator", {
  defaultValue: (): Service | undefined => undefined
}) {}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (evaluator: Service): Layer.Layer<never> => Layer.succeed(Evaluator, evaluator)
