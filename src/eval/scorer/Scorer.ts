/**
 * Scorers: what says how good an output is.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as AgentResponse from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type * as Usage from "../../domain/Usage.js"

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
