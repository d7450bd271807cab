/**
 * Embeds texts by a model that runs in this process, with `@huggingface/transformers`: no key, no request for a text.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as Transformers from "./Transformers.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Transformers.Options, Pick<Embedder.Options, "maxCharacters"> {
  /** The length of its vectors. Default what the model's configuration says (`hidden_size`). */
  readonly dimensions?: number | undefined
  /** How the vectors of a text's tokens become one: as its model card says. Default `mean`. */
  readonly pooling?: "mean" | "cls" | "last_token" | undefined
}

const hiddenSize = (extractor: any): number | undefined => {
  const size: unknown = extractor?.model?.config?.hidden_size
  return Number.isSafeInteger(size) && Number(size) > 0 ? Number(size) : undefined
}

/** The rows of a tensor with two dimensions. */
const rowsOf = (tensor: any): ReadonlyArray<ArrayLike<number>> => {
  const [count, length] = Array.isArray(tensor?.dims) ? tensor.dims : []
  const data: unknown = tensor?.data
  if (!ArrayBuffer.isView(data) || !Predicate.isNumber(count) || !Predicate.isNumber(length)) return []
  return Array.from({ length: count }, (_, at) => (data as Float32Array).slice(at * length, (at + 1) * length))
}

/**
 * Loads the model once; the end of the scope releases it. One call runs at a time, since each uses all processors. An
 * interrupted fiber goes on at once; the model finishes what it reads.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  load: Transformers.Load,
  options: Options
): Effect.Effect<Embedder.Service, Embedder.EmbeddingError, Scope.Scope> =>
  Effect.gen(function* () {
    const { maxCharacters, model, pooling = "mean" } = options
    const extractor = yield* Transformers.acquire(load, options, (module, given) =>
      module.pipeline("feature-extraction", model, given)
    )
    const dimensions = options.dimensions ?? hiddenSize(extractor)
    if (dimensions === undefined) {
      return yield* new Embedder.EmbeddingError({
        message: `The configuration of the model ${model} does not tell the length of its vectors`,
        hint: "Give dimensions: the number on the card of the model."
      })
    }
    const oneAtATime = Permits.make(1)
    const embedMany = (texts: ReadonlyArray<string>) =>
      oneAtATime(
        Effect.map(
          Transformers.run(`The model ${model} failed`, "Shorten the texts, or choose another dtype or device.", () =>
            extractor([...texts], { pooling, normalize: true })
          ),
          rowsOf
        )
      )
    return Embedder.make({
      model,
      dimensions,
      embedMany,
      maxBatchSize: options.maxBatchSize ?? 16,
      ...(maxCharacters === undefined ? {} : { maxCharacters })
    })
  })

/**
 * The model as the `Embedder` of a program.
 *
 * @example
 * ```ts
 * import { TransformersEmbedder } from "effect-lexigram/provider"
 *
 * // () => import("@huggingface/transformers")
 * declare const load: Parameters<typeof TransformersEmbedder.layer>[0]
 *
 * const local = TransformersEmbedder.layer(load, { model: "Xenova/all-MiniLM-L6-v2", dtype: "q8" })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  load: Transformers.Load,
  options: Options
): Layer.Layer<Embedder.Embedder, Embedder.EmbeddingError> => Layer.scoped(Embedder.Embedder, make(load, options))
