/**
 * The journal of durable workflows: what it holds of an execution, and its removal.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type { WorkflowStorageError } from "./WorkflowStorageError.js"

/**
 * The result of an activity. `at` is when it was stored, in milliseconds since the epoch, `bytes` the size of its
 * encoded result in UTF-8, before compression.
 *
 * @since 0.1.0
 * @category models
 */
export interface ActivityEntry {
  readonly name: string
  readonly attempt: number
  readonly at: number
  readonly bytes: number
}

/**
 * What the first attempt at an activity ended with, encoded.
 *
 * @since 0.1.0
 * @category models
 */
export interface Result {
  readonly name: string
  readonly exit: Exit.Exit<unknown, unknown>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PageOptions {
  /** The last entry of the page before. */
  readonly after?: Pick<ActivityEntry, "name" | "attempt"> | undefined
  /** From 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * One page of the finished activities of an execution, ordered by name and attempt. Empty after the last one, and for
   * an unknown execution.
   */
  readonly activities: (
    executionId: string,
    options?: PageOptions | undefined
  ) => Effect.Effect<ReadonlyArray<ActivityEntry>, WorkflowStorageError>
  /** What the first attempt at an activity ended with, encoded; none if it has not ended, and after an unknown id. */
  readonly result: (
    executionId: string,
    name: string
  ) => Effect.Effect<Option.Option<Exit.Exit<unknown, unknown>>, WorkflowStorageError>
  /**
   * Keeps the results of activities together with that of another one of the execution, for `BeforeCommit`: outside of
   * its transaction nobody checks whose the execution is. Results that are kept already stay.
   */
  readonly keepWith: (executionId: string, results: ReadonlyArray<Result>) => Effect.Effect<void, WorkflowStorageError>
  /** What an execution was begun with, encoded by the schema of its workflow; none for an unknown id. */
  readonly payload: (executionId: string) => Effect.Effect<Option.Option<unknown>, WorkflowStorageError>
  /**
   * Bytes of the payload, the result, the activities and the deferred values of an execution, before compression and
   * without blobs. 0 if it is unknown.
   */
  readonly size: (executionId: string) => Effect.Effect<number, WorkflowStorageError>
  /**
   * Removes executions that ended more than `olderThan` ago, in batches, and their blobs. Succeeds with their number.
   * After that, an `execute` with the same key runs again. Results of deferred values that waited as long for an
   * execution that never began are removed too. Executions with blobs in a store that is not here are left, with a
   * warning.
   */
  readonly prune: (options: {
    readonly olderThan: Duration.DurationInput
  }) => Effect.Effect<number, WorkflowStorageError>
  /**
   * Removes executions whatever they do, with their blobs, and succeeds with the number of those that existed. One that
   * still runs stops with its next write, in whichever process it is; its callers are interrupted there. Fails where
   * their blobs are in a store that is not here.
   */
  readonly erase: (executionIds: Iterable<string>) => Effect.Effect<number, WorkflowStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class WorkflowJournal extends Context.Tag("effect-lexigram/durable/WorkflowJournal")<
  WorkflowJournal,
  Service
>() {}
