/**
 * The port that puts search results into a better order.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MemorySearchResult } from "../entry/MemoryEntry.js"

/**
 * All results, and whether a model decided their order. If not, `reason` says why: `few` (fewer than two, so no call
 * was made), `unreadable` (the answer had no numbers), `off`, or the tag of the error of the call.
 *
 * @since 0.1.0
 * @category models
 */
export type Reranked =
  | { readonly results: ReadonlyArray<MemorySearchResult>; readonly reranked: true }
  | { readonly results: ReadonlyArray<MemorySearchResult>; readonly reranked: false; readonly reason: string }

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Returns the same results in the order of the model, with unchanged scores and relevances. The results that the
   * model names come first, then those it saw and did not name, then those it did not see, each in their original
   * order. Neighbors stay with their result. Never fails: without a readable answer the order stays.
   */
  readonly rerank: (question: string, results: ReadonlyArray<MemorySearchResult>) => Effect.Effect<Reranked>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class MemoryReranker extends Context.Tag("effect-lexigram/memory/MemoryReranker")<MemoryReranker, Service>() {}

/**
 * Keeps the order and makes no call.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { MemoryReranker, MemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const ask = (question: string) =>
 *   Effect.gen(function* () {
 *     const [store, reranker] = yield* Effect.all([MemoryStore.MemoryStore, MemoryReranker.MemoryReranker])
 *     const found = yield* store.retrieve({ ownerId: "ada", query: question, topK: 30 })
 *     return yield* reranker.rerank(question, found)
 *   })
 *
 * // Without a model the order of the store stays.
 * const plain = ask("Where does Tom live?").pipe(Effect.provide(MemoryReranker.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<MemoryReranker> = Layer.succeed(MemoryReranker, {
  rerank: (_question, results) => Effect.succeed({ results, reranked: false, reason: "off" })
})
