/**
 * Episodic memory over a memory store.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import type { MemoryEntry, MemorySearchResult } from "../entry/MemoryEntry.js"
import { ConsolidationError } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import * as Scoring from "../entry/Scoring.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as Renewal from "../search/Renewal.js"
import * as EpisodicCompressor from "./EpisodicCompressor.js"
import { EpisodicMemory, type Service } from "./EpisodicMemory.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Number of results of a query that does not set it. Default 10. */
  readonly defaultTopK?: number | undefined
  /** For queries that do not set it. Default 0.3. */
  readonly recencyWeight?: number | undefined
  /** For queries that do not set it. Default 0.2. */
  readonly importanceWeight?: number | undefined
  /** For queries that do not set it. Default 0.5. */
  readonly relevanceWeight?: number | undefined
  /**
   * How long an entry is kept after it was recorded, unless it expires earlier. Default 0: as long as the store keeps
   * it.
   */
  readonly ttl?: Duration.DurationInput | undefined
  /** Renews this `ttl` on recall, if the store has the same option (`DefaultMemoryStore.Options`). Default off. */
  readonly renewal?: Renewal.Options | undefined
}

/**
 * Defaults for queries that omit these fields.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  defaultTopK: 10,
  recencyWeight: 0.3,
  importanceWeight: 0.2,
  relevanceWeight: 0.5
} as const

const weight = (given: number | undefined, otherwise: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.min(1, Math.max(0, given))

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<Service, never, MemoryStore.MemoryStore | EpisodicCompressor.EpisodicCompressor> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const compressor = yield* EpisodicCompressor.EpisodicCompressor
    const telemetry = yield* MemoryTelemetry.make
    const topK = Count.count(options?.defaultTopK, defaults.defaultTopK, 1)
    const recencyWeight = weight(options?.recencyWeight, defaults.recencyWeight)
    const importanceWeight = weight(options?.importanceWeight, defaults.importanceWeight)
    const relevanceWeight = weight(options?.relevanceWeight, defaults.relevanceWeight)
    const ttl = Duration.toMillis(options?.ttl ?? 0)

    const kept = (entry: MemoryEntry, now: number): MemoryEntry =>
      ttl > 0 && Number.isFinite(ttl)
        ? {
            ...Renewal.marked(entry, { life: ttl, now, options: options?.renewal }),
            expiresAt: Math.min(entry.expiresAt ?? Number.POSITIVE_INFINITY, now + ttl)
          }
        : entry

    const written = (entries: ReadonlyArray<MemoryEntry>): Effect.Effect<void> => {
      const ids = new Map<string, Set<EntryId>>()
      for (const { id, ownerId } of entries) {
        const own = ids.get(ownerId)
        if (own === undefined) ids.set(ownerId, new Set([id]))
        else own.add(id)
      }
      return Effect.forEach(
        ids,
        ([ownerId, own]) => telemetry.written({ tier: "episodic", backend: store.name, ownerId, ids: Array.from(own) }),
        { discard: true }
      )
    }

    return {
      record: (entry) =>
        Effect.clockWith((clock) => store.store(kept(entry, clock.unsafeCurrentTimeMillis()))).pipe(
          MemoryTelemetry.observed("episodic", "record"),
          Effect.zipRight(Effect.suspend(() => written([entry])))
        ),
      recordMany: (entries) =>
        Effect.clockWith((clock) => {
          const now = clock.unsafeCurrentTimeMillis()
          return store.storeMany(entries.map((entry) => kept(entry, now)))
        }).pipe(
          MemoryTelemetry.observed("episodic", "record"),
          Effect.zipRight(Effect.suspend(() => written(entries)))
        ),
      recall: (query, options) =>
        store
          .retrieve({
            ...query,
            topK: query.topK ?? topK,
            recencyWeight: query.recencyWeight ?? recencyWeight,
            importanceWeight: query.importanceWeight ?? importanceWeight,
            relevanceWeight: query.relevanceWeight ?? relevanceWeight
          })
          .pipe(
            Effect.tap((results) =>
              options?.counted === false ? Effect.void : countRecalls(store, query.ownerId, results)
            ),
            MemoryTelemetry.observed("episodic", "recall"),
            Effect.tap((results) =>
              telemetry.retrieved({ tier: "episodic", ownerId: query.ownerId, count: results.length })
            )
          ),
      recordAccess: (ownerId, ids) =>
        ids.length === 0
          ? Effect.void
          : MemoryTelemetry.observed(
              "episodic",
              "record_access"
            )(store.recordAccess(ownerId, Array.from(new Set(ids)))),
      recent: (options) => MemoryTelemetry.observed("episodic", "recent")(store.getRecent(options)),
      forget: (ownerId, id) => MemoryTelemetry.observed("episodic", "forget")(store.delete(ownerId, id)),
      compress: (options) =>
        compress(store, compressor, options).pipe(
          MemoryTelemetry.observed("episodic", "compress"),
          Effect.tap((summary) => written([summary]))
        ),
      health: store.health
    }
  })

/** A failure to count the recalls does not fail the recall. */
const countRecalls = (
  store: MemoryStore.Service,
  ownerId: string,
  results: ReadonlyArray<MemorySearchResult>
): Effect.Effect<void> => {
  const ids = new Set(results.filter(Scoring.isRelevant).map(({ entry }) => entry.id))
  return ids.size === 0
    ? Effect.void
    : Effect.catchAll(store.recordAccess(ownerId, Array.from(ids)), (error) =>
        Effect.logWarning("Recalled entries could not be counted").pipe(
          Effect.annotateLogs({ module: "EpisodicMemory", error: error._tag, store: store.name })
        )
      )
}

const compress = Effect.fnUntraced(function* (
  store: MemoryStore.Service,
  compressor: EpisodicCompressor.Service,
  options: Parameters<Service["compress"]>[0]
) {
  const { ownerId } = options
  const entries = yield* store.getMany(ownerId, Array.from(new Set(options.ids)))
  if (entries.length === 0) {
    return yield* new ConsolidationError({
      message: "None of the entries to summarize exists",
      hint: "Summarize entries that were not forgotten or summarized before"
    })
  }
  if (options.acrossSessions !== true && entries.some(({ sessionId }) => sessionId !== entries[0]?.sessionId)) {
    return yield* new ConsolidationError({
      message: "The entries to summarize belong to different sessions",
      hint: "Summarize each session separately, or set `acrossSessions`"
    })
  }
  const summary = yield* compressor.compress(entries, { maxTokens: options.maxTokens })
  // Entries that were forgotten while the summary was written would survive in it.
  const still = yield* store.getMany(
    ownerId,
    entries.map(({ id }) => id)
  )
  const isCurrent =
    still.length === entries.length && still.every(({ content }, index) => content === entries[index]?.content)
  const change = { delete: entries.map(({ id }) => id), store: [summary] }
  const done = isCurrent ? yield* store.applyIf(ownerId, still, change) : Option.none()
  if (Option.isNone(done)) {
    return yield* new ConsolidationError({
      message: "Some of the entries were forgotten or changed while they were summarized",
      hint: "Summarize them again in their current state"
    })
  }
  return summary
})

/**
 * Episodic memory over the memory store in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import {
 *   DefaultEpisodicCompressor,
 *   DefaultEpisodicMemory,
 *   EpisodicMemory,
 *   InMemoryMemoryStore
 * } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = EpisodicMemory.EpisodicMemory.pipe(
 *   Effect.flatMap((memory) => memory.recall({ ownerId: "ada", query: "Which room is my desk in?" })),
 *   Effect.provide(DefaultEpisodicMemory.layer({ defaultTopK: 5, relevanceWeight: 0.8 })),
 *   Effect.provide([InMemoryMemoryStore.layer(), DefaultEpisodicCompressor.layerExtractive]),
 *   Effect.provide(TokenCounter.layerApproximate())
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<EpisodicMemory, never, MemoryStore.MemoryStore | EpisodicCompressor.EpisodicCompressor> =>
  Layer.effect(EpisodicMemory, make(options))
