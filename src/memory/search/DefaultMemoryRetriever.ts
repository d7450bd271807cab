/**
 * Queries all sources concurrently, each with a timeout. A source that fails or is too slow is skipped and reported.
 * Results are ranked once, by their relevance; the scores of the sources are ignored.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Step from "../../observability/Step.js"
import { type MemoryQuery, type MemorySearchResult, queryDefaults } from "../entry/MemoryEntry.js"
import { MemoryStoreError, MemorySystemError, StorageError } from "../entry/MemoryError.js"
import * as MemoryRetriever from "./MemoryRetriever.js"
import * as MemoryStore from "./MemoryStore.js"
import * as RelevanceRanker from "./RelevanceRanker.js"
import * as Retrieval from "./Retrieval.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends RelevanceRanker.Options {
  readonly sources: ReadonlyArray<MemoryRetriever.Source>
  /** Timeout of a source. Default 5 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Number of sources queried at the same time. Default all. */
  readonly concurrency?: number | "unbounded" | undefined
  /** Maximum number of entries whose retrievals are counted: the most recent. Default 10,000. */
  readonly maxCounted?: number | undefined
}

const distinct = (sources: ReadonlyArray<MemoryRetriever.Source>): ReadonlyArray<MemoryRetriever.Source> =>
  Array.from(new Map(sources.map((source) => [source.name, source])).values())

interface Counted {
  readonly ownerId: string
  readonly id: EntryId
  count: number
}

const keyOf = (ownerId: string, id: string): string => `${ownerId.length}:${ownerId}${id}`

/** Counts how often entries were returned, for a bounded number of the most recent. */
class Counts {
  private readonly counts = new Map<string, Counted>()

  constructor(private readonly most: number) {}

  add(ownerId: string, id: EntryId): void {
    const key = keyOf(ownerId, id)
    const counted = this.counts.get(key) ?? { ownerId, id, count: 0 }
    counted.count++
    this.counts.delete(key)
    this.counts.set(key, counted)
    if (this.counts.size <= this.most) return
    for (const oldest of this.counts.keys()) {
      this.counts.delete(oldest)
      break
    }
  }

  of(ownerId: string, id: EntryId): number {
    return this.counts.get(keyOf(ownerId, id))?.count ?? 0
  }

  stats(ownerId: string | undefined): MemoryRetriever.Stats {
    const all = Array.from(this.counts.values()).filter((one) => ownerId === undefined || one.ownerId === ownerId)
    return {
      total: all.reduce((sum, { count }) => sum + count, 0),
      unique: all.length,
      top: all
        .sort((a, b) => b.count - a.count || (keyOf(a.ownerId, a.id) < keyOf(b.ownerId, b.id) ? -1 : 1))
        .slice(0, 10)
        .map((one) => ({ ...one }))
    }
  }

  clear(): void {
    this.counts.clear()
  }
}

/**
 * Keeps the most relevant result of each entry; of equal results that of the earlier source. Neighbors go with their
 * result.
 */
class Merged {
  readonly found = new Map<string, MemorySearchResult>()
  private readonly beside = new Map<MemorySearchResult, Array<MemorySearchResult>>()

  add(source: string, results: ReadonlyArray<MemorySearchResult>): void {
    const own = new Map<string, MemorySearchResult>()
    for (const one of results) {
      const result = { ...one, source }
      const { neighbourOf } = result
      if (neighbourOf === undefined) {
        own.set(result.entry.id, result)
        const known = this.found.get(result.entry.id)
        if (known === undefined || known.relevance < result.relevance) this.found.set(result.entry.id, result)
      } else {
        const of = own.get(neighbourOf)
        if (of === undefined) continue
        const neighbours = this.beside.get(of)
        if (neighbours === undefined) this.beside.set(of, [result])
        else neighbours.push(result)
      }
    }
  }

  /** Adds to a page the neighbors that each result has in its source, without duplicates. */
  surrounded(page: ReadonlyArray<MemorySearchResult>): ReadonlyArray<MemorySearchResult> {
    if (this.beside.size === 0) return page
    const seen = new Set(page.map(({ entry }) => entry.id))
    return page.flatMap((result) => {
      const original = this.found.get(result.entry.id)
      const neighbours = original === undefined ? [] : (this.beside.get(original) ?? [])
      const fresh = neighbours.filter(({ entry }) => !seen.has(entry.id) && seen.add(entry.id))
      return [result, ...fresh.map((one) => ({ ...one, score: result.score }))]
    })
  }
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DefaultMemoryRetriever, InMemoryMemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const own = yield* InMemoryMemoryStore.make()
 *   const sources = [{ name: "own", retrieve: own.retrieve }]
 *   const retriever = yield* DefaultMemoryRetriever.make({ sources, timeout: "2 seconds" })
 *   const { degraded, results } = yield* retriever.retrieve({ ownerId: "anna", query: "Where does Tom live?" })
 * })
 * ```
 */
export const make = (options: Options): Effect.Effect<MemoryRetriever.Service> =>
  Effect.sync(() => {
    let sources = distinct(options.sources)
    const counts = new Counts(Count.count(options.maxCounted, 10_000, 0))
    const timeout = Duration.toMillis(options.timeout ?? "5 seconds")

    const ask = (source: MemoryRetriever.Source, query: MemoryQuery) =>
      Effect.either(
        Deadline.run(() => source.retrieve(query), {
          whole: timeout,
          onTimeout: () =>
            new StorageError({ message: `The source "${source.name}" gave no answer within ${timeout} ms` })
        })
      )

    const answer = Effect.fnUntraced(function* (query: MemoryQuery) {
      const weights = yield* RelevanceRanker.weightsOf(query, options)
      const topK = query.topK ?? queryDefaults.topK
      const offset = query.offset ?? queryDefaults.offset
      const arranges = (query.diversity ?? 0) > 0 || query.suppressDuplicates !== undefined
      const asked = sources
      const answers = yield* Step.forEach(
        asked,
        (source) =>
          ask(source, {
            ...query,
            // Whatever the page, each source may have all of it. Offset, duplicates and diversity apply across the
            // sources.
            topK: arranges ? Math.max(offset + topK, Retrieval.poolSize) : offset + topK,
            offset: 0,
            diversity: undefined,
            suppressDuplicates: undefined,
            recencyWeight: weights.recency,
            importanceWeight: weights.importance,
            relevanceWeight: weights.relevance
          }),
        { concurrency: options.concurrency }
      )
      const degraded: Array<MemoryRetriever.Degraded> = []
      const merged = new Merged()
      for (const [at, given] of answers.entries()) {
        const { name } = asked[at] as MemoryRetriever.Source
        if (Either.isLeft(given)) {
          degraded.push({ source: name, error: given.left })
          continue
        }
        const own = given.right.filter(({ entry }) => entry.ownerId === query.ownerId)
        merged.add(name, own)
        if (own.length === given.right.length) continue
        const message = `The source "${name}" gave entries of another owner`
        degraded.push({ source: name, error: new MemoryStoreError({ message, store: name }) })
      }
      if (asked.length > 0 && answers.every(Either.isLeft)) {
        return yield* new MemorySystemError({
          message: `Every source of memory failed: ${degraded.map((one) => `${one.source} (${one.error._tag})`).join(", ")}`,
          cause: degraded.map(({ error }) => error)
        })
      }
      const ranked = yield* RelevanceRanker.rank(Array.from(merged.found.values()), query, options)
      const page = Retrieval.paged(Retrieval.arranged(ranked, query), offset, topK)
      for (const { entry } of page) counts.add(entry.ownerId, entry.id)
      return { results: merged.surrounded(page), degraded }
    })

    return {
      retrieve: (query) =>
        Effect.tap(answer(query), ({ degraded }) =>
          degraded.length === 0
            ? Effect.void
            : Effect.annotateLogs(Effect.logWarning("Memory answered without some of its sources"), {
                module: "effect-lexigram/memory/MemoryRetriever",
                sources: degraded.map(({ error, source }) => `${source}: ${error._tag}`).join(", ")
              })
        ),
      addSource: (source) =>
        Effect.sync(() => {
          sources = distinct([...sources, source])
        }),
      retrievalCount: (ownerId, id) => Effect.sync(() => counts.of(ownerId, id)),
      stats: (ownerId) => Effect.sync(() => counts.stats(ownerId)),
      reset: Effect.sync(() => counts.clear())
    }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<MemoryRetriever.MemoryRetriever> =>
  Layer.effect(MemoryRetriever.MemoryRetriever, make(options))

/**
 * Uses the store in context as the first source, before the given ones.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStore = (
  options?: Partial<Options> | undefined
): Layer.Layer<MemoryRetriever.MemoryRetriever, never, MemoryStore.MemoryStore> =>
  Layer.effect(
    MemoryRetriever.MemoryRetriever,
    Effect.flatMap(MemoryStore.MemoryStore, (store) =>
      make({ ...options, sources: [store, ...(options?.sources ?? [])] })
    )
  )
