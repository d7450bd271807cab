/**
 * The document index port: takes documents, cuts them into passages and finds passages by words and by meaning.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { MemoryStoreFailure } from "../memory/entry/MemoryError.js"
import type { Document, DocumentInfo, Hit, Passage } from "./Document.js"
import type { DocumentError } from "./format/DocumentError.js"

/**
 * Errors of an index: a document was rejected, or its storage failed.
 *
 * @since 0.1.0
 * @category models
 */
export type IndexFailure = DocumentError | MemoryStoreFailure

/**
 * What became of a document, and how many of its chunks are new, stayed and are gone.
 *
 * @since 0.1.0
 * @category models
 */
export interface Ingested {
  readonly id: string
  readonly status: "added" | "changed" | "unchanged"
  readonly added: number
  readonly kept: number
  readonly removed: number
  /** Present if the chunks could not be embedded: they are found by words until the document is ingested again. */
  readonly warning?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Query {
  /** The first 8,000 characters count. Without a word nothing is found. */
  readonly text: string
  /** Hits at most. Default 5, at most 100. */
  readonly limit?: number | undefined
  /** Only documents that have all of these tags. */
  readonly tags?: ReadonlyArray<string> | undefined
  /** Only these documents. */
  readonly documents?: ReadonlyArray<string> | undefined
  /** Passages before and after each hit. Default 0, at most 10. */
  readonly neighbours?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Found {
  /** Best first. */
  readonly hits: ReadonlyArray<Hit>
  /** Present if the query could not be compared by meaning: the hits are those of its words. */
  readonly warning?: string | undefined
}

/**
 * Contract of every method: it reads and changes only documents of the owner. An owner has 1 to 256 characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Identifies the index in errors: `in_memory`, `sqlite`, `postgres`. */
  readonly name: string
  /**
   * Adds documents, and replaces those whose id exists. Each document is all or nothing; the first that is rejected
   * ends the call, and those before it stay. A document that did not change is not written. Chunks whose text, headings
   * and title did not change keep their ids and are not embedded again.
   */
  readonly ingest: (
    ownerId: string,
    documents: ReadonlyArray<Document>
  ) => Effect.Effect<ReadonlyArray<Ingested>, IndexFailure>
  readonly search: (ownerId: string, query: Query) => Effect.Effect<Found, IndexFailure>
  /** Undefined if the owner has no such document. */
  readonly get: (ownerId: string, id: string) => Effect.Effect<DocumentInfo | undefined, IndexFailure>
  /** The passages of a document in the order of its text, from the `offset`-th on. Default limit 100, at most 1,000. */
  readonly read: (
    ownerId: string,
    id: string,
    options?: { readonly offset?: number | undefined; readonly limit?: number | undefined } | undefined
  ) => Effect.Effect<ReadonlyArray<Passage>, IndexFailure>
  /** Documents in the order of their last change, page by page: `next` is the `after` of the next page. */
  readonly list: (
    ownerId: string,
    options?:
      | {
          readonly tags?: ReadonlyArray<string> | undefined
          /** Default 100, at most 1,000. */
          readonly limit?: number | undefined
          readonly after?: string | undefined
        }
      | undefined
  ) => Effect.Effect<
    { readonly documents: ReadonlyArray<DocumentInfo>; readonly next?: string | undefined },
    IndexFailure
  >
  /** Removes documents and returns how many of them existed. */
  readonly delete: (ownerId: string, ids: ReadonlyArray<string>) => Effect.Effect<number, IndexFailure>
  /** Removes all documents of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, IndexFailure>
  readonly count: (
    ownerId: string
  ) => Effect.Effect<{ readonly documents: number; readonly chunks: number }, IndexFailure>
  readonly health: Effect.Effect<void, IndexFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class DocumentIndex extends Context.Tag("effect-lexigram/document/DocumentIndex")<DocumentIndex, Service>() {}
