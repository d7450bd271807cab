/**
 * Whether an answer solves its task: by a model, by a check of one's own, or against a key. The verdict is a value,
 * never a guess from the words of a text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ReflexionPrompts from "../../prompt/defaults/ReflexionPrompts.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "./Reasoning.js"
import * as ReplyForm from "./ReplyForm.js"
import type { Answer, Task } from "./Strategy.js"
import type { StrategyReplyError } from "./StrategyError.js"

/**
 * A judgement. `score` runs from 0 to 1; `reason` is what a reflection on a failure works with.
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
 * What judges. `E` and `R` reach the type of the strategy it is given to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service<out E = never, out R = never> {
  readonly name: string
  /** Judges one answer. A verdict that cannot be had is a failure, never a success. */
  readonly evaluate: (
    task: Task,
    answer: Answer
  ) => Effect.Effect<Verdict, E | LlmError | Fatality | StrategyReplyError, R | Reasoning.Reasoning>
}

const tokenLine = /^[*_`]{0,3}(SUCCESS|FAILURE)[*_`]{0,3}:[*_`]{0,3}[ \t]*([\s\S]*)/
const scoreLine = /^[*_`]{0,3}SCORE:[*_`]{0,3}[ \t]*([0-9.]{1,8})[*_`]{0,3}[ \t]*$/m

const readText = (text: string): Either.Either<Verdict, string> => {
  const match = tokenLine.exec(text.trim())
  if (match === null) return Either.left("the first line begins neither with SUCCESS: nor with FAILURE:")
  const rest = match[2] ?? ""
  const scored = scoreLine.exec(rest)
  const score = scored === null ? Number.NaN : Number(scored[1])
  const reason = scored === null ? rest : rest.slice(0, scored.index) + rest.slice(scored.index + scored[0].length)
  return Either.right({
    success: match[1] === "SUCCESS",
    ...(score >= 0 && score <= 1 ? { score } : {}),
    reason: reason.trim()
  })
}

/**
 * The reply to the Evaluate step: JSON, or text whose first line begins with `SUCCESS:` or `FAILURE:`. Words further on
 * decide nothing.
 *
 * @since 0.1.0
 * @category conversions
 */
export const reply: ReplyForm.ReplyForm<Verdict> = ReplyForm.make({ name: "verdict", schema: Verdict, text: readText })

const shown = (text: string): string => (text.trim() === "" ? "(nothing)" : text)

/**
 * Asks a model, by the step `ReflexionAgent/Evaluate`: one call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const model: Service = {
  name: "model",
  evaluate: (task, answer) =>
    Effect.gen(function* () {
      const reasoning = yield* Reasoning.Reasoning
      const { value } = yield* reasoning.askFor(
        ReflexionPrompts.Evaluate,
        { task: task.input, outcome: shown(answer.text) },
        reply
      )
      return value
    })
}

/**
 * A check of one's own: tests that are run, a look-up, a rule. Its failures are those of the strategy. No model call.
 * Scores outside of 0 to 1 are brought to the nearer end.
 *
 * @since 0.1.0
 * @category constructors
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
// Articles as whole words, whatever alphabet stands beside them.
const articles = /(?<![\p{L}\p{N}])(?:a|an|the)(?![\p{L}\p{N}])/gu

/**
 * Text as HotpotQA and SQuAD compare it: lower case, without ASCII punctuation and the articles a, an, the, single
 * spaces.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalize = (text: string): string =>
  text.toLowerCase().replace(punctuation, "").replace(articles, " ").replace(/\s+/g, " ").trim()

/**
 * A success when the answer is one of the keys, both normalized. The key is not in the verdict: a reflection must not
 * learn it. The whole text is compared: where a task asks for an output of a shape that is its JSON, so use `check`
 * there.
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
 * The evaluator of strategies that were not given one; a model where none was provided.
 *
 * @since 0.1.0
 * @category tags
 */
export class Evaluator extends Ambient.Reference<Evaluator>()("effect-lexigram/strategy/Evaluator", {
  defaultValue: (): Service => model
}) {}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (evaluator: Service): Layer.Layer<never> => Layer.succeed(Evaluator, evaluator)
