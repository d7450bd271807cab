/**
 * Scores how near the meaning of an output is to what was expected, by the vectors of an embedding model.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as Scorer from "./Scorer.js"
import * as SubjectText from "./SubjectText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name of the scorer; `embedding` by default. */
  readonly name?: string | undefined
  /**
   * The similarity that scores 0, below 1; 0 by default. Models of texts hardly go below some similarity: with that
   * one here, scores use the whole range.
   */
  readonly floor?: number | undefined
}

/** The cosine: vectors have norm 1, or 0. Of one length, as they are of one model. */
const cosine = (a: Embedder.Vector, b: Embedder.Vector): number => {
  let sum = 0
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0)
  return Math.min(1, sum)
}

/**
 * The cosine of the vectors of the output and of what was expected, from `floor` to 1 as 0 to 1; what is below is 0. Of
 * several references the nearest counts. A text without any feature is near nothing. The embedder is that in context;
 * `EmbedderCache` around it embeds references once. A `floor` that is not below 1 throws a `TypeError`, because scorers
 * are constants.
 *
 * @example
 * ```ts
 * import { EmbeddingScorer } from "effect-lexigram/eval"
 *
 * // Requires Embedder.
 * const near = EmbeddingScorer.make({ name: "meaning", floor: 0.3 })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Scorer.Scorer<unknown, string, SubjectText.References, Embedder.Embedder> => {
  const { floor = 0, name = "embedding" } = options
  if (!(floor >= -1 && floor < 1)) {
    throw new TypeError(`EmbeddingScorer: floor is ${floor}: give a similarity from -1 to below 1`)
  }
  return Scorer.makeEffect(name, (subject) =>
    Effect.gen(function* () {
      const output = yield* SubjectText.outputOf(subject)
      const references = yield* SubjectText.referencesOf(subject.expected)
      const [vector, ...others] = yield* Embedder.embedMany([output, ...references])
      const nearest = others.reduce((best, other) => Math.max(best, cosine(vector ?? other, other)), -1)
      return Math.max(0, (nearest - floor) / (1 - floor))
    })
  )
}
