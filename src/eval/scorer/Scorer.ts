/**
 * Scorers: what says how good an output is.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as AgentResponse from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Usage from "../../domain/Usage.js"

/**
 * What a task gave for a case, beside the case's input and what was expected of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Subject<out Input = unknown, out Output = unknown, out Expected = unknown> {
  readonly input: Input
  readonly output: Output
  readonly expected: Expected
  /** The run that gave the output, if the task was an agent. */
  readonly response: AgentResponse.AgentResponse<unknown> | undefined
}

/**
 * How good an output is: from 0 to 1, and 1 is best.
 *
 * @since 0.1.0
 * @category models
 */
export interface Score {
  readonly value: number
  /** Why, in words. */
  readonly reason?: string | undefined
  /** What the scoring itself took, if it asked models. */
  readonly usage?: Usage.Usage | undefined
  readonly costUsd?: number | undefined
}

/**
 * A scorer could not score: an output or a case of another shape, a judge that gave no verdict. `scorer` is its name.
 *
 * @since 0.1.0
 * @category errors
 */
export class ScorerError extends ErrorCode.TaggedError<ScorerError>("effect-lexigram/eval/Scorer/ScorerError")(
  "ScorerError",
  { ...ErrorCode.fields("LEX_ERR_EVAL_104"), scorer: Schema.String }
) {}

/**
 * The failure of a scorer, by its name and the reason. For own scorers that say more than `make` does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noScore = (
  scorer: string,
  reason: string,
  more: { readonly hint?: string; readonly cause?: unknown } = {}
): ScorerError => new ScorerError({ scorer, message: `${scorer} gave no score: ${reason}`, ...more })

/**
 * Scores outputs. Names of scorers of one experiment are unique.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scorer<in Input = any, in Output = any, in Expected = any, out R = never> {
  readonly name: string
  readonly score: (subject: Subject<Input, Output, Expected>) => Effect.Effect<Score, ScorerError, R>
}

/**
 * What a scorer, or each of a union of scorers, requires.
 *
 * @since 0.1.0
 * @category models
 */
export type Context<S> = S extends Scorer<any, any, any, infer R> ? R : never

/**
 * A scorer of what all of a union of scorers take, which requires what they require.
 *
 * @since 0.1.0
 * @category models
 */
export type Combined<S> = [S] extends [Scorer<infer Input, infer Output, infer Expected, any>]
  ? Scorer<Input, Output, Expected, Context<S>>
  : never

/**
 * A scorer of a function: true is 1, false is 0, and a number is the score.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Scorer } from "effect-lexigram/eval"
 *
 * const short = Scorer.make("short", ({ output }: Scorer.Subject<string, string>) => output.length <= 200)
 * ```
 */
export const make = <Input, Output, Expected>(
  name: string,
  score: (subject: Subject<Input, Output, Expected>) => boolean | number | Score
): Scorer<Input, Output, Expected> => ({
  name,
  score: (subject) =>
    Effect.try({
      try: () => toScore(score(subject)),
      catch: (cause) => noScore(name, `it threw: ${reasonOf(cause)}`, { cause })
    }).pipe(Effect.flatMap((score) => checked(name, score)))
})

/**
 * A scorer of an effect.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeEffect = <Input, Output, Expected, E, R>(
  name: string,
  score: (subject: Subject<Input, Output, Expected>) => Effect.Effect<boolean | number | Score, E, R>
): Scorer<Input, Output, Expected, R> => ({
  name,
  score: (subject) =>
    score(subject).pipe(
      Effect.mapError((cause) => (cause instanceof ScorerError ? cause : noScore(name, reasonOf(cause), { cause }))),
      Effect.flatMap((score) => checked(name, toScore(score)))
    )
})

const toScore = (score: boolean | number | Score): Score =>
  typeof score === "object" ? score : { value: Number(score) }

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const checked = (scorer: string, score: Score): Effect.Effect<Score, ScorerError> =>
  score.value >= 0 && score.value <= 1
    ? Effect.succeed(score)
    : Effect.fail(
        noScore(scorer, `its score is ${score.value}, which is not from 0 to 1`, {
          hint: "Divide the score by the largest one that the scorer can give"
        })
      )

/**
 * The scorer under another name.
 *
 * @since 0.1.0
 * @category combinators
 */
export const named: {
  (name: string): <I, O, X, R>(self: Scorer<I, O, X, R>) => Scorer<I, O, X, R>
  <I, O, X, R>(self: Scorer<I, O, X, R>, name: string): Scorer<I, O, X, R>
} = dual(2, <I, O, X, R>({ score }: Scorer<I, O, X, R>, name: string): Scorer<I, O, X, R> => ({ name, score }))

/**
 * Scores another subject than that of the task: a field of its output, or its texts.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { Scorer, TextScorer } from "effect-lexigram/eval"
 *
 * interface Answer {
 *   readonly city: string
 * }
 *
 * const city = Scorer.mapSubject(TextScorer.exact, (subject: Scorer.Subject<string, Answer, Answer>) => ({
 *   ...subject,
 *   output: subject.output.city,
 *   expected: subject.expected.city
 * }))
 * ```
 */
export const mapSubject: {
  <I, O, X, I2, O2, X2>(
    f: (subject: Subject<I2, O2, X2>) => Subject<I, O, X>
  ): <R>(self: Scorer<I, O, X, R>) => Scorer<I2, O2, X2, R>
  <I, O, X, R, I2, O2, X2>(
    self: Scorer<I, O, X, R>,
    f: (subject: Subject<I2, O2, X2>) => Subject<I, O, X>
  ): Scorer<I2, O2, X2, R>
} = dual(
  2,
  <I, O, X, R, I2, O2, X2>(
    { name, score }: Scorer<I, O, X, R>,
    f: (subject: Subject<I2, O2, X2>) => Subject<I, O, X>
  ): Scorer<I2, O2, X2, R> =>
    makeEffect(name, (subject: Subject<I2, O2, X2>) =>
      Effect.flatMap(
        Effect.try({
          try: () => f(subject),
          catch: (cause) => noScore(name, `it threw: ${reasonOf(cause)}`, { cause })
        }),
        score
      )
    )
)

/**
 * Changes the value of the scores, which must stay from 0 to 1.
 *
 * @since 0.1.0
 * @category combinators
 */
export const mapValue: {
  (f: (value: number) => number): <I, O, X, R>(self: Scorer<I, O, X, R>) => Scorer<I, O, X, R>
  <I, O, X, R>(self: Scorer<I, O, X, R>, f: (value: number) => number): Scorer<I, O, X, R>
} = dual(
  2,
  <I, O, X, R>({ name, score }: Scorer<I, O, X, R>, f: (value: number) => number): Scorer<I, O, X, R> =>
    makeEffect(name, (subject: Subject<I, O, X>) =>
      Effect.flatMap(score(subject), (one) =>
        Effect.try({
          try: () => ({ ...one, value: f(one.value) }),
          catch: (cause) => noScore(name, `it threw: ${reasonOf(cause)}`, { cause })
        })
      )
    )
)

/**
 * 1 for a score of at least this, otherwise 0.
 *
 * @since 0.1.0
 * @category combinators
 */
export const threshold: {
  (least: number): <I, O, X, R>(self: Scorer<I, O, X, R>) => Scorer<I, O, X, R>
  <I, O, X, R>(self: Scorer<I, O, X, R>, least: number): Scorer<I, O, X, R>
} = dual(
  2,
  <I, O, X, R>(self: Scorer<I, O, X, R>, least: number): Scorer<I, O, X, R> =>
    mapValue(self, (value) => (value >= least ? 1 : 0))
)

/** One score of several: their reasons by their names, and what they took together. */
const joined = (names: ReadonlyArray<string>, scores: ReadonlyArray<Score>, value: number): Score => {
  const reasons = scores.flatMap(({ reason, value }, at) =>
    reason === undefined && value === 1 ? [] : [`${names[at]} ${value}${reason === undefined ? "" : ` (${reason})`}`]
  )
  const asked = scores.filter(({ costUsd, usage }) => costUsd !== undefined || usage !== undefined)
  const costs = asked.map(({ costUsd }) => costUsd)
  return {
    value,
    ...(reasons.length === 0 ? {} : { reason: reasons.join("; ") }),
    ...(asked.length === 0 ? {} : { usage: asked.reduce((sum, { usage = {} }) => Usage.add(sum, usage), Usage.empty) }),
    ...(asked.length === 0 || costs.includes(undefined)
      ? {}
      : { costUsd: costs.reduce<number>((sum, costUsd) => sum + (costUsd ?? 0), 0) })
  }
}

/** The types of a union of scorers are known to the caller only. */
const combined = <S>(
  name: string,
  score: (subject: Subject<any, any, any>) => Effect.Effect<Score, ScorerError, any>
) => makeEffect(name, score) as Combined<S>

/**
 * The weighted mean of several scorers. Weights are above 0, at most 1,000,000; others, and no scorers, throw a
 * `TypeError`, because scorers are constants. It fails if one of them does. Usage and costs are those of all; the cost
 * is absent if that of one that asked models is.
 *
 * @since 0.1.0
 * @category combinators
 */
export const weighted = <P extends readonly [scorer: Scorer<any, any, any, any>, weight: number]>(
  name: string,
  scorers: ReadonlyArray<P>
): Combined<P[0]> => {
  if (scorers.length === 0) throw new TypeError(`Scorer.weighted: ${name} has no scorers`)
  for (const [scorer, weight] of scorers) {
    if (!(weight > 0 && weight <= 1e6)) {
      throw new TypeError(
        `Scorer.weighted: the weight of ${scorer.name} is ${weight}: give a number above 0, at most 1,000,000`
      )
    }
  }
  const weights = scorers.reduce((sum, [, weight]) => sum + weight, 0)
  const names = scorers.map(([scorer]) => scorer.name)
  return combined<P[0]>(name, (subject) =>
    Effect.map(
      Effect.forEach(scorers, ([scorer]) => scorer.score(subject)),
      (scores) => {
        const sum = scores.reduce((sum, { value }, at) => sum + value * (scorers[at]?.[1] ?? 0), 0)
        return joined(names, scores, sum / weights)
      }
    )
  )
}

/**
 * The lowest of several scores: 1 only if all are. No scorers throw a `TypeError`, because scorers are constants. It
 * fails if one of them does.
 *
 * @since 0.1.0
 * @category combinators
 */
export const all = <S extends Scorer<any, any, any, any>>(name: string, scorers: ReadonlyArray<S>): Combined<S> => {
  if (scorers.length === 0) throw new TypeError(`Scorer.all: ${name} has no scorers`)
  const names = scorers.map((scorer) => scorer.name)
  return combined<S>(name, (subject) =>
    Effect.map(
      Effect.forEach(scorers, (scorer) => scorer.score(subject)),
      (scores) => joined(names, scores, Math.min(...scores.map(({ value }) => value)))
    )
  )
}
