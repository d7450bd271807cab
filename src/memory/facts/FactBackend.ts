/**
 * What a store of facts needs from below: rows in, rows out. What contradicts what, what is known already and what a
 * fact was closed by is worked out once, in `DefaultFactStore.fromBackend`; a backend keeps rows and finds them.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { MemoryStoreFailure } from "../entry/MemoryError.js"
import type { FactId } from "./Fact.js"

/**
 * A fact as a backend keeps it. Keys are normalised and have at most 256 characters; no text but `body` and `ownerId`
 * has control characters, none has half a surrogate pair.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactRow {
  readonly id: FactId
  readonly ownerId: string
  /** The subject as it was said, for showing. */
  readonly subject: string
  readonly subjectKey: string
  readonly predicateKey: string
  readonly objectKey: string
  /** The words of the subject with a space before, between and behind them; empty if there are none. */
  readonly subjectWords: string
  readonly objectWords: string
  /** Subject, predicate and object, for a search by words. */
  readonly text: string
  readonly confidence: number
  readonly validFrom: number
  /** Absent while it is open. Not before `validFrom`; a fact that another one replaced at once holds for no time. */
  readonly validTo?: number | undefined
  /**
   * The first time from which it takes the place of other objects of its subject and predicate; absent if it never
   * does.
   */
  readonly replacesFrom?: number | undefined
  /** JSON that only the store reads. */
  readonly body: string
}

/**
 * All that is given must hold.
 *
 * @since 0.1.0
 * @category models
 */
export interface RowSelection {
  /** What the key of the subject begins with. */
  readonly subjectPrefix?: string | undefined
  /** Keys of subjects: one of them. */
  readonly subjects?: ReadonlyArray<string> | undefined
  readonly predicateKey?: string | undefined
  readonly objectKey?: string | undefined
  /**
   * Words with a space before, between and behind them, that the words of the subject or those of the object include.
   */
  readonly words?: string | undefined
  readonly minConfidence: number
  /** Begun by then (inclusive); and not ended by then (exclusive), unless closed ones are included. */
  readonly at: number
  readonly includeClosed: boolean
}

/**
 * Where a fact stands in answers: surest first, then those that hold since later, then by id (by code unit).
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
 * What changes in one step.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactChange {
  readonly delete?: ReadonlyArray<FactId> | undefined
  /** New rows, and those that take the place of the row of the same id. Each id once. */
  readonly put?: ReadonlyArray<FactRow> | undefined
  /**
   * After that, for each of these keys of subjects: of its open rows only the first `maxOpen` stay, by position, and of
   * its closed ones the `maxClosed` that ended last (ties by position).
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
  /** Of the texts of its rows the first by code unit. */
  readonly subject: string
  readonly open: number
  readonly closed: number
}

/**
 * The contract of every method: only rows of the owner are seen or touched; rows come out as they went in.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactBackend {
  /** Names it in errors and metrics: `in_memory`, `sqlite`, … */
  readonly name: string
  /** Which state the rows of the owner are in. Never the same number for two states, but 0 always for no rows. */
  readonly revision: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /**
   * All or nothing, and only if the rows of the owner are in this state: none if they are not. Gives the ids that were
   * trimmed. Afterwards the state is another one.
   */
  readonly apply: (
    ownerId: string,
    revision: number,
    change: FactChange
  ) => Effect.Effect<Option.Option<ReadonlyArray<FactId>>, MemoryStoreFailure>
  /** Those that exist, in the order of the ids. */
  readonly get: (
    ownerId: string,
    ids: ReadonlyArray<FactId>
  ) => Effect.Effect<ReadonlyArray<FactRow>, MemoryStoreFailure>
  /**
   * What an assertion can meet among the rows of a subject and a predicate: those that began by `at` and are open or
   * end at `at` or later; of those that begin after `at` the first with the same object; and of those that have another
   * object and replace others after `at` (`replacesFrom`) the first. In no order.
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
  /** By position, those after `after`. */
  readonly find: (
    ownerId: string,
    options: { readonly selection: RowSelection; readonly limit: number; readonly after?: FactPosition | undefined }
  ) => Effect.Effect<ReadonlyArray<FactRow>, MemoryStoreFailure>
  /**
   * Those that have words of the text among what is selected, best first (BM25 over the rows of the owner, or what the
   * database has).
   */
  readonly lexical: (
    ownerId: string,
    options: { readonly text: string; readonly selection: RowSelection; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<{ readonly row: FactRow; readonly score: number }>, MemoryStoreFailure>
  readonly count: (ownerId: string, selection: RowSelection) => Effect.Effect<number, MemoryStoreFailure>
  /** Subjects that have rows, ascending by key (by code unit), those after `after`. */
  readonly subjects: (
    ownerId: string,
    options: { readonly limit: number; readonly after?: string | undefined }
  ) => Effect.Effect<ReadonlyArray<SubjectRow>, MemoryStoreFailure>
  /** Which of these keys are subjects that have rows, in their order. */
  readonly known: (
    ownerId: string,
    subjectKeys: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Owners that have rows, ascending by code unit, those after `after`. */
  readonly owners: (options: {
    readonly limit: number
    readonly after?: string | undefined
  }) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Removes everything of the owner; gives how many rows there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * The order of answers.
 *
 * @since 0.1.0
 * @category combinators
 */
export const byPosition = (a: FactPosition, b: FactPosition): number =>
  b.confidence - a.confidence || b.validFrom - a.validFrom || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/**
 * What is selected as a function, made once for many rows.
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
