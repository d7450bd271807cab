/**
 * Scores pairs of query and text by a model that runs in this process, with `@huggingface/transformers`.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Count from "../../internal/Count.js"
import * as Permits from "../../internal/fiber/Permits.js"
import * as CrossEncoder from "../../llm/embedding/CrossEncoder.js"
import { EmbeddingError } from "../../llm/embedding/Embedder.js"
import * as Transformers from "./Transformers.js"

/** A model with one label gives one score; of several labels the last is the best match. */
const scoresOf = (logits: any, count: number): ReadonlyArray<number> | undefined => {
  const [rows, labels] = Array.isArray(logits?.dims) ? logits.dims : []
  const data: unknown = logits?.data
  if (!ArrayBuffer.isView(data) || rows !== count || !(labels >= 1)) return undefined
  const scores = Array.from({ length: count }, (_, at) => Number((data as Float32Array)[(at + 1) * labels - 1]))
  return scores.every(Number.isFinite) ? scores : undefined
}

/**
 * Loads tokenizer and model once; the end of the scope releases the model. One call runs at a time.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  load: Transformers.Load,
  options: Transformers.Options
): Effect.Effect<CrossEncoder.Service, EmbeddingError, Scope.Scope> =>
  Effect.gen(function* () {
    const { model } = options
    const tokenizer = yield* Transformers.acquire(load, options, (module, given) =>
      module.AutoTokenizer.from_pretrained(model, given)
    )
    const classifier = yield* Transformers.acquire(load, options, (module, given) =>
      module.AutoModelForSequenceClassification.from_pretrained(model, given)
    )
    const oneAtATime = Permits.make(1)
    const size = Count.count(options.maxBatchSize, 16, 1)
    const scored = (query: string, texts: ReadonlyArray<string>) =>
      Effect.flatMap(
        Transformers.run(
          `The model ${model} failed`,
          "Shorten the texts, or choose another dtype or device.",
          async () => {
            const pairs = { text_pair: [...texts], padding: true, truncation: true }
            const { logits } = await classifier(
              await tokenizer(
                Array.from(texts, () => query),
                pairs
              )
            )
            return scoresOf(logits, texts.length)
          }
        ),
        (scores) =>
          scores === undefined
            ? new EmbeddingError({
                message: `The model ${model} did not give one score for each text`,
                hint: "Choose a cross-encoder: a model for sequence classification of pairs."
              })
            : Effect.succeed(scores)
      )
    return {
      model,
      score: (query, texts) =>
        oneAtATime(
          Effect.map(
            Effect.forEach(Chunk.chunksOf(Chunk.fromIterable(texts), size), (batch) =>
              scored(query, Chunk.toReadonlyArray(batch))
            ),
            (batches) => batches.flat()
          )
        )
    }
  })

/**
 * The model as the `CrossEncoder` of a program, for `CrossEncoderReranker.layer`.
 *
 * @example
 * ```ts
 * import { CrossEncoderReranker } from "effect-lexigram/memory"
 * import { TransformersCrossEncoder } from "effect-lexigram/provider"
 * import * as Layer from "effect/Layer"
 *
 * // () => import("@huggingface/transformers")
 * declare const load: Parameters<typeof TransformersCrossEncoder.layer>[0]
 *
 * const reranker = CrossEncoderReranker.layer({ maxCandidates: 20 }).pipe(
 *   Layer.provide(TransformersCrossEncoder.layer(load, { model: "Xenova/ms-marco-MiniLM-L-6-v2" }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  load: Transformers.Load,
  options: Transformers.Options
): Layer.Layer<CrossEncoder.CrossEncoder, EmbeddingError> =>
  Layer.scoped(CrossEncoder.CrossEncoder, make(load, options))
