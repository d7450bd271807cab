/**
 * Errors of memory. None of them fails a run: the executor reports them and continues without memory.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { EmbeddingError } from "../../llm/embedding/Embedder.js"

/**
 * Entries could not be consolidated: pruned, summarized or turned into facts.
 *
 * @since 0.1.0
 * @category errors
 */
export class ConsolidationError extends ErrorCode.TaggedError<ConsolidationError>(
  "effect-lexigram/memory/MemoryError/ConsolidationError"
)("ConsolidationError", ErrorCode.fields("LEX_ERR_MEM_002")) {}

/**
 * The storage of a store could not be read or written: a database, a cache, a file.
 *
 * @since 0.1.0
 * @category errors
 */
export class StorageError extends ErrorCode.TaggedError<StorageError>(
  "effect-lexigram/memory/MemoryError/StorageError"
)("StorageError", ErrorCode.fields("LEX_ERR_MEM_003")) {}

/**
 * The memory system as a whole cannot work because it is composed or configured incorrectly.
 *
 * @since 0.1.0
 * @category errors
 */
export class MemorySystemError extends ErrorCode.TaggedError<MemorySystemError>(
  "effect-lexigram/memory/MemoryError/MemorySystemError"
)("MemorySystemError", ErrorCode.fields("LEX_ERR_MEM_005")) {}

/**
 * A store rejected an operation: an entry that it cannot hold, or one that belongs to another owner.
 *
 * @since 0.1.0
 * @category errors
 */
export class MemoryStoreError extends ErrorCode.TaggedError<MemoryStoreError>(
  "effect-lexigram/memory/MemoryError/MemoryStoreError"
)("MemoryStoreError", {
  ...ErrorCode.fields("LEX_ERR_MEM_006"),
  /** The store: `memory`, `cache`, `sql`, … */
  store: Schema.String
}) {}

/**
 * The store or the subject is full. `capacity` is the limit, in entries.
 *
 * @since 0.1.0
 * @category errors
 */
export class MemoryCapacityError extends ErrorCode.TaggedError<MemoryCapacityError>(
  "effect-lexigram/memory/MemoryError/MemoryCapacityError"
)("MemoryCapacityError", { ...ErrorCode.fields("LEX_ERR_MEM_008"), capacity: Schema.Number }) {}

/**
 * No facts could be read from a text.
 *
 * @since 0.1.0
 * @category errors
 */
export class FactExtractionError extends ErrorCode.TaggedError<FactExtractionError>(
  "effect-lexigram/memory/MemoryError/FactExtractionError"
)("FactExtractionError", ErrorCode.fields("LEX_ERR_MEM_010")) {}

/**
 * Errors of storing entries.
 *
 * @since 0.1.0
 * @category models
 */
export type MemoryStoreFailure = StorageError | MemoryStoreError | MemoryCapacityError

/**
 * Errors of retrieval: the store failed, or the query could not be embedded.
 *
 * @since 0.1.0
 * @category models
 */
export type RetrievalFailure = MemoryStoreFailure | EmbeddingError

/**
 * Any failure of memory (family code `LEX_ERR_MEM_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryError = ErrorCode.Union(
  ConsolidationError,
  StorageError,
  MemorySystemError,
  MemoryStoreError,
  MemoryCapacityError,
  EmbeddingError,
  FactExtractionError
)
/**
 * @since 0.1.0
 * @category models
 */
export type MemoryError = typeof MemoryError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isMemoryError: (u: unknown) => u is MemoryError = ErrorCode.is(MemoryError)
