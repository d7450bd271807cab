/**
 * Lets go of what matters little or is long past.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { RetrievalFailure } from "../entry/MemoryError.js"
import * as MemoryMetrics from "../entry/MemoryMetrics.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import * as MemoryStore from "../search/MemoryStore.js"

/**
 * @since 0.1.0
 * @category schemas
 */
export const PruneResult = Schema.Struct({
  /** How many are gone; with `dryRun` how many would be. */
  prunedCount: Schema.NonNegativeInt,
  /** How many the owner has afterwards; with `dryRun` would have. */
  remainingCount: Schema.NonNegativeInt,
  metadata: Schema.Struct({
    dryRun: Schema.Boolean,
    importanceThreshold: Schema.Number,
    /** In milliseconds; absent when the age did not matter. */
    maxAgeMs: Schema.optional(Schema.Number),
    /** Of those that went, the ones below the threshold. */
    unimportant: Schema.NonNegativeInt,
    /** Of those that went, the ones past the age; one may be both. */
    aged: Schema.NonNegativeInt
  })
}).annotations({ identifier: "effect-lexigram/memory/MemoryPruner/PruneResult" })
/**
 * @since 0.1.0
 * @category models
 */
export interface PruneResult extends Schema.Schema.Type<typeof PruneResult> {}

/** Entries that are looked at, and deleted, at once. */
const page = 500

/**
 * Deletes entries of an owner that are less important than the threshold or older than the age; either is enough. A
 * call of a tool and its results go together or not at all. Entries are read in pages, so memory is bounded; what is
 * stored meanwhile stays. Two at once delete everything once, and each counts what it deleted.
 *
 * @since 0.1.0
 * @category constructors
 */
export const prune = (options: {
  readonly ownerId: string
  /** Less important entries go; default 0.1, 0 lets none go. */
  readonly importanceThreshold?: number | undefined
  /** Entries that are older go. Off unless set. */
  readonly maxAge?: Duration.DurationInput | undefined
  /** Counts what would go and deletes nothing. Default false. */
  readonly dryRun?: boolean | undefined
}): Effect.Effect<PruneResult, RetrievalFailure, MemoryStore.MemoryStore> =>
  Effect.gen(function* () {
    const { dryRun = false, importanceThreshold = 0.1, ownerId } = options
    const maxAgeMs = options.maxAge === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(options.maxAge)
    const store = yield* MemoryStore.MemoryStore
    const now = yield* Clock.currentTimeMillis
    const isUnimportant = (entry: MemoryEntry): boolean => entry.importance < importanceThreshold
    const isAged = (entry: MemoryEntry): boolean => now - entry.timestamp > maxAgeMs
    let prunedCount = 0
    let unimportant = 0
    let aged = 0
    yield* store.stream(ownerId).pipe(
      Stream.grouped(page),
      Stream.runForEach((entries) => {
        const gone = ToolPairs.units(Chunk.toReadonlyArray(entries)).flatMap((unit) =>
          unit.entries.every((entry) => isUnimportant(entry) || isAged(entry)) ? unit.entries : []
        )
        if (gone.length === 0) return Effect.void
        unimportant += gone.filter(isUnimportant).length
        aged += gone.filter(isAged).length
        const deleted = dryRun
          ? Effect.succeed(gone.length)
          : store.apply(ownerId, { delete: gone.map((entry) => entry.id) })
        return Effect.map(deleted, (count) => {
          prunedCount += count
        })
      })
    )
    const count = yield* store.count(ownerId)
    return {
      prunedCount,
      remainingCount: dryRun ? Math.max(0, count - prunedCount) : count,
      metadata: {
        dryRun,
        importanceThreshold,
        ...(Number.isFinite(maxAgeMs) ? { maxAgeMs } : {}),
        unimportant,
        aged
      }
    }
  }).pipe(Effect.withSpan(`${MemoryMetrics.SPAN_MEMORY}prune`, { captureStackTrace: false }))
