/**
 * Finds facts by meaning: a fact store in whose context an `Embedder` is has a vector of each fact that holds.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Embedder from "../../llm/embedding/Embedder.js"
import type { MemorySystemError } from "../entry/MemoryError.js"
import type * as FactBackend from "../facts/FactBackend.js"
import type * as FactStore from "../facts/FactStore.js"
import * as InMemoryFactStore from "../facts/InMemoryFactStore.js"
import * as VectorIndex from "../search/VectorIndex.js"
import type * as EmbeddedFacts from "./EmbeddedFacts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends EmbeddedFacts.Options {}

const implementation = OnDemand.make(() => import("./EmbeddedFacts.js"))

/**
 * Wraps the backend of a fact store (`DefaultFactStore.Options.wrapBackend`).
 *
 * `search` then ranks what shares words with a text and what is nearest to it in meaning together (reciprocal ranks). A
 * vector is made once, when its fact is stored; those of facts that were stored without one are made by searches, 256
 * at a time. A fact has a vector while it holds: closed facts are found by words. If the embedder or the index fails,
 * facts are stored and found by words, and a warning is logged.
 *
 * Fails if the index holds vectors of another model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<FactBackend.Wrap, MemorySystemError> =>
  Effect.zipRight(
    VectorIndex.check(options.embedder, options.index),
    Effect.map(implementation, ({ wrap }) => wrap(options))
  )

/**
 * The wrapper for the embedder and the vector index in context. Without an index, one in this process has the vectors;
 * without an embedder there is none, and facts are found by words.
 *
 * @since 0.1.0
 * @category constructors
 */
export const inContext: Effect.Effect<FactBackend.Wrap | undefined, MemorySystemError> = Effect.gen(function* () {
  const embedder = yield* Effect.serviceOption(Embedder.Embedder)
  if (embedder._tag === "None") return undefined
  const { dimensions, model } = embedder.value
  const known = yield* Effect.serviceOption(VectorIndex.VectorIndex)
  const index =
    known._tag === "Some" ? known.value : yield* VectorIndex.makeMemory({ model, dimensions, name: "facts" })
  return yield* make({ embedder: embedder.value, index })
})

/**
 * A fact store in this process that finds facts by meaning where an embedder is in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { FactVectors } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * const facts = Layer.provide(FactVectors.layerMemory(), HashingEmbedder.layer())
 * ```
 */
export const layerMemory = (
  options?: InMemoryFactStore.Options | undefined
): Layer.Layer<FactStore.FactStore, MemorySystemError> =>
  Layer.unwrapEffect(Effect.map(inContext, (wrapBackend) => InMemoryFactStore.layer({ ...options, wrapBackend })))
