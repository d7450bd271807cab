/**
 * Samples several answers and returns the one that most of them agree on.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as Option from "effect/Option"
import type { Body } from "../../domain/AgentEvent.js"
import { errorInfo } from "../../domain/ErrorInfo.js"
import { count } from "../../internal/Count.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import * as Run from "../../observability/Run.js"
import * as Step from "../../observability/Step.js"
import { ToolRunner } from "../../tool/ToolRunner.js"
import type * as Strategy from "../definition/Strategy.js"
import * as RunView from "../reasoning/RunView.js"
import { defaults } from "../reasoning/ToolLoop.js"
import { derive, failureOf, unwrapFatality } from "./DerivedStrategy.js"
import { isRecoverable } from "./StrategyFallback.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface SelfConsistencyOptions {
  /** Number of sampled answers; default 5. */
  readonly n?: number | undefined
  /** Answers with the same key agree. Default: the output if the task has one, else `answerKey` of the text. */
  readonly key?: ((answer: Strategy.Answer) => string) | undefined
  /** Temperature of the samples; default that of the task, then 0.7. Without randomness all samples are the same. */
  readonly temperature?: number | undefined
  /** Samples that run concurrently; default that of the agent for tools, then 8. */
  readonly concurrency?: number | undefined
}

/**
 * Normalizes a text for comparison: removes case, whitespace, emphasis marks, surrounding quotes and the final full
 * stop.
 *
 * @since 0.1.0
 * @category conversions
 */
export const answerKey = (text: string): string => {
  const plain = text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/\*\*|__|`/g, "")
    .replace(/\s+/g, " ")
  let from = 0
  let to = plain.length
  while (from < to && around.includes(plain.charAt(from))) from++
  while (to > from && (around.includes(plain.charAt(to - 1)) || behind.includes(plain.charAt(to - 1)))) to--
  return plain.slice(from, to)
}

const around = " \"'“”„«»"
const behind = ".!"

const keyOf = (answer: Strategy.Answer): string =>
  answer.output === undefined ? answerKey(answer.text) : CanonicalJson.stringify(answer.output)

/** These events are emitted once for the answer, not for each sample. */
const isDelta = ({ _tag }: Body): boolean =>
  _tag === "TextDelta" || _tag === "ReasoningDelta" || _tag === "TextRetracted"

/**
 * Samples several answers to a task and returns the one that most of them agree on (Wang et al. 2022, "Self-Consistency
 * Improves Chain of Thought Reasoning in Language Models", arXiv 2203.11171). In a tie the answer sampled first wins;
 * an empty answer has no vote. A sample that fails with an `isRecoverable` error emits `Degraded` and has no vote; if
 * all samples fail, the run fails with the first failure.
 *
 * Answers are compared as wholes: have the model answer briefly or by a schema, or give a `key` that finds the answer
 * in the text. A seed in the settings is incremented from sample to sample. Readers see the steps of all samples and
 * the text of the winning answer.
 *
 * @since 0.1.0
 * @category combinators
 */
export const selfConsistency: {
  (options: SelfConsistencyOptions): <E, R>(strategy: Strategy.Strategy<E, R>) => Strategy.Strategy<E, R>
  <E, R>(strategy: Strategy.Strategy<E, R>, options: SelfConsistencyOptions): Strategy.Strategy<E, R>
} = dual(2, (strategy: Strategy.Any, options: SelfConsistencyOptions): Strategy.Strategy<any, any> => {
  const n = count(options.n, 5, 1)
  const key = options.key ?? keyOf
  return derive(strategy, (task) =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      const runner = yield* ToolRunner
      const numbers = RunView.makeNumbers()
      const temperature = options.temperature ?? task.settings.temperature ?? 0.7
      const { seed } = task.settings
      const sample = (index: number) => {
        const renumber = numbers.part()
        const view = RunView.silenced(RunView.mapped(run, (body) => (isDelta(body) ? undefined : renumber(body))))
        const settings = ModelSettings.merge(task.settings, {
          temperature,
          ...(seed === undefined ? {} : { seed: seed + index })
        })
        return strategy.program({ ...task, settings }).pipe(
          Effect.provideService(Run.Run, view),
          Effect.provideService(ToolRunner, RunView.prefixed(runner, `sample_${index + 1}_`)),
          Effect.map(Either.right),
          Effect.catchAllCause((cause) => {
            const failure = failureOf(cause)
            if (Option.isNone(failure) || !isRecoverable(failure.value)) return Effect.failCause(cause)
            return Effect.as(
              run.emit({
                _tag: "Degraded",
                stage: `sample ${index + 1}`,
                error: errorInfo(unwrapFatality(failure.value))
              }),
              Either.left(cause)
            )
          })
        )
      }
      const samples = yield* Step.forEach(
        Array.from({ length: n }, (_, index) => index),
        sample,
        { concurrency: count(options.concurrency ?? task.limits.toolConcurrency, defaults.toolConcurrency, 1) }
      )
      const tally = new Map<string, { readonly answer: Strategy.Answer; votes: number }>()
      let failed = 0
      for (const one of samples) {
        if (Either.isLeft(one)) {
          failed++
          continue
        }
        const of = key(one.right)
        const same = tally.get(of)
        if (same === undefined) tally.set(of, { answer: one.right, votes: 1 })
        else same.votes++
      }
      const first = samples[0]
      if (failed === n && first !== undefined && Either.isLeft(first)) return yield* Effect.failCause(first.left)
      const empty = tally.get("")
      if (empty !== undefined && tally.size > 1) tally.delete("")
      const { answer, votes } = Array.from(tally.values()).reduce((best, one) => (one.votes > best.votes ? one : best))
      const lost = failed === 0 ? "" : `; ${failed} failed`
      yield* run.emit({
        _tag: "Thought",
        step: Math.max(1, numbers.last()),
        text: `${votes} of ${n} answers agree${lost}`
      })
      if (run.live && answer.text !== "") yield* run.emit({ _tag: "TextDelta", text: answer.text })
      return answer
    })
  )
})
