/**
 * A document index in this process. Its documents end with the process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder } from "../llm/embedding/Embedder.js"
import * as InMemoryBackend from "../memory/search/InMemoryBackend.js"
import { VectorIndex } from "../memory/search/VectorIndex.js"
import type * as TextAnalyzer from "../memory/text/TextAnalyzer.js"
import * as DefaultDocumentIndex from "./DefaultDocumentIndex.js"
import { DocumentIndex, type Service } from "./DocumentIndex.js"
import type { Vectors } from "./DocumentVectors.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultDocumentIndex.Options {
  /** Chunks and documents of all owners at most; then an ingestion is a `MemoryCapacityError`. Default 1,000,000. */
  readonly capacity?: number | undefined
  /** Reads words. Default `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

/**
 * With `vectors`, passages are also found by meaning.
 *
 * @example
 * ```ts
 * import { InMemoryDocumentIndex } from "effect-lexigram/document"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const documents = yield* InMemoryDocumentIndex.make()
 *   yield* documents.ingest("shop", [{ id: "hours.md", content: "# Opening hours\n\nWe are open from 9 to 5." }])
 *   const { hits } = yield* documents.search("shop", { text: "When are you open?", limit: 3 })
 *   return hits
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options & { readonly vectors?: Vectors | undefined } = {}): Effect.Effect<Service> => {
  const { analyzer, capacity } = options
  return Effect.map(InMemoryBackend.make({ analyzer, capacity, capacityPerOwner: capacity ?? 1_000_000 }), (backend) =>
    DefaultDocumentIndex.fromBackend(backend, options)
  )
}

/**
 * Documents are found by words.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<DocumentIndex> => Layer.effect(DocumentIndex, make(options))

/**
 * Documents are found by words and by meaning.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerVectors = (options?: Options): Layer.Layer<DocumentIndex, never, Embedder | VectorIndex> =>
  Layer.effect(
    DocumentIndex,
    Effect.flatMap(Effect.all([Embedder, VectorIndex]), ([embedder, index]) =>
      make({ ...options, vectors: { embedder, index } })
    )
  )
