/**
 * A model as judge of two outputs: which one is better. Judges prefer a position, so each pair is shown in both orders
 * (Zheng et al. 2023, "Judging LLM-as-a-Judge").
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Usage from "../../domain/Usage.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as ReplyForm from "../../strategy/definition/ReplyForm.js"
import * as JudgeCall from "./JudgeCall.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<in Input = any, in Output = any, in Expected = any> extends JudgeCall.Options {
  /** The name of the scorer; `pairwise` by default. */
  readonly name?: string | undefined
  /** What makes an output the better one, in words. */
  readonly criteria: string
  /** The output that the output of the task is compared with; by default what was expected. */
  readonly baseline?: ((subject: Scorer.Subject<Input, Output, Expected>) => unknown) | undefined
}

/**
 * Two outputs for one input.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pair {
  readonly input: unknown
  readonly first: unknown
  readonly second: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Preference {
  /** The better output. A tie also where the judge preferred a position. */
  readonly better: "first" | "second" | "tie"
  /** Whether both orders gave the same. */
  readonly isConsistent: boolean
  /** The reasons of the judge: with the first output as A, then with the first output as B. */
  readonly reasons: readonly [string, string]
  readonly usage: Usage.Usage
  /** Absent if the price of a call is not known. */
  readonly costUsd: number | undefined
}

const form = ReplyForm.make({
  name: "preference",
  schema: Schema.Struct({ reason: Schema.String, better: Schema.Literal("A", "B", "tie") })
})

/**
 * The prompt of the judge, with the variables `rubric` and `material`: for a `PromptLibrary` that replaces it.
 *
 * @since 0.1.0
 * @category constants
 */
export const prompt: JudgeCall.Step = JudgeCall.step("Compare", {
  role: "You compare two outputs of programs that were asked the same. You say which one is better by a rubric, as an expert who is strict and fair would. You do not improve the outputs.",
  process: [
    "Read the rubric.",
    "Read the material between the lines with the mark. `input` is what the programs were asked; `A` and `B` are their outputs.",
    "Find what speaks for each output and against it. The order in which they are shown means nothing.",
    "Choose A or B. Choose tie only if neither is better."
  ]
})

const mostReason = 2000

const whole = { A: "first", B: "second", tie: "tie" } as const

const swapped = { A: "second", B: "first", tie: "tie" } as const

const compareBy = (
  client: LlmClient.Service,
  pair: Pair,
  options: Pick<Options, "criteria"> & JudgeCall.Options
): Effect.Effect<Preference, LlmError | string> =>
  Effect.gen(function* () {
    const question = { step: prompt, rubric: options.criteria, form }
    const { first, input, second } = pair
    const [one, other] = yield* Effect.all(
      [
        JudgeCall.ask(client, question, { input, A: first, B: second }, options),
        JudgeCall.ask(client, question, { input, A: second, B: first }, options)
      ],
      { concurrency: 2 }
    )
    const [better, again] = [whole[one.value.better], swapped[other.value.better]]
    const { costUsd, usage } = JudgeCall.combine(undefined, one, other)
    return {
      better: better === again ? better : "tie",
      isConsistent: better === again,
      reasons: [one.value.reason.slice(0, mostReason), other.value.reason.slice(0, mostReason)],
      usage,
      costUsd
    }
  })

const wins = { first: 1, tie: 0.5, second: 0 } as const

const fromClient = <Input, Output, Expected, R>(
  client: Effect.Effect<LlmClient.Service, never, R>,
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected, R> => {
  const { baseline = ({ expected }: Scorer.Subject) => expected, name = "pairwise" } = options
  return Scorer.makeEffect(name, (subject) =>
    Effect.gen(function* () {
      const second = yield* SubjectText.attempt(() => baseline(subject))
      if (second === undefined) return yield* Effect.fail("there is no output to compare with")
      const pair = { input: subject.input, first: subject.output, second }
      const { better, costUsd, isConsistent, reasons, usage } = yield* compareBy(yield* client, pair, options)
      const words = isConsistent ? "" : "the judge preferred a position: "
      return { value: wins[better], reason: `${words}${reasons.join(" / ")}`, usage, costUsd }
    })
  )
}

/**
 * Which of two outputs is better, asked in both orders with the client in context. Fails with `ScorerError`.
 *
 * @since 0.1.0
 * @category destructors
 */
export const compare = (
  pair: Pair,
  options: Options
): Effect.Effect<Preference, Scorer.ScorerError, LlmClient.LlmClient> =>
  Effect.flatMap(LlmClient.LlmClient, (client) =>
    Effect.mapError(compareBy(client, pair, options), (cause) => {
      const reason = typeof cause === "string" ? cause : cause.message
      return Scorer.noScore(options.name ?? "pairwise", reason, { cause })
    })
  )

/**
 * Scores an output by a comparison with another one: 1 if it is better, 0 if it is worse, 0.5 for a tie and where the
 * judge does not stay with its choice in the other order. The mean over many cases is the rate of wins. Asks the client
 * in context.
 *
 * @example
 * ```ts
 * import { PairwiseJudge } from "effect-lexigram/eval"
 *
 * const better = PairwiseJudge.make({
 *   criteria: "The answer that helps the customer more.",
 *   baseline: () => "Please call our hotline."
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <Input = unknown, Output = unknown, Expected = unknown>(
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected, LlmClient.LlmClient> => fromClient(LlmClient.LlmClient, options)

/**
 * Compares with this client.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeWith = <Input = unknown, Output = unknown, Expected = unknown>(
  client: LlmClient.Service,
  options: Options<Input, Output, Expected>
): Scorer.Scorer<Input, Output, Expected> => fromClient(Effect.succeed(client), options)
