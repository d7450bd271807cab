/**
 * The port that keeps the records of runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"
import type { SessionId } from "../../domain/Ids.js"
import type { RunError } from "./RunError.js"
import type { NotUndone, RunRecord, RunState } from "./RunRecord.js"

/**
 * The caller. A run belongs to the user it was started for; a run that the system started for no user is visible only
 * to the system. Without `userId` only runs without a user are found, unless the caller acts for the system
 * (`SystemAccess`). A run of another owner looks like an unknown one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: string | undefined
}

/**
 * Selects runs among those that the caller may see. Every given field must match.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter extends Access {
  readonly agent?: string | undefined
  readonly sessionId?: string | undefined
  /** Runs in one of these states; an empty list finds none. */
  readonly states?: ReadonlyArray<RunState> | undefined
  /** Runs created at this time or later, in milliseconds since the epoch. */
  readonly createdFrom?: number | undefined
  /** Runs created before this time, in milliseconds since the epoch. */
  readonly createdBefore?: number | undefined
  /** Runs that have all of these labels with these values. */
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Default 50, at most 500. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly cursor?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly records: ReadonlyArray<RunRecord>
  /** The cursor of the next page; absent if there is none. */
  readonly next?: string | undefined
}

/**
 * A change of state.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  /** The states in which the run may be; one that ended never changes. */
  readonly from: ReadonlyArray<RunState>
  readonly to: RunState
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly error?: ErrorInfo | undefined
  readonly notUndone?: ReadonlyArray<NotUndone> | undefined
  /** The session of the run; one that it already has stays. */
  readonly sessionId?: SessionId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a record. A known id with the same fingerprint and owner gives the known record, with another one the error
   * `conflict`. Of concurrent calls one is `added`.
   */
  readonly insert: (
    record: RunRecord,
    fingerprint: string
  ) => Effect.Effect<{ readonly record: RunRecord; readonly added: boolean }, RunError>
  /**
   * Changes the state of a run if it is in one of the states `from`; `changed` says whether this call did it. Does not
   * ask who calls: those who change runs for others look them up by `get` first. None for an unknown id.
   */
  readonly update: (
    runId: string,
    change: Change
  ) => Effect.Effect<Option.Option<{ readonly record: RunRecord; readonly changed: boolean }>, RunError>
  readonly get: (runId: string, access?: Access | undefined) => Effect.Effect<Option.Option<RunRecord>, RunError>
  /**
   * The newest runs first; those of one millisecond in the descending order of their ids. A run that begins meanwhile
   * is on no later page.
   */
  readonly list: (filter?: Filter | undefined) => Effect.Effect<Page, RunError>
  /** Removes runs that ended before a time in milliseconds since the epoch; returns how many. */
  readonly prune: (options: { readonly before: number }) => Effect.Effect<number, RunError>
  /** Removes all runs of a user, whatever their state; returns how many. */
  readonly erase: (userId: string) => Effect.Effect<number, RunError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RunStore extends Context.Tag("effect-lexigram/agent/RunStore")<RunStore, Service>() {}
