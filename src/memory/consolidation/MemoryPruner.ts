/**
 * Deletes unimportant and old entries.
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
  /** Number of deleted entries; with `dryRun`, of those that would be deleted. */
  prunedCount: Schema.NonNegativeInt,
  /** Number of entries the owner has afterwards; with `dryRun`, would have. */
  remainingCount: Schema.NonNegativeInt,
  metadata: Schema.Struct({
    dryRun: Schema.Boolean,
    importanceThreshold: Schema.Number,
    /** In milliseconds. Absent if age was not considered. */
    maxAgeMs: Schema.optional(Schema.Number),
    /** Deleted entries below the threshold. */
    unimportant: Schema.NonNegativeInt,
    /** Deleted entries past the age. An entry may be both. */
    aged: Schema.NonNegativeInt
  })
}).annotations({ identifier: "effect-lexigram/memory/MemoryPruner/PruneResult" })
/**
 * @since 0.1.0
 * @category models
 */
export interface PruneResult extends Schema.Schema.Type<typeof PruneResult> {}

/** Entries read and deleted at once. */
const page = 500

/**
 * Deletes entries of an owner that are less important than the threshold or older than the age. A tool call and its
 * results go together or not at all. Reads entries page by page, so memory is bounded. Entries stored meanwhile stay.
 * Two concurrent calls delete everything once, and each counts what it deleted.
 *
 * @since 0.1.0
 * @category constructors
 */
export const prune = (options: {
  readonly ownerId: string
  /** Deletes less important entries. Default 0.1; 0 deletes none. */
  readonly importanceThreshold?: number | undefined
  /** Deletes older entries. Off by default. */
  readonly maxAge?: Duration.DurationInput | undefined
  /** Only counts what would be deleted. Default false. */
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
