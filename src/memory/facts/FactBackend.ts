/**
 * The port that a fact store is built on: rows in, rows out. `DefaultFactStore.fromBackend` resolves contradictions,
 * repetitions and closings once; a backend stores rows and finds them.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import type { FactId } from "./Fact.js"

/**
 * A fact as a backend stores it. Keys are normalized and have at most 256 characters. Only `body` and `ownerId` may
 * contain control characters; no text contains an unpaired surrogate.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactRow {
  readonly id: FactId
  readonly ownerId: string
  /** The subject as it was stated, for display. */
  readonly subject: string
  readonly subjectKey: string
  readonly predicateKey: string
  readonly objectKey: string
  /** The words of the subject, each with a space before and after it. Empty if there are none. */
  readonly subjectWords: string
  readonly objectWords: string
  /** Subject, predicate and object, for a search by words. */
  readonly text: string
  readonly confidence: number
  readonly validFrom: number
  /** Absent while it is open. Not before `validFrom`; equal to it for a fact that was replaced at once. */
  readonly validTo?: number | undefined
  /**
   * The first time from which it replaces other objects of its subject and predicate. Absent if it never does.
   */
  readonly replacesFrom?: number | undefined
  /** JSON that only the store reads, and `sourcesOf`. */
  readonly body: string
}

interface Mention {
  readonly sources?: ReadonlyArray<unknown> | undefined
  readonly denies?: boolean | undefined
}

/**
 * The distinct ids of the entries that a fact was read from; those of its retraction if it was only retracted.
 *
 * @since 0.1.0
 * @category getters
 */
export const sourcesOf = ({ body }: Pick<FactRow, "body">): ReadonlyArray<string> => {
  const mentions = mentionsIn(body)
  const said = mentions.filter(({ denies }) => denies !== true)
  const all = new Set<string>()
  for (const { sources = [] } of said.length === 0 ? mentions : said) {
    for (const source of sources) if (typeof source === "string") all.add(source)
  }
  return [...all]
}

const mentionsIn = (body: string): ReadonlyArray<Mention> => {
  try {
    const { mentions } = JSON.parse(body) as { readonly mentions?: ReadonlyArray<Mention> }
    return Array.isArray(mentions) ? mentions : []
  } catch {
    return []
  }
}

/**
 * All given conditions must hold.
 *
 * @since 0.1.0
 * @category models
 */
export interface RowSelection {
  /** A prefix of the subject key. */
  readonly subjectPrefix?: string | undefined
  /** The subject key is one of these. */
  readonly subjects?: ReadonlyArray<string> | undefined
  readonly predicateKey?: string | undefined
  readonly objectKey?: string | undefined
  /** Words, each with a space before and after it, that the subject words or the object words contain. */
  readonly words?: string | undefined
  readonly minConfidence: number
  /**
   * Began by then (inclusive) and had not ended by then (exclusive); ended rows as well if closed ones are included.
   */
  readonly at: number
  readonly includeClosed: boolean
}

/**
 * The position of a fact in results: highest confidence first, then latest `validFrom`, then by id (by code unit).
 *
 * @since 0.1.0
 * @category models
 */
export interface FactPosition {
  readonly confidence: number
  readonly validFrom: number
  readonly id: FactId
}

/**
 * A change applied in one step.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactChange {
  readonly delete?: ReadonlyArray<FactId> | undefined
  /** New rows and replacements of rows with the same id. Each id once. */
  readonly put?: ReadonlyArray<FactRow> | undefined
  /**
   * Applied last, for each of these subject keys: keeps the first `maxOpen` open rows by position, and the `maxClosed`
   * closed rows that ended last (ties by position).
   */
  readonly trim?: ReadonlyArray<string> | undefined
  readonly maxOpen: number
  readonly maxClosed: number
}

/**
 * A subject and its rows.
 *
 * @since 0.1.0
 * @category models
 */
export interface SubjectRow {
  readonly subjectKey: string
  /** The first by code unit of the subject texts of its rows. */
  readonly subject: string
  readonly open: number
  readonly closed: number
}

/**
 * Contract of every method: it reads and changes only rows of the owner. Rows come out as they went in.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactBackend {
  /** Identifies the backend in errors and metrics: `in_memory`, `sqlite`, … */
  readonly name: string
  /** The revision of the owner's rows. Two states never have the same number; an owner without rows always has 0. */
  readonly revision: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /**
   * All or nothing, and only if the owner's rows have this revision; otherwise none. Returns the ids that were trimmed.
   * Changes the revision.
   */
  readonly apply: (
    ownerId: string,
    revision: number,
    change: FactChange
  ) => Effect.Effect<Option.Option<ReadonlyArray<FactId>>, MemoryStoreFailure>
  /** Returns the rows that exist, in the order of the ids. */
  readonly get: (
    ownerId: string,
    ids: ReadonlyArray<FactId>
  ) => Effect.Effect<ReadonlyArray<FactRow>, MemoryStoreFailure>
  /**
   * The rows of a subject and predicate that an assertion can affect: those that began by `at` and are open or end at
   * `at` or later; of those that begin after `at` the first with the same object; and of those with another object that
   * replace others after `at` (`replacesFrom`) the first. In no particular order.
   */
  readonly near: (
    ownerId: string,
    options: {
      readonly subjectKey: string
      readonly predicateKey: string
      readonly objectKey: string
      readonly at: number
    }
  ) => Effect.Effect<ReadonlyArray<FactRow>, MemoryStoreFailure>
  /** By position; only those after `after`, and of which `sourcesOf` has one of the `sources`. */
  readonly find: (
    ownerId: string,
    options: {
      readonly selection: RowSelection
      readonly limit: number
      readonly after?: FactPosition | undefined
      readonly sources?: ReadonlyArray<string> | undefined
    }
  ) => Effect.Effect<ReadonlyArray<FactRow>, MemoryStoreFailure>
  /**
   * The selected rows that contain words of the text, best first (BM25 over the owner's rows, or the database's
   * ranking).
   */
  readonly lexical: (
    ownerId: string,
    options: { readonly text: string; readonly selection: RowSelection; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<{ readonly row: FactRow; readonly score: number }>, MemoryStoreFailure>
  readonly count: (ownerId: string, selection: RowSelection) => Effect.Effect<number, MemoryStoreFailure>
  /** Subjects that have rows, ascending by key (by code unit); only those after `after`. */
  readonly subjects: (
    ownerId: string,
    options: { readonly limit: number; readonly after?: string | undefined }
  ) => Effect.Effect<ReadonlyArray<SubjectRow>, MemoryStoreFailure>
  /** The keys that are subjects with rows, in their order. */
  readonly known: (
    ownerId: string,
    subjectKeys: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Owners that have rows, ascending by code unit; only those after `after`. */
  readonly owners: (options: {
    readonly limit: number
    readonly after?: string | undefined
  }) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Removes all rows of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * Adds something to a backend, such as a search by meaning.
 *
 * @since 0.1.0
 * @category models
 */
export type Wrap = (backend: FactBackend) => FactBackend

/**
 * The order of results.
 *
 * @since 0.1.0
 * @category combinators
 */
export const byPosition = (a: FactPosition, b: FactPosition): number =>
  b.confidence - a.confidence || b.validFrom - a.validFrom || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/**
 * Compiles the selection into a function for many rows.
 *
 * @since 0.1.0
 * @category combinators
 */
export const predicate = (selection: RowSelection): ((row: FactRow) => boolean) => {
  const { at, includeClosed, minConfidence, objectKey, predicateKey, subjectPrefix, words } = selection
  const subjects = selection.subjects === undefined ? undefined : new Set(selection.subjects)
  return (row) =>
    row.validFrom <= at &&
    (includeClosed || row.validTo === undefined || row.validTo > at) &&
    row.confidence >= minConfidence &&
    (subjectPrefix === undefined || row.subjectKey.startsWith(subjectPrefix)) &&
    (subjects === undefined || subjects.has(row.subjectKey)) &&
    (predicateKey === undefined || row.predicateKey === predicateKey) &&
    (objectKey === undefined || row.objectKey === objectKey) &&
    (words === undefined || row.subjectWords.includes(words) || row.objectWords.includes(words))
}
