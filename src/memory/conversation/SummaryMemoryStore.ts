/**
 * A store that replaces old entries by summaries and keeps the newest as they are.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Count from "../../internal/Count.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import { type MemoryEntry, type MemoryQuery, type MemorySearchResult, queryDefaults } from "../entry/MemoryEntry.js"
import type { ConsolidationError, RetrievalFailure } from "../entry/MemoryError.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import { EpisodicCompressor } from "../episodic/EpisodicCompressor.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as WrappedStore from "../search/WrappedStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Number of entries of a session at which the oldest are summarized. Default 20, at least 2. */
  readonly compressThreshold?: number | undefined
  /** Number of entries per summary. Default 10, at least 2 and at most the threshold. */
  readonly compressBatch?: number | undefined
  /** Maximum tokens of a summary. Default 200. */
  readonly maxTokens?: number | undefined
}

const isTold = (entry: MemoryEntry): boolean => !MemorySummary.isSummary(entry)

/** The oldest entries that the same branches recall; all of them if each is alone. */
const ofOneWay = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<MemoryEntry> => {
  const units = ToolPairs.units(entries).flatMap(({ entries: [first, ...rest] }) =>
    first === undefined ? [] : [[first, ...rest] as const]
  )
  for (const group of EntryGroups.groupBy(units, ([first]) => JSON.stringify(EntryGroups.way(first))).values()) {
    const together = group.flat()
    if (together.length > 1) return together
  }
  return entries
}

/** Results without neighbors, and the neighbors of each. */
const parted = (results: ReadonlyArray<MemorySearchResult>) => ({
  found: results.filter(({ neighbourOf }) => neighbourOf === undefined),
  beside: results.filter(({ neighbourOf }) => neighbourOf !== undefined)
})

/** Summaries first. A result that a page leaves out takes its neighbors along. */
const mergeSummaries = (
  summaries: ReadonlyArray<MemorySearchResult>,
  all: ReadonlyArray<MemorySearchResult>,
  page: { readonly offset: number; readonly topK: number }
): ReadonlyArray<MemorySearchResult> => {
  const first = parted(summaries)
  const second = parted(all)
  const found = [...first.found, ...second.found.filter(({ entry }) => isTold(entry))].slice(
    page.offset,
    page.offset + page.topK
  )
  const shown = new Set(found.map(({ entry }) => entry.id))
  return found.flatMap((result) => {
    const beside = [...first.beside, ...second.beside].filter(({ entry, neighbourOf }) => {
      if (neighbourOf !== result.entry.id || shown.has(entry.id)) return false
      shown.add(entry.id)
      return true
    })
    return [result, ...beside]
  })
}

/**
 * Wraps the underlying store. When a write brings a session of an owner (or what the owner has outside sessions) to the
 * threshold, the same write replaces its oldest entries by one summary, in one step. When there are as many summaries,
 * the oldest of them become one in turn. So a session never has more than twice the threshold of entries. Tool calls
 * are summarized with their results. What a session contains before and after it was rewound to an earlier turn is
 * summarized separately.
 *
 * A failing compressor changes nothing and does not fail the write: it is logged, and the next write retries.
 * `retrieve` returns summaries first, each part by score, unless the query filters by `type`. Its default number of
 * results is 10.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<MemoryStore.Service, never, MemoryStore.MemoryStore | EpisodicCompressor> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const compressor = yield* EpisodicCompressor
    const threshold = Count.count(options?.compressThreshold, 20, 2)
    const batch = Math.min(threshold, Count.count(options?.compressBatch, 10, 2))
    /** The places that are being summarized, and whether more entries were added meanwhile. */
    const busy = new Map<string, boolean>()

    /** Returns whether entries were summarized. */
    const sumUp = (
      place: WrappedStore.Place,
      accepts: (entry: MemoryEntry) => boolean
    ): Effect.Effect<boolean, RetrievalFailure | ConsolidationError> =>
      Effect.gen(function* () {
        const { ownerId } = place
        const entries = ofOneWay(
          yield* WrappedStore.oldest(store, { ownerId, selection: WrappedStore.selectionOf(place), n: batch, accepts })
        )
        if (entries.length < 2) return false
        const summary = yield* compressor.compress(entries, { maxTokens: options?.maxTokens })
        // Entries that were forgotten while the summary was written would survive in it.
        const gone = entries.map(({ id }) => id)
        return Option.isSome(yield* store.applyIf(ownerId, entries, { delete: gone, store: [summary] }))
      })

    const shrink = (place: WrappedStore.Place): Effect.Effect<void, RetrievalFailure | ConsolidationError> =>
      Effect.gen(function* () {
        const selection = WrappedStore.selectionOf(place)
        for (;;) {
          const all = yield* store.count(place.ownerId, selection)
          if (all < threshold) return
          const summaries = yield* store.count(place.ownerId, { ...selection, filters: { type: MemorySummary.TYPE } })
          const accepts =
            all - summaries >= threshold ? isTold : summaries >= threshold ? MemorySummary.isSummary : undefined
          if (accepts === undefined || !(yield* sumUp(place, accepts))) return
        }
      })

    /** One at a time per place. Concurrent calls leave the work to the one in progress. */
    const after = (place: WrappedStore.Place): Effect.Effect<void, RetrievalFailure> => {
      const key = WrappedStore.keyOf(place)
      const once = Effect.suspend(() => {
        busy.set(key, false)
        return shrink(place)
      })
      return Effect.suspend(() => {
        if (busy.has(key)) {
          busy.set(key, true)
          return Effect.void
        }
        return once.pipe(
          Effect.repeat({ while: () => busy.get(key) === true }),
          Effect.catchTag("ConsolidationError", (error) =>
            Effect.logWarning("Entries could not be summarized").pipe(Effect.annotateLogs({ "error.type": error.code }))
          ),
          Effect.ensuring(Effect.sync(() => busy.delete(key)))
        )
      })
    }

    const retrieve = (query: MemoryQuery): Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure> => {
      if (Object.hasOwn(query.filters ?? {}, "type")) return store.retrieve(query)
      const page = { offset: query.offset ?? queryDefaults.offset, topK: query.topK ?? queryDefaults.topK }
      const wanted = { ...query, offset: 0, topK: page.offset + page.topK }
      return Effect.flatMap(
        store.retrieve({ ...wanted, filters: { ...query.filters, type: MemorySummary.TYPE } }),
        (summaries) =>
          // At most this many of the results are summaries.
          Effect.map(store.retrieve({ ...wanted, topK: wanted.topK + summaries.length }), (all) =>
            mergeSummaries(summaries, all, page)
          )
      )
    }

    return {
      ...WrappedStore.make(store, {
        after: (entries) => Effect.forEach(WrappedStore.placesOf(entries), after, { discard: true })
      }),
      retrieve
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultEpisodicCompressor, InMemoryMemoryStore, SummaryMemoryStore } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // At 40 entries of a session the oldest 20 become one summary.
 * const store = SummaryMemoryStore.layer({ compressThreshold: 40, compressBatch: 20 }).pipe(
 *   Layer.provide([InMemoryMemoryStore.layer(), DefaultEpisodicCompressor.layerExtractive]),
 *   Layer.provide(TokenCounter.layerApproximate())
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<MemoryStore.MemoryStore, never, MemoryStore.MemoryStore | EpisodicCompressor> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
