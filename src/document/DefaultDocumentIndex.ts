/**
 * The document index over a memory backend: chunks are entries of a separate space beside the memory of their owner
 * (`OwnerNamespace.documents`), so that every backend of memory holds documents, and what erases or exports the memory
 * of an owner does so with the documents.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { EntryId } from "../domain/Ids.js"
import * as Count from "../internal/Count.js"
import * as KeyedLock from "../internal/fiber/KeyedLock.js"
import * as PlainId from "../internal/text/PlainId.js"
import * as EntryChecks from "../memory/entry/EntryChecks.js"
import type { MemoryBackend, Position } from "../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import * as OwnerNamespace from "../memory/entry/OwnerNamespace.js"
import * as DocumentCandidates from "./DocumentCandidates.js"
import * as Changes from "./DocumentChanges.js"
import type { IndexFailure, Service } from "./DocumentIndex.js"
import * as Rows from "./DocumentRows.js"
import * as DocumentSearch from "./DocumentSearch.js"
import type { Vectors } from "./DocumentVectors.js"
import { DocumentError } from "./format/DocumentError.js"
import type * as DocumentReader from "./format/DocumentReader.js"
import type * as Chunker from "./text/Chunker.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Chunker.Options, DocumentReader.Options {
  /** Chunks of a document at most. Default 20,000. */
  readonly maxChunks?: number | undefined
}

const MAX_PAGE = 1_000

const pageSize = (limit: number | undefined): number => Math.min(Count.count(limit, 100, 0), MAX_PAGE)

const cursorOf = (entry: MemoryEntry): string => JSON.stringify([entry.timestamp, entry.id])

const positionOf = (cursor: string): Effect.Effect<Position, DocumentError> =>
  Effect.try({
    try: () => {
      const [timestamp, id] = JSON.parse(cursor) as readonly [unknown, unknown]
      if (typeof timestamp !== "number" || !PlainId.is(id)) throw new Error("no position")
      return { timestamp, id: PlainId.make(EntryId, id) }
    },
    catch: () =>
      new DocumentError({
        reason: "Invalid",
        message: "The position of the page is malformed",
        hint: "Give the `next` of the page before"
      })
  })

/** The documents of a page, read on until it is full or there are no more. */
const list = (
  backend: MemoryBackend
): ((space: string, ...options: Tail<Service["list"]>) => ReturnType<Service["list"]>) =>
  Effect.fnUntraced(function* (space, { after, limit, tags = [] } = {}) {
    const most = pageSize(limit)
    const first = tags[0]
    const filters = first === undefined ? Rows.complete.filters : { ...Rows.complete.filters, tags: first }
    const wanted = DocumentCandidates.hasTags(tags)
    const documents: Array<Rows.Kept> = []
    let from = after === undefined ? undefined : yield* positionOf(after)
    while (documents.length < most) {
      const page: ReadonlyArray<MemoryEntry> = yield* backend.page(space, {
        limit: most - documents.length,
        selection: { ...Rows.complete, filters },
        after: from
      })
      const last = page.at(-1)
      if (last === undefined) break
      documents.push(...page.map(Rows.kept).filter(wanted))
      from = { timestamp: last.timestamp, id: last.id }
    }
    const last = documents.at(-1)
    return {
      documents: documents.map(({ info }) => info),
      ...(documents.length < most || last === undefined ? {} : { next: cursorOf(last.entry) })
    }
  })

type Tail<F> = F extends (first: any, ...rest: infer Rest) => any ? Rest : never

const makeReads = (parts: Changes.Parts): Omit<Service, "name" | "ingest" | "delete" | "clear" | "health"> => {
  const { backend } = parts
  return {
    search: (space, query) => DocumentSearch.search(parts, space, query),
    get: (space, id) =>
      Effect.map(Changes.recordOf(parts, space, id), (found) =>
        found === undefined || found.isPending ? undefined : found.info
      ),
    read: (space, id, options) => {
      const offset = Count.count(options?.offset, 0, 0)
      const limit = pageSize(options?.limit)
      const timeRange = { start: offset, end: offset + limit }
      return Effect.map(
        backend.page(space, { limit, selection: { sessionIds: [Rows.sessionOf(id)], timeRange } }),
        (found) => found.map(Rows.passage)
      )
    },
    list: list(backend),
    count: (space) =>
      Effect.gen(function* () {
        const documents = yield* backend.count(space, Rows.complete)
        const records = yield* backend.count(space, { sessionIds: [Rows.RECORDS] })
        return { documents, chunks: (yield* backend.count(space, {})) - records }
      })
  }
}

/**
 * Makes an index over a backend of memory. With `vectors`, passages are also found by meaning. If they cannot be
 * embedded, they are found by words until their document is ingested again.
 *
 * @example
 * ```ts
 * import { DefaultDocumentIndex, DocumentIndex } from "effect-lexigram/document"
 * import type { MemoryBackend } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Rows in a database of your own.
 * declare const backend: MemoryBackend.MemoryBackend
 *
 * const documents = Layer.succeed(
 *   DocumentIndex.DocumentIndex,
 *   DefaultDocumentIndex.fromBackend(backend, { maxChunks: 5000 })
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromBackend = (
  backend: MemoryBackend,
  options: Options & { readonly vectors?: Vectors | undefined } = {}
): Service => {
  const { count, maxTokens, overlapTokens, vectors, ...reading } = options
  const parts: Changes.Parts = {
    backend,
    vectors,
    lock: KeyedLock.make(),
    cut: { count, maxTokens, overlapTokens },
    reading,
    maxChunks: Count.count(options.maxChunks, 20_000, 1)
  }
  /** Runs an effect in the space of an owner. */
  const within = <A>(ownerId: string, use: (space: string) => Effect.Effect<A, IndexFailure>) =>
    Effect.suspend((): Effect.Effect<A, IndexFailure> => {
      return EntryChecks.owner(backend.name, ownerId) ?? use(OwnerNamespace.documents(ownerId))
    })
  const reads = makeReads(parts)
  return {
    name: backend.name,
    ingest: (ownerId, documents) =>
      within(ownerId, (space) =>
        Effect.forEach(documents, (document) =>
          Effect.zipLeft(Changes.ingest(parts, space, document), Effect.yieldNow())
        )
      ),
    search: (ownerId, query) => within(ownerId, (space) => reads.search(space, query)),
    get: (ownerId, id) => within(ownerId, (space) => reads.get(space, id)),
    read: (ownerId, id, options) => within(ownerId, (space) => reads.read(space, id, options)),
    list: (ownerId, options) => within(ownerId, (space) => reads.list(space, options)),
    count: (ownerId) => within(ownerId, (space) => reads.count(space)),
    delete: (ownerId, ids) =>
      within(ownerId, (space) =>
        Effect.map(
          Effect.forEach(new Set(ids), (id) => Changes.remove(parts, space, id)),
          (removed) => removed.filter((existed) => existed).length
        )
      ),
    clear: (ownerId) =>
      within(ownerId, (space) =>
        Effect.gen(function* () {
          const documents = yield* backend.count(space, Rows.complete)
          yield* backend.clear(space)
          if (vectors !== undefined) yield* Effect.ignoreLogged(vectors.index.clear(space))
          return documents
        })
      ),
    health: backend.health
  }
}
