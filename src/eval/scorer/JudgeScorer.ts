/**
 * A model as judge: it scores outputs by a rubric (Zheng et al. 2023, "Judging LLM-as-a-Judge").
 *
 * A judge has opinions of its own. Compare its scores with those of people (`Agreement`) before you rely on them.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as LlmClient from "../../llm/model/LlmClient.js"
import * as ReplyForm from "../../strategy/definition/ReplyForm.js"
import * as JudgeCall from "./JudgeCall.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * What is judged: in words, or in words with its weight, a number above 0 that is 1 by default.
 *
 * @since 0.1.0
 * @category models
 */
export type Criterion = string | { readonly description: string; readonly weight?: number | undefined }

/**
 * Whole numbers from `min` to `max`, of which `max` is best, and what some of them stand for.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scale {
  readonly min: number
  readonly max: number
  readonly levels?: { readonly [level: number]: string } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in Input = any, in Output = any, in Expected = any> extends JudgeCall.Options {
  /** The name of the scorer; `judge` by default. */
  readonly name?: string | undefined
  /** One criterion in words, or several by their names: 1 to 64 letters, digits, `_` and `-`. */
  readonly criteria: string | { readonly [name: string]: Criterion }
  /** From 1 to 5 by default. The score is where a level lies between both ends, from 0 to 1. */
  readonly scale?: Scale | undefined
  /**
   * What the judge sees, by names; texts or plain data. Default: the input, the output, and as `reference` what was
   * expected. What is `undefined` is left out.
   */
  readonly material?: ((subject: Scorer.Subject<Input, Output, Expected>) => JudgeCall.Material) | undefined
}

/**
 * The prompt of the judge, with the variables `rubric` and `material`: for a `PromptLibrary` that replaces it.
 *
 * @since 0.1.0
 * @category constants
 */
export const prompt: JudgeCall.Step = JudgeCall.step("Score", {
  role: "You judge the output of a program. You score it by each criterion of a rubric, as an expert who is strict and fair would. You do not improve the output.",
  process: [
    "Read the rubric: the criteria, and the scale with what its levels stand for.",
    "Read the material between the lines with the mark. `input` is what the program was asked, `output` is what you judge, and `reference`, if there is one, is a good output: another one may be as good.",
    "For each criterion find what in the output speaks for it and against it, then choose the level that fits best."
  ]
})

interface Weighted {
  readonly name: string
  readonly description: string
  readonly weight: number
}

/** A criterion without a name. */
const only = "score"

const isName = /^[A-Za-z0-9_-]{1,64}$/

const criteriaOf = (criteria: Options["criteria"]): ReadonlyArray<Weighted> => {
  const given = typeof criteria === "string" ? { [only]: criteria } : criteria
  const weighted = Object.entries(given).map(([name, criterion]) =>
    typeof criterion === "string"
      ? { name, description: criterion, weight: 1 }
      : { name, description: criterion.description, weight: criterion.weight ?? 1 }
  )
  if (weighted.length === 0) throw new TypeError("JudgeScorer: give at least one criterion")
  for (const { name, weight } of weighted) {
    if (!isName.test(name) || name === "__proto__") {
      throw new TypeError(
        `JudgeScorer: ${JSON.stringify(name.slice(0, 64))} is no name of a criterion: 1 to 64 letters, digits, _ and -`
      )
    }
    if (!(weight > 0 && weight <= 1e6)) {
      throw new TypeError(`JudgeScorer: the weight of ${name} is ${weight}: give a number above 0, at most 1,000,000`)
    }
  }
  return weighted
}

const mostLevels = 1000

const checkScale = ({ max, min }: Scale): void => {
  if (!(Number.isSafeInteger(min) && Number.isSafeInteger(max) && min < max && max - min <= mostLevels)) {
    throw new TypeError(
      `JudgeScorer: the scale is from ${min} to ${max}: give whole numbers, the lower one first, at most ${mostLevels} apart`
    )
  }
}

const rubricOf = (criteria: ReadonlyArray<Weighted>, { levels = {}, max, min }: Scale): string =>
  [
    ...criteria.map(({ description, name }) => `- ${name}: ${description}`),
    "",
    `Scale: whole numbers from ${min} (worst) to ${max} (best).`,
    ...Object.entries(levels).map(([level, words]) => `- ${level}: ${words}`)
  ].join("\n")

const formOf = (criteria: ReadonlyArray<Weighted>, { max, min }: Scale) => {
  const level = Schema.Int.pipe(Schema.between(min, max))
  return ReplyForm.make({
    name: "verdict",
    schema: Schema.Struct({
      reason: Schema.String,
      scores: Schema.Struct(Object.fromEntries(criteria.map(({ name }) => [name, level])))
    })
  })
}

/** Longer reasons are cut. */
const mostReason = 2000

const materialOf = ({ expected, input, output }: Scorer.Subject): JudgeCall.Material => ({
  input,
  output,
  reference: expected
})

/**
 * Judges with this client.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = <Input = unknown, Output = unknown, Expected = unknown>(
  client: LlmClient.Service,
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected> => fromClient(Effect.succeed(client), options)

/**
 * Judges with the client in context, which may be another one than that of the task.
 *
 * The judge gives its reasons, then a level for each criterion; the score is the weighted mean of the levels, on a
 * scale from 0 to 1. What is judged stands between lines with a mark that it cannot contain. A verdict that cannot be
 * read is asked for again. `usage` and `costUsd` of the score are those of the judge; an error of the model fails the
 * scorer. Criteria and scales that are no such throw a `TypeError`, because scorers are constants.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { JudgeScorer } from "effect-lexigram/eval"
 *
 * const judge = JudgeScorer.make({
 *   criteria: {
 *     correct: { description: "The answer agrees with the reference.", weight: 2 },
 *     polite: "The answer is polite."
 *   },
 *   scale: { min: 1, max: 3, levels: { 1: "not at all", 2: "in part", 3: "fully" } }
 * })
 * ```
 */
export const make = <Input = unknown, Output = unknown, Expected = unknown>(
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected, LlmClient.LlmClient> => fromClient(LlmClient.LlmClient, options)

const fromClient = <Input, Output, Expected, R>(
  client: Effect.Effect<LlmClient.Service, never, R>,
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected, R> => {
  const { criteria: given, material = materialOf, name = "judge", scale = { min: 1, max: 5 } } = options
  checkScale(scale)
  const criteria = criteriaOf(given)
  const question = { step: prompt, rubric: rubricOf(criteria, scale), form: formOf(criteria, scale) }
  const weights = criteria.reduce((sum, { weight }) => sum + weight, 0)
  return Scorer.makeEffect(name, (subject) =>
    Effect.gen(function* () {
      const { costUsd, usage, value } = yield* JudgeCall.ask(
        yield* client,
        question,
        yield* SubjectText.attempt(() => material(subject)),
        options
      )
      const { reason, scores } = value
      const shares = criteria.map(
        ({ name, weight }) => (weight * ((scores[name] ?? scale.min) - scale.min)) / (scale.max - scale.min)
      )
      const levels = criteria.map(({ name }) => `${name} ${scores[name]}/${scale.max}`).join(", ")
      return {
        value: Math.min(1, shares.reduce((sum, share) => sum + share, 0) / weights),
        reason: `${levels}: ${reason.slice(0, mostReason)}`,
        usage,
        costUsd
      }
    })
  )
}
