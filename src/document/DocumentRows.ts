/**
 * Converts documents and passages to memory entries and back.
 *
 * A document is a record without words in one session of all records; its chunks are a session of their own, in which
 * the time of an entry is its number. All ids are hashes, so that no text of a caller can collide with them.
 *
 * @private
 * @since 0.1.0
 */
import { EntryId, SessionId } from "../domain/Ids.js"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as PlainId from "../internal/text/PlainId.js"
import * as Sha256 from "../internal/text/Sha256.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import type { Document, DocumentInfo, Passage } from "./Document.js"
import type { DocumentText, Format } from "./format/DocumentText.js"
import type { Chunk } from "./text/Chunker.js"

/**
 * The session of all records of an owner.
 *
 * @category constants
 */
export const RECORDS: SessionId = SessionId.make("documents")

const RECORD = "document"
const PENDING = "pending"
const CHUNK = "chunk"

/**
 * Selects the records of documents that are complete.
 *
 * @category constants
 */
export const complete = { sessionIds: [RECORDS], filters: { type: RECORD } } as const

/** What a record says of its document. */
interface Body extends Omit<DocumentInfo, "isEmbedded" | "tags"> {
  /** Identifies the content, the description and how it was cut. */
  readonly hash: string
  /** The model that all chunks are embedded by. */
  readonly model?: string | undefined
}

/**
 * A document as it is given, with its defaults.
 *
 * @category models
 */
export interface Described {
  readonly id: string
  readonly title?: string | undefined
  readonly source: string
  readonly tags: ReadonlyArray<string>
  readonly hash: string
}

/**
 * The entry of a document and what it says.
 *
 * @category models
 */
export interface Kept {
  readonly entry: MemoryEntry
  readonly info: DocumentInfo
  readonly hash: string
  readonly model: string | undefined
  readonly isPending: boolean
}

const digest = (data: unknown): string => Sha256.hex(Sha256.utf16(CanonicalJson.stringify(data))).slice(0, 40)

/**
 * The session of the chunks of a document, whose text is also the id of its record.
 *
 * @category getters
 */
export const sessionOf = (id: string): SessionId => PlainId.make(SessionId, `document-${digest(id)}`)

/**
 * @category getters
 */
export const recordIdOf = (id: string): EntryId => PlainId.make(EntryId, `document-${digest(id)}`)

/**
 * @category getters
 */
export const recordIdOfSession = (session: SessionId): EntryId => PlainId.make(EntryId, session)

/**
 * Identifies what a document says and how it is cut.
 *
 * @category getters
 */
export const hashOf = (document: Document, cut: unknown): string => {
  const { content, format, source, tags, title } = document
  const bytes = typeof content === "string" ? Sha256.utf16(content) : content
  return digest([typeof content, Sha256.hex(bytes), format, source, tags, title, cut])
}

const entry = (
  ownerId: string,
  fields: Pick<MemoryEntry, "id" | "content" | "timestamp" | "metadata" | "sessionId">
): MemoryEntry => Object.freeze({ ownerId, role: "tool", importance: 0.5, ...fields })

const record = (ownerId: string, type: string, tags: ReadonlyArray<string>, body: Body): MemoryEntry =>
  entry(ownerId, {
    id: recordIdOf(body.id),
    content: "",
    timestamp: body.changedAt,
    sessionId: RECORDS,
    metadata: { type, tags, document: body }
  })

/**
 * The record of a document whose chunks are about to be written for the first time.
 *
 * @category constructors
 */
export const pending = (ownerId: string, { id, source }: Described): MemoryEntry =>
  record(ownerId, PENDING, [], {
    id,
    title: id,
    source,
    format: "text",
    chunks: 0,
    characters: 0,
    changedAt: 0,
    hash: ""
  })

/**
 * @category constructors
 */
export const completed = (
  ownerId: string,
  described: Described,
  read: DocumentText,
  options: { readonly chunks: number; readonly changedAt: number; readonly model: string | undefined }
): MemoryEntry => {
  const { hash, id, source, tags } = described
  const { format, text } = read
  const { changedAt, chunks, model } = options
  return record(ownerId, RECORD, tags, {
    ...{ id, title: titleOf(described, read), source, format, chunks, characters: text.length, changedAt, hash },
    ...(model === undefined ? {} : { model })
  })
}

/**
 * @category getters
 */
export const titleOf = ({ id, title }: Described, read: DocumentText): string => title ?? read.title ?? id

/**
 * What a record says.
 *
 * @category conversions
 */
export const kept = (found: MemoryEntry): Kept => {
  const { document, tags, type } = found.metadata as {
    readonly type: string
    readonly tags: ReadonlyArray<string>
    readonly document: Body
  }
  const { hash, model, ...info } = document
  return {
    entry: found,
    info: { ...info, format: info.format as Format, tags, isEmbedded: model !== undefined },
    hash,
    model,
    isPending: type === PENDING
  }
}

/** What the text of a chunk is about: the title of its document and the headings above it. */
const contextOf = (title: string, headings: ReadonlyArray<string>): string =>
  [title, ...headings.filter((heading) => heading !== title)].join("\n")

const pagesOf = (
  pages: ReadonlyArray<number> | undefined,
  { end, start }: Chunk
): readonly [number, number] | undefined => {
  if (pages === undefined || pages.length === 0) return undefined
  const pageAt = (place: number): number => {
    let low = 0
    let high = pages.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((pages[middle] as number) <= place) low = middle + 1
      else high = middle
    }
    return Math.max(1, low)
  }
  return [pageAt(start), pageAt(end - 1)]
}

/**
 * The chunks of a document as entries. Of equal chunks each has an id of its own.
 *
 * @category conversions
 */
export const chunkEntries = (
  ownerId: string,
  described: Described,
  read: DocumentText,
  chunks: ReadonlyArray<Chunk>
): ReadonlyArray<MemoryEntry> => {
  const session = sessionOf(described.id)
  const title = titleOf(described, read)
  const repeated = new Map<string, number>()
  return chunks.map((chunk, number) => {
    const { end, headings, start, text } = chunk
    const context = contextOf(title, headings)
    const content = `${context}\n\n${text}`
    const times = repeated.get(content) ?? 0
    repeated.set(content, times + 1)
    const pages = pagesOf(read.pages, chunk)
    return entry(ownerId, {
      id: PlainId.make(EntryId, `chunk-${digest([session, content, times])}`),
      content,
      timestamp: number,
      sessionId: session,
      metadata: {
        type: CHUNK,
        place: { headings, start, end, skip: context.length + 2, ...(pages === undefined ? {} : { pages }) }
      }
    })
  })
}

/**
 * Whether both have the same place in their document.
 *
 * @category guards
 */
export const isInPlace = (a: MemoryEntry, b: MemoryEntry): boolean =>
  a.timestamp === b.timestamp &&
  CanonicalJson.stringify(a.metadata["place"]) === CanonicalJson.stringify(b.metadata["place"])

interface Place extends Pick<Passage, "headings" | "start" | "end" | "pages"> {
  /** Characters of the content before the text. */
  readonly skip: number
}

/**
 * @category conversions
 */
export const passage = ({ content, id, metadata }: MemoryEntry): Passage => {
  const { end, headings, pages, skip, start } = metadata["place"] as Place
  return { id, text: content.slice(skip), headings, start, end, ...(pages === undefined ? {} : { pages }) }
}

/**
 * @category guards
 */
export const isChunk = ({ metadata }: MemoryEntry): boolean => metadata["type"] === CHUNK
