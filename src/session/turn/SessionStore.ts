/**
 * Stores sessions, their turns and their checkpoints. The manager decides what may be done to a session; a store writes
 * atomically, and concurrent writers do not overwrite each other.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { RunId, SessionId, UserId } from "../../domain/Ids.js"
import type {
  CheckpointId,
  Exchange,
  Session,
  SessionCheckpoint,
  SessionStatus,
  SessionTurn,
  TurnRef
} from "./Session.js"
import type { SessionCapacityError, SessionConflictError, SessionStorageError } from "./SessionError.js"

/**
 * The maximum number of live (active or suspended) sessions. They are counted in the same step as the write, so that
 * concurrent writers cannot exceed it. The limits do not apply to a session that is not live itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** Of the session's user. Sessions without an owner are not counted. */
  readonly perUser?: number | undefined
  /** Forked from the session's parent. */
  readonly perParent?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Creation {
  /** Its head is a turn of another session. The store keeps that turn as long as this session exists. */
  readonly session: Session
  /**
   * Written in the same step. If its id is taken, the write fails with `SessionStorageError`, as every write does, and
   * nothing is written.
   */
  readonly checkpoint?: SessionCheckpoint | undefined
  readonly limits?: Limits | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Created {
  /** The session stored under the id: the given one, or the one that existed before. */
  readonly session: Session
  readonly isNew: boolean
}

/**
 * The next state of a session. Its `revision` is one more than that of the session it was made from. If the stored
 * session has another revision, or is gone, nothing is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly session: Session
  /** Written in the same step. */
  readonly checkpoint?: SessionCheckpoint | undefined
  /** Used with a checkpoint: how many checkpoints of the kinds `manual` and `auto` are kept, the newest. */
  readonly keepCheckpoints?: number | undefined
  /** Used when the session becomes live; `perUser` also when a live session changes its user. */
  readonly limits?: Limits | undefined
}

/**
 * A change with turns. The last turn is the session's new head, and each is the parent of the next. Of the session only
 * `head`, `depth`, `totalTokens`, `totalCost`, `updatedAt`, `revision` and `checkpointId` differ from what is stored,
 * so that a store need not write the rest, unless `isStateChanged` is set.
 *
 * @since 0.1.0
 * @category models
 */
export interface Addition extends Omit<Change, "limits"> {
  /** At least one, all written by this session. */
  readonly turns: ReadonlyArray<SessionTurn>
  /** The small state differs too, as after a merge, so that the whole session is written. Default false. */
  readonly isStateChanged?: boolean | undefined
  /** The run whose exchange is closed in the same step. An exchange that is not open changes nothing. */
  readonly closes?: RunId | undefined
}

/**
 * An exchange, by its session and the run that answers.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExchangeRef {
  readonly sessionId: SessionId
  readonly runId: RunId
}

/**
 * A position in a list sorted by time and id.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cursor {
  readonly at: number
  readonly id: SessionId
}

/**
 * Filters of a list. A session must satisfy all that are given.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  /** `null`: sessions without an owner. */
  readonly userId?: UserId | null | undefined
  readonly statuses?: ReadonlyArray<SessionStatus> | undefined
  /** Forks of this session. */
  readonly parentSessionId?: SessionId | undefined
  /** This session and all its descendants. */
  readonly rootSessionId?: SessionId | undefined
  /**
   * The time to sort by: `updated` (`updatedAt`, which may miss sessions that are written between two pages) or
   * `created`. Default `created`.
   */
  readonly order?: "created" | "updated" | undefined
  readonly limit: number
  /** Continues after this position. */
  readonly after?: Cursor | undefined
}

/**
 * The contract of every method: values come back as they were written, even when a caller mutates them; ids are
 * compared exactly, whatever characters they have; a write is atomic, and durable when it succeeds; what is not found
 * is none, empty or `false`, never a failure; a limit of 0 returns nothing.
 *
 * Texts are kept exactly, including lone surrogates and control characters. Metadata, variables, parameters and results
 * are JSON data: other values come back in their JSON form (a date as its text), and values that JSON rejects (cycles,
 * big integers) fail with `SessionStorageError`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The name in errors and health checks: `in_memory`, `key_value`, `sqlite`, … */
  readonly name: string
  /**
   * Stores a new session. If the id is taken, nothing changes, whatever the limits. Fails with `SessionCapacityError`
   * when a limit is reached, and with `SessionConflictError` when the head is not stored, or when the id is that of a
   * deleted session whose turns a branch still needs.
   */
  readonly create: (
    creation: Creation
  ) => Effect.Effect<Created, SessionConflictError | SessionCapacityError | SessionStorageError>
  readonly load: (id: SessionId) => Effect.Effect<Option.Option<Session>, SessionStorageError>
  /** Replaces the stored session. Its turns do not change. */
  readonly save: (
    change: Change
  ) => Effect.Effect<void, SessionConflictError | SessionCapacityError | SessionStorageError>
  /**
   * Appends turns to the head. If the session already has a turn with one of these ids, even off the path to its head,
   * nothing is written and the stored turns are returned; otherwise the result is empty. The revision is checked first.
   */
  readonly append: (
    addition: Addition
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionConflictError | SessionStorageError>
  /**
   * Stores an open exchange beside the turns. It replaces an exchange of the same session and run, whatever its owner.
   * Fails with `SessionConflictError` when the session is not stored.
   */
  readonly open: (exchange: Exchange) => Effect.Effect<void, SessionConflictError | SessionStorageError>
  /** An open exchange. */
  readonly exchange: (ref: ExchangeRef) => Effect.Effect<Option.Option<Exchange>, SessionStorageError>
  /** Deletes an open exchange. Returns whether it existed. */
  readonly withdraw: (ref: ExchangeRef) => Effect.Effect<boolean, SessionStorageError>
  /** Sets the time until which an owner is alive. A time in the past gives up its open exchanges. */
  readonly lease: (options: {
    readonly owner: string
    readonly until: number
  }) => Effect.Effect<void, SessionStorageError>
  /**
   * Open exchanges whose owner has no lease beyond `at`, earliest end first; never an exchange without an owner. Ended
   * leases that own nothing are deleted. The cost does not grow with the number of sessions or with exchanges of other
   * owners.
   */
  readonly orphans: (options: {
    readonly at: number
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<Exchange>, SessionStorageError>
  /** One turn, even off the path to a head. */
  readonly turn: (ref: TurnRef) => Effect.Effect<Option.Option<SessionTurn>, SessionStorageError>
  /**
   * The newest turns on the path that ends with `head`, including it, oldest first; with `since`, only turns after it,
   * if it is on the path. The previous page ends with the parent of the first turn.
   */
  readonly turns: (
    head: TurnRef,
    options: { readonly limit: number; readonly since?: TurnRef | undefined }
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError>
  /** Newest first: descending by time, then by id (by code unit). */
  readonly list: (options: ListOptions) => Effect.Effect<ReadonlyArray<Session>, SessionStorageError>
  /** Live sessions whose `updatedAt` is not later than `since`, longest idle first: ascending by time, then by id. */
  readonly idle: (options: {
    readonly since: number
    readonly limit: number
    readonly after?: Cursor | undefined
  }) => Effect.Effect<ReadonlyArray<Session>, SessionStorageError>
  /**
   * Expires the sessions that `idle` would list, with `updatedAt` set to `at` and the next revision, and returns their
   * new state. Each session is returned to one of several concurrent callers.
   */
  readonly expire: (options: {
    readonly since: number
    readonly at: number
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<Session>, SessionStorageError>
  readonly checkpoint: (id: CheckpointId) => Effect.Effect<Option.Option<SessionCheckpoint>, SessionStorageError>
  /** Newest first: descending by revision. */
  readonly checkpoints: (
    id: SessionId,
    options: {
      readonly limit: number
      /** Returns only checkpoints with a lower revision. */
      readonly before?: number | undefined
      readonly kinds?: ReadonlyArray<SessionCheckpoint["kind"]> | undefined
    }
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionStorageError>
  /** The newest checkpoint of `into` that was made by a merge of `from`. */
  readonly lastMerge: (
    into: SessionId,
    from: SessionId
  ) => Effect.Effect<Option.Option<SessionCheckpoint>, SessionStorageError>
  /** Returns whether it existed. */
  readonly deleteCheckpoint: (id: CheckpointId) => Effect.Effect<boolean, SessionStorageError>
  /**
   * Deletes a session with its checkpoints, its open exchanges and its turns. Turns on the path to a branch are kept
   * until the last such branch is deleted. Returns whether the session existed.
   */
  readonly delete: (id: SessionId) => Effect.Effect<boolean, SessionStorageError>
  /** Succeeds if the underlying store is reachable. */
  readonly health: Effect.Effect<void, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionStore extends Context.Tag("effect-lexigram/session/SessionStore")<SessionStore, Service>() {}
