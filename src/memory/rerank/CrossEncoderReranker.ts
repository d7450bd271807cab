/**
 * Orders results by the scores of a {@link CrossEncoder.CrossEncoder}, which reads the question and each result
 * together.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as CrossEncoder from "../../llm/embedding/CrossEncoder.js"
import * as MemoryReranker from "./MemoryReranker.js"
import * as ResultGroups from "./ResultGroups.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Number of results that are scored, from the first. Default 30. */
  readonly maxCandidates?: number | undefined
  /**
   * Maximum characters of the question and of each result that are read, half from the beginning and half from the end.
   * Default 1,000.
   */
  readonly maxChars?: number | undefined
  /** Timeout of the whole call; then the order stays. Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (encoder: CrossEncoder.Service, options: Options = {}): MemoryReranker.Service => {
  const maxCandidates = Count.count(options.maxCandidates, 30, 2)
  const maxChars = Count.count(options.maxChars, 1000, 2)
  const timeout = options.timeout ?? "30 seconds"
  return {
    rerank: (question, results) =>
      Effect.suspend((): Effect.Effect<MemoryReranker.Reranked> => {
        const groups = ResultGroups.of(results)
        if (groups.length < 2) return Effect.succeed({ results, reranked: false, reason: "few" })
        const shown = groups.slice(0, maxCandidates).map(([{ entry }]) => Excerpt.ends(entry.content, maxChars))
        const scores = Effect.timeoutOption(encoder.score(Excerpt.ends(question, maxChars), shown), timeout)
        return Effect.matchEffect(scores, {
          onFailure: (error) => ResultGroups.kept(results, error._tag),
          onSuccess: (scored): Effect.Effect<MemoryReranker.Reranked> => {
            if (scored._tag === "None") return ResultGroups.kept(results, "TimeoutException")
            const numbers = scored.value
            if (numbers.length !== shown.length || !numbers.every(Number.isFinite)) {
              return ResultGroups.kept(results, "unreadable")
            }
            const places = Array.from(shown.keys()).sort((a, b) => (numbers[b] ?? 0) - (numbers[a] ?? 0) || a - b)
            return Effect.succeed(ResultGroups.ordered(groups, places))
          }
        })
      })
  }
}

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { CrossEncoder } from "effect-lexigram/llm"
 * import { CrossEncoderReranker } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Any cross-encoder: `TransformersCrossEncoder.layer` runs one in this process.
 * const rerankWith = <E>(encoder: Layer.Layer<CrossEncoder.CrossEncoder, E>) =>
 *   CrossEncoderReranker.layer({ maxCandidates: 50, timeout: "5 seconds" }).pipe(Layer.provide(encoder))
 * ```
 */
export const layer = (
  options: Options = {}
): Layer.Layer<MemoryReranker.MemoryReranker, never, CrossEncoder.CrossEncoder> =>
  Layer.effect(
    MemoryReranker.MemoryReranker,
    Effect.map(CrossEncoder.CrossEncoder, (encoder) => make(encoder, options))
  )
