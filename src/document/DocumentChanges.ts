/**
 * Writes and deletes documents, each in one step.
 *
 * A change applies only while the record of the document is as it was read, so that of two writers one reads again. A
 * new document gets a pending record first, which the change then replaces.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EntryId } from "../domain/Ids.js"
import type { KeyedLock } from "../internal/fiber/KeyedLock.js"
import type { MemoryBackend, Position } from "../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import { type Document, DocumentId, maxTags, Tag } from "./Document.js"
import type { IndexFailure, Ingested } from "./DocumentIndex.js"
import * as Rows from "./DocumentRows.js"
import * as DocumentVectors from "./DocumentVectors.js"
import { DocumentError } from "./format/DocumentError.js"
import * as DocumentReader from "./format/DocumentReader.js"
import type { DocumentText } from "./format/DocumentText.js"
import * as Chunker from "./text/Chunker.js"

/**
 * What an index is made of.
 *
 * @category models
 */
export interface Parts {
  readonly backend: MemoryBackend
  readonly vectors: DocumentVectors.Vectors | undefined
  readonly lock: KeyedLock
  readonly cut: Chunker.Options
  readonly reading: DocumentReader.Options
  readonly maxChunks: number
}

/** How often a change is repeated because another writer was first. */
const MAX_ATTEMPTS = 20

/** Entries that are read at once. */
const PAGE = 500

const Described = Schema.Struct({
  id: DocumentId,
  title: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(500))),
  source: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2_000))),
  tags: Schema.optional(Schema.Array(Tag).pipe(Schema.maxItems(maxTags))),
  format: Schema.optional(Schema.Literal("text", "markdown", "html", "pdf")),
  content: Schema.Union(Schema.String, Schema.Uint8ArrayFromSelf)
})

const isDescribed = Schema.is(Described)

const rules =
  "An id and a source have 1 to 2,000 characters, a title 1 to 500, a tag 1 to 100, and a document at most 32 tags; the content is text or bytes"

const changing = (id: string): DocumentError =>
  new DocumentError({
    reason: "Changing",
    document: id,
    message: "Other writers kept changing the document",
    hint: "Ingest a document by one writer at a time"
  })

const describe = ({ cut }: Parts, document: Document): Effect.Effect<Rows.Described, DocumentError> => {
  if (!isDescribed(document)) {
    return new DocumentError({ reason: "Invalid", message: "The document is out of bounds", hint: rules })
  }
  const { id, source = id, tags = [], title } = document
  return Effect.sync(() => ({
    id,
    title,
    source,
    tags: Array.from(new Set(tags)),
    hash: Rows.hashOf(document, [cut.maxTokens, cut.overlapTokens])
  }))
}

/** Reads and cuts a document. */
const read = Effect.fnUntraced(function* (parts: Parts, document: Document) {
  const { cut, maxChunks, reading } = parts
  const { content, format, id, source } = document
  const text = yield* DocumentReader.read({ content, format, name: id, source }, reading)
  const chunks = Chunker.chunks(text.text, text.syntax, cut)
  if (chunks.length > maxChunks) {
    return yield* new DocumentError({
      reason: "TooLarge",
      document: id,
      message: `The document has ${chunks.length} chunks; ${maxChunks} are allowed`,
      hint: "Split the document, or raise `maxChunks` or `maxTokens`"
    })
  }
  return { text, chunks }
})

/**
 * The record of a document, if there is one.
 *
 * @category getters
 */
export const recordOf = (
  { backend }: Pick<Parts, "backend">,
  space: string,
  id: string
): Effect.Effect<Rows.Kept | undefined, IndexFailure> =>
  Effect.map(backend.get(space, [Rows.recordIdOf(id)]), ([found]) =>
    found === undefined ? undefined : Rows.kept(found)
  )

/** All chunks of a document that are stored. */
const chunksOf = Effect.fnUntraced(function* ({ backend }: Parts, space: string, id: string) {
  const selection = { sessionIds: [Rows.sessionOf(id)] }
  const found = new Map<EntryId, MemoryEntry>()
  for (let after: Position | undefined; ; ) {
    const page: ReadonlyArray<MemoryEntry> = yield* backend.page(space, { limit: PAGE, selection, after })
    for (const entry of page) found.set(entry.id, entry)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return found
    after = { timestamp: last.timestamp, id: last.id }
  }
})

interface Difference {
  readonly added: ReadonlyArray<MemoryEntry>
  /** Chunks that are at another place now. */
  readonly moved: ReadonlyArray<MemoryEntry>
  readonly kept: number
  readonly removed: ReadonlyArray<EntryId>
}

const difference = (before: ReadonlyMap<EntryId, MemoryEntry>, after: ReadonlyArray<MemoryEntry>): Difference => {
  const added: Array<MemoryEntry> = []
  const moved: Array<MemoryEntry> = []
  const removed = new Set(before.keys())
  for (const entry of after) {
    const known = before.get(entry.id)
    if (known === undefined) added.push(entry)
    else if (!Rows.isInPlace(known, entry)) moved.push(entry)
    removed.delete(entry.id)
  }
  return { added, moved, kept: after.length - added.length, removed: Array.from(removed) }
}

/** The record that a change replaces; a pending one if the document is new. */
const recordToReplace = Effect.fnUntraced(function* (
  { backend }: Parts,
  space: string,
  described: Rows.Described,
  found: Rows.Kept | undefined
) {
  if (found !== undefined) return found.entry
  const pending = Rows.pending(space, described)
  yield* backend.apply(space, { store: [pending] })
  return pending
})

/**
 * Takes back what a failed or interrupted change left: the vectors of chunks that were not stored, and the record of a
 * document that could not be added.
 */
const undone = (
  { backend, vectors }: Parts,
  space: string,
  ids: ReadonlyArray<EntryId>,
  pending: MemoryEntry | undefined
): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (pending !== undefined) yield* backend.apply(space, { delete: [pending.id], unchanged: [pending] })
    if (vectors === undefined) return
    const stored = new Set((yield* backend.get(space, ids)).map(({ id }) => id))
    yield* DocumentVectors.remove(
      vectors,
      space,
      ids.filter((id) => !stored.has(id))
    )
  }).pipe(Effect.ignore)

/** Writes a document once; `undefined` if another writer was first. */
const write = Effect.fnUntraced(function* (
  parts: Parts,
  space: string,
  described: Rows.Described,
  { chunks, text }: { readonly text: DocumentText; readonly chunks: ReadonlyArray<Chunker.Chunk> }
) {
  const { backend, vectors } = parts
  const found = yield* recordOf(parts, space, described.id)
  const before = yield* recordToReplace(parts, space, described, found)
  const stored = yield* chunksOf(parts, space, described.id)
  const entries = Rows.chunkEntries(space, described, text, chunks)
  const { added, kept, moved, removed } = difference(stored, entries)
  const embedded =
    vectors === undefined
      ? {}
      : yield* DocumentVectors.warned(
          DocumentVectors.add(vectors, space, entries),
          `The document is found by words alone until it is ingested again`
        )
  const isSame = found !== undefined && found.hash === described.hash
  const record = Rows.completed(space, described, text, {
    chunks: entries.length,
    changedAt: isSame ? found.info.changedAt : yield* Clock.currentTimeMillis,
    model: vectors === undefined || embedded.warning !== undefined ? undefined : DocumentVectors.modelOf(vectors)
  })
  const change = { store: [...added, ...moved, record], delete: removed, unchanged: [before] }
  const undo = undone(
    parts,
    space,
    added.map(({ id }) => id),
    found === undefined ? before : undefined
  )
  const applied = yield* Effect.onError(backend.apply(space, change), () => undo)
  if (applied === undefined) return undefined
  yield* DocumentVectors.remove(vectors, space, removed)
  const { warning } = embedded
  const result: Ingested = {
    id: described.id,
    status: found === undefined || found.isPending ? "added" : isSame ? "unchanged" : "changed",
    added: added.length,
    kept,
    removed: removed.length,
    ...(warning === undefined ? {} : { warning })
  }
  return result
})

/** Repeats a change of one document until no other writer is in between. */
const settled = <A>(
  { lock }: Parts,
  space: string,
  id: string,
  attempt: Effect.Effect<A | undefined, IndexFailure>
): Effect.Effect<A, IndexFailure> => {
  const again = (left: number): Effect.Effect<A, IndexFailure> =>
    Effect.flatMap(attempt, (done) =>
      done !== undefined ? Effect.succeed(done) : left === 0 ? changing(id) : again(left - 1)
    )
  return lock.withLock(JSON.stringify([space, id]))(again(MAX_ATTEMPTS))
}

/**
 * Adds or replaces a document.
 *
 * @category combinators
 */
export const ingest = Effect.fnUntraced(function* (parts: Parts, space: string, document: Document) {
  const described = yield* describe(parts, document)
  const { vectors } = parts
  const known = yield* recordOf(parts, space, described.id)
  const isEmbedded = vectors === undefined || known?.model === DocumentVectors.modelOf(vectors)
  if (known !== undefined && known.hash === described.hash && isEmbedded) {
    const unchanged: Ingested = {
      id: known.info.id,
      status: "unchanged",
      added: 0,
      kept: known.info.chunks,
      removed: 0
    }
    return unchanged
  }
  const content = yield* read(parts, document)
  return yield* settled(parts, space, described.id, write(parts, space, described, content))
})

/** Deletes a document once; `undefined` if another writer was first. */
const removeOnce = Effect.fnUntraced(function* (parts: Parts, space: string, id: string) {
  const { backend, vectors } = parts
  const found = yield* recordOf(parts, space, id)
  if (found === undefined) return false
  const chunks = Array.from((yield* chunksOf(parts, space, id)).keys())
  const applied = yield* backend.apply(space, { delete: [found.entry.id, ...chunks], unchanged: [found.entry] })
  if (applied === undefined) return undefined
  yield* DocumentVectors.remove(vectors, space, chunks)
  return !found.isPending
})

/**
 * Deletes a document and returns whether it existed.
 *
 * @category combinators
 */
export const remove = (parts: Parts, space: string, id: string): Effect.Effect<boolean, IndexFailure> =>
  settled(parts, space, id, removeOnce(parts, space, id))
