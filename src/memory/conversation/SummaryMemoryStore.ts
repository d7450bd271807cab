/**
 * A store that sums up what gets old: the newest entries stay as they are, those before become summaries.
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
  /** Entries of a session that are not summed up, from which on the oldest are; default 20, at least 2. */
  readonly compressThreshold?: number | undefined
  /** How many of them become one summary; default 10, at least 2 and no more than the threshold. */
  readonly compressBatch?: number | undefined
  /** Tokens of a summary at most; default 200. */
  readonly maxTokens?: number | undefined
}

const isTold = (entry: MemoryEntry): boolean => !MemorySummary.isSummary(entry)

/** The oldest that the same branches of a session recall; all of them where each stands alone. */
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

/** Results without neighbours, and the neighbours of each. */
const parted = (results: ReadonlyArray<MemorySearchResult>) => ({
  found: results.filter(({ neighbourOf }) => neighbourOf === undefined),
  beside: results.filter(({ neighbourOf }) => neighbourOf !== undefined)
})

/** Summaries first; what a page leaves out takes its neighbours along. */
const merged = (
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
 * The store below. When a session of an owner (or what the owner has outside of sessions) has as many entries as the
 * threshold after a write, its oldest become one summary, in one step and by that write; when there are as many
 * summaries, the oldest of those become one in their turn. So a session never has more than twice the threshold,
 * however long it is. Calls of tools are summed up with their results, and what a session said before and since it was
 * taken back to an earlier turn apart.
 *
 * A compressor that fails changes nothing and fails no write: it is logged, and the next write tries again. `retrieve`
 * gives summaries first, each part by its scores, unless the query says which `type` it wants; a query that does not
 * say how many gets 10.
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
    /** The places that are being shrunk, and whether more came meanwhile. */
    const busy = new Map<string, boolean>()

    /** Whether something was summed up. */
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
        // What was forgotten while the summary was written would live on in it.
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

    /** One at a time for each place: who comes meanwhile leaves it to the one that is at it. */
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
            Effect.logWarning("entries were not summed up").pipe(Effect.annotateLogs({ "error.type": error.code }))
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
          // Of so many results no more than these are summaries.
          Effect.map(store.retrieve({ ...wanted, topK: wanted.topK + summaries.length }), (all) =>
            merged(summaries, all, page)
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
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<MemoryStore.MemoryStore, never, MemoryStore.MemoryStore | EpisodicCompressor> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
