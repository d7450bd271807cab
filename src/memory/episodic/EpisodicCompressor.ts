/**
 * The port that summarizes several entries into one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { ConsolidationError } from "../entry/MemoryError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CompressOptions {
  /** Maximum tokens of the summary. Default 200. */
  readonly maxTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Summarizes these entries with `MemorySummary.make`. Stores nothing. The text has at most `maxTokens` tokens,
   * whoever wrote it. Fails with a `ConsolidationError` for no entries, entries of several owners, or a summary without
   * text.
   */
  readonly compress: (
    entries: ReadonlyArray<MemoryEntry>,
    options?: CompressOptions | undefined
  ) => Effect.Effect<MemoryEntry, ConsolidationError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EpisodicCompressor extends Context.Tag("effect-lexigram/memory/EpisodicCompressor")<
  EpisodicCompressor,
  Service
>() {}
