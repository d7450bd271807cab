/**
 * Finds the chunks that may answer a query, by words and by meaning, among the documents that have certain tags.
 *
 * Chunks do not have the tags of their document. If few documents have a tag, the search is restricted to their chunks.
 * If many have it, a search of all chunks finds enough of theirs; only when it does not, all documents with the tag are
 * read.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../domain/Ids.js"
import * as Parallel from "../internal/fiber/Parallel.js"
import type { LexicalMatches, Position } from "../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import type { VectorHit } from "../memory/search/VectorIndex.js"
import type { Parts } from "./DocumentChanges.js"
import type { IndexFailure, Query } from "./DocumentIndex.js"
import * as Rows from "./DocumentRows.js"
import * as DocumentVectors from "./DocumentVectors.js"

/** Records that are read at once, and at most of a tag that few documents have. */
const PAGE = 500

/** How many times the candidates that are wanted a search of all chunks reads, one attempt after the other. */
const WIDENINGS = [1, 4, 16]

/**
 * @category models
 */
export interface Candidates {
  readonly lexical: LexicalMatches
  /** Absent without vectors. */
  readonly nearest: ReadonlyArray<VectorHit> | undefined
  readonly warning?: string | undefined
}

interface Asked {
  readonly text: string
  /** Candidates of each ranking. */
  readonly limit: number
}

/**
 * Whether a document has all of the tags.
 *
 * @category guards
 */
export const hasTags = (tags: ReadonlyArray<string>): ((kept: Rows.Kept) => boolean) => {
  const wanted = new Set(tags)
  return ({ info }) => info.tags.filter((tag) => wanted.has(tag)).length === wanted.size
}

const meaningless: { readonly value?: ReadonlyArray<VectorHit>; readonly warning?: string } = {}

/** Among the chunks of these sessions; `undefined` for all. */
const within = (
  { backend, vectors }: Parts,
  space: string,
  { limit, text }: Asked,
  sessionIds: ReadonlyArray<SessionId> | undefined
): Effect.Effect<Candidates, IndexFailure> =>
  Parallel.zip(
    backend.lexical(space, { text, limit, selection: sessionIds === undefined ? {} : { sessionIds } }),
    vectors === undefined
      ? Effect.succeed(meaningless)
      : DocumentVectors.warned(
          DocumentVectors.nearest(vectors, space, { text, limit, sessionIds }),
          "Documents were searched by words alone"
        )
  ).pipe(Effect.map(([lexical, { value: nearest, warning }]) => ({ lexical, nearest, warning })))

const none: Candidates = { lexical: { hits: [], ceiling: 0, entries: 0 }, nearest: undefined }

const sessionOf = ({ info }: Rows.Kept): SessionId => Rows.sessionOf(info.id)

const pageOf = (parts: Parts, space: string, tag: string, after?: Position | undefined) =>
  // The tag comes first: backends find few entries by the first filter.
  parts.backend.page(space, {
    limit: PAGE,
    selection: { ...Rows.complete, filters: { tags: tag, ...Rows.complete.filters } },
    after
  })

/** The sessions of all documents with these tags, if few have one of them. */
const ofRareTag = Effect.fnUntraced(function* (parts: Parts, space: string, tags: ReadonlyArray<string>) {
  for (const tag of tags) {
    const page = yield* pageOf(parts, space, tag)
    if (page.length < PAGE) return page.map(Rows.kept).filter(hasTags(tags)).map(sessionOf)
  }
  return undefined
})

/** The sessions of all documents with these tags. */
const ofTags = Effect.fnUntraced(function* (parts: Parts, space: string, tags: ReadonlyArray<string>) {
  const found: Array<SessionId> = []
  for (let after: Position | undefined; ; ) {
    const page: ReadonlyArray<MemoryEntry> = yield* pageOf(parts, space, tags[0] as string, after)
    found.push(...page.map(Rows.kept).filter(hasTags(tags)).map(sessionOf))
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return found
    after = { timestamp: last.timestamp, id: last.id }
  }
})

/** The sessions of those of these documents that have the tags. */
const ofDocuments = Effect.fnUntraced(function* (
  { backend }: Parts,
  space: string,
  documents: ReadonlyArray<string>,
  tags: ReadonlyArray<string>
) {
  const named = Array.from(new Set(documents))
  if (tags.length === 0) return named.map(Rows.sessionOf)
  const wanted = hasTags(tags)
  const records = yield* backend.get(space, named.map(Rows.recordIdOf))
  return records
    .map(Rows.kept)
    .filter((kept) => !kept.isPending && wanted(kept))
    .map(sessionOf)
})

/** Tests chunks by the tags of their documents. Each document is read once. */
const tester = ({ backend }: Parts, space: string, tags: ReadonlyArray<string>) => {
  const hasAll = hasTags(tags)
  const sessions = new Map<EntryId, SessionId | undefined>()
  const isWanted = new Map<SessionId, boolean>()
  const read = Effect.fnUntraced(function* ({ lexical, nearest = [] }: Candidates) {
    for (const { entry } of lexical.hits) sessions.set(entry.id, entry.sessionId)
    const unknown = nearest.flatMap(({ id }) => (sessions.has(id) ? [] : [id]))
    for (const { id, sessionId } of unknown.length === 0 ? [] : yield* backend.get(space, unknown)) {
      sessions.set(id, sessionId)
    }
    const fresh = new Set<SessionId>()
    for (const session of sessions.values()) if (session !== undefined && !isWanted.has(session)) fresh.add(session)
    const ids = Array.from(fresh, Rows.recordIdOfSession)
    for (const session of fresh) isWanted.set(session, false)
    for (const record of ids.length === 0 ? [] : yield* backend.get(space, ids)) {
      const kept = Rows.kept(record)
      isWanted.set(sessionOf(kept), !kept.isPending && hasAll(kept))
    }
  })
  const test = (id: EntryId): boolean => {
    const session = sessions.get(id)
    return session !== undefined && isWanted.get(session) === true
  }
  return { read, test }
}

/** Those of many documents that have the tags. The same as among the chunks of all of them. */
const amongMany = Effect.fnUntraced(function* (parts: Parts, space: string, asked: Asked, tags: ReadonlyArray<string>) {
  const { limit } = asked
  const { read, test } = tester(parts, space, tags)
  for (const times of WIDENINGS) {
    const wide = limit * times
    const found = yield* within(parts, space, { ...asked, limit: wide }, undefined)
    yield* read(found)
    const hits = found.lexical.hits.filter(({ entry }) => test(entry.id))
    const nearest = found.nearest?.filter(({ id }) => test(id))
    const isEnough = (all: ReadonlyArray<unknown>, kept: ReadonlyArray<unknown>) =>
      kept.length >= limit || all.length < wide
    if (isEnough(found.lexical.hits, hits) && isEnough(found.nearest ?? [], nearest ?? [])) {
      const lexical = { ...found.lexical, hits: hits.slice(0, limit) }
      return { ...found, lexical, nearest: nearest?.slice(0, limit) }
    }
  }
  return yield* within(parts, space, asked, yield* ofTags(parts, space, tags))
})

/**
 * @category combinators
 */
export const find = (
  parts: Parts,
  space: string,
  asked: Asked,
  { documents, tags = [] }: Pick<Query, "documents" | "tags">
): Effect.Effect<Candidates, IndexFailure> =>
  Effect.gen(function* () {
    if (documents === undefined && tags.length === 0) return yield* within(parts, space, asked, undefined)
    const sessionIds: ReadonlyArray<SessionId> | undefined =
      documents === undefined ? yield* ofRareTag(parts, space, tags) : yield* ofDocuments(parts, space, documents, tags)
    if (sessionIds === undefined) return yield* amongMany(parts, space, asked, tags)
    return sessionIds.length === 0 ? none : yield* within(parts, space, asked, sessionIds)
  })
