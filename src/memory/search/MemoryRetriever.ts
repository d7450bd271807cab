/**
 * The port that queries several memories as one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryQuery, MemorySearchResult } from "../entry/MemoryEntry.js"
import type { MemoryError, MemorySystemError } from "../entry/MemoryError.js"

/**
 * A source of entries of an owner: a `MemoryStore.Service` or anything else with `retrieve`. Its name identifies it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Source {
  readonly name: string
  readonly retrieve: (query: MemoryQuery) => Effect.Effect<ReadonlyArray<MemorySearchResult>, MemoryError>
}

/**
 * A source that did not answer in full, and why.
 *
 * @since 0.1.0
 * @category models
 */
export interface Degraded {
  readonly source: string
  readonly error: MemoryError
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Retrieved {
  /** Best first. `source` is the name of the source. */
  readonly results: ReadonlyArray<MemorySearchResult>
  /** In the order of the sources. Empty if all answered. */
  readonly degraded: ReadonlyArray<Degraded>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Stats {
  /** How often entries were returned, repetitions included. */
  readonly total: number
  /** Number of distinct entries. */
  readonly unique: number
  /** The ten entries returned most often, most often first. */
  readonly top: ReadonlyArray<{ readonly ownerId: string; readonly id: EntryId; readonly count: number }>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Returns what all sources find together. Of an entry that several sources have, the most relevant result stays.
   * Fails only if every source fails. Without sources the result is empty.
   */
  readonly retrieve: (query: MemoryQuery) => Effect.Effect<Retrieved, MemorySystemError>
  /** Adds a source, or replaces the one with the same name. */
  readonly addSource: (source: Source) => Effect.Effect<void>
  /** How often an entry was returned as a result. Neighbors do not count. */
  readonly retrievalCount: (ownerId: string, id: EntryId) => Effect.Effect<number>
  /** For one owner, or for all. */
  readonly stats: (ownerId?: string | undefined) => Effect.Effect<Stats>
  /** Resets all counts. */
  readonly reset: Effect.Effect<void>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class MemoryRetriever extends Context.Tag("effect-lexigram/memory/MemoryRetriever")<
  MemoryRetriever,
  Service
>() {}
