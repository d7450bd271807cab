/**
 * Exports, imports and erases all data of a user, and the memory of a shared namespace.
 *
 * An export is lines of JSON: a head, the rows of the tables (the same for SQLite and Postgres), the entries of memory,
 * an end. It contains sessions with all turns, checkpoints and open exchanges, memory, facts, runs, approvals, audit,
 * costs, threads of graphs, and blobs, except those of the journals of durable runs. It does not contain what is
 * temporary or derived: caches, rates, holds, and vectors, which an import computes for the entries it stores. Neither
 * the export nor the erasure of a user touches what teams, projects and organizations remember; those are exported and
 * erased by their namespace.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { UserId } from "../domain/Ids.js"
import type { MemoryNamespace } from "../memory/tools/MemoryNamespace.js"
import type { DataTransferError } from "./engine/PersistenceError.js"

/**
 * The number of items of each part: sessions, entries of `memory`, and rows of the other parts.
 *
 * @since 0.1.0
 * @category models
 */
export type Counts = { readonly [part: string]: number }

/**
 * Whose data it is: a user's, or the memory of a shared namespace.
 *
 * @since 0.1.0
 * @category models
 */
export type Subject = UserId | MemoryNamespace

/**
 * What an import stored, and whose it is: that of `userId` or that of `namespace`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Imported {
  readonly userId?: UserId | undefined
  readonly namespace?: MemoryNamespace | undefined
  readonly counts: Counts
}

/**
 * @since 0.1.0
 * @category models
 */
export interface EraseOptions {
  /** Ids of graph threads without an owner to erase as well. Threads of the user are always erased. Default: none. */
  readonly threads?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The lines of an export without line breaks, read page by page. Concurrent changes may or may not be included, but a
   * session never lacks a turn of its lineage. Fails with a `DataTransferError` if sessions or memory are not kept in
   * the database.
   */
  readonly export: (subject: Subject) => Stream.Stream<string, DataTransferError>
  /**
   * Imports an export into a database of either kind, in one transaction that stays open until the last line. Fails if
   * the database already has data of the user, and if the lines are not a complete export of one subject. The next
   * sweep marks open exchanges as interrupted, unless the process that was answering them uses this database too.
   */
  readonly import: <E, R>(lines: Stream.Stream<string, E, R>) => Effect.Effect<Imported, DataTransferError | E, R>
  /**
   * Erases everything of a user in every table and every store of the system, or everything that a namespace remembers.
   * Caches are cleared completely, because
   * they do not record owners. A failed erasure is not undone; repeat it to continue. A SQLite file may contain the
   * bytes until they are overwritten or the file is vacuumed.
   */
  readonly erase: (subject: Subject, options?: EraseOptions | undefined) => Effect.Effect<Counts, DataTransferError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class OwnerData extends Context.Tag("effect-lexigram/persistence/OwnerData")<OwnerData, Service>() {}
