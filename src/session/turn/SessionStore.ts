/**
 * Where sessions, their turns and their checkpoints are kept. What may be done to a session is the manager's business;
 * a store keeps what it is given, all or nothing, and never lets one writer pass over another.
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
 * How many live (active or suspended) sessions there may be. Counted in the same step as the write, so that no two
 * writers together go beyond. A session that is not live itself is held by none.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** Of the session's user. A session of nobody is not counted. */
  readonly perUser?: number | undefined
  /** Forked from the session's parent. */
  readonly perParent?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Creation {
  /** Its head is the turn of another session that it begins with, and needs as long as it is there. */
  readonly session: Session
  /**
   * Kept in the same step. One whose id is taken fails with `SessionStorageError`, as in every write, and nothing is
   * written.
   */
  readonly checkpoint?: SessionCheckpoint | undefined
  readonly limits?: Limits | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Created {
  /** What is kept under the id now: the given one, or the one that was there before. */
  readonly session: Session
  readonly isNew: boolean
}

/**
 * A session as it shall be from now on. Its `revision` is one more than that of the session it was made from; if the
 * kept one has another revision than that, or is not there, nothing is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly session: Session
  /** Kept in the same step. */
  readonly checkpoint?: SessionCheckpoint | undefined
  /** With a checkpoint: of those of the kinds `manual` and `auto` only so many stay, the newest. */
  readonly keepCheckpoints?: number | undefined
  /**
   * With a session that was not live and shall be; `perUser` also with a live one that was another user's, or nobody's.
   */
  readonly limits?: Limits | undefined
}

/**
 * As a change, with turns: the last of them is the session's new head, each is the parent of the next. Of the session
 * itself only `head`, `depth`, `totalTokens`, `totalCost`, `updatedAt`, `revision` and `checkpointId` differ from what
 * is kept, so that a store need not write the rest; unless `isStateChanged`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Addition extends Omit<Change, "limits"> {
  /** One at least, all written by this session. */
  readonly turns: ReadonlyArray<SessionTurn>
  /** The small state differs too, as after a merge: the session is written as a whole. Default false. */
  readonly isStateChanged?: boolean | undefined
  /** The exchange of this run is closed in the same step; one that is not open changes nothing. */
  readonly closes?: RunId | undefined
}

/**
 * An exchange by its session and the run that answers.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExchangeRef {
  readonly sessionId: SessionId
  readonly runId: RunId
}

/**
 * A place in a list that is ordered by time and id.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cursor {
  readonly at: number
  readonly id: SessionId
}

/**
 * All that is given must hold.
 *
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  /** `null`: those of nobody. */
  readonly userId?: UserId | null | undefined
  readonly statuses?: ReadonlyArray<SessionStatus> | undefined
  /** Forks of this session. */
  readonly parentSessionId?: SessionId | undefined
  /** This session and all that descend from it. */
  readonly rootSessionId?: SessionId | undefined
  /**
   * By which time: `updated` (`updatedAt`; a list that is read while sessions are written may miss them) or `created`.
   * Default `created`.
   */
  readonly order?: "created" | "updated" | undefined
  readonly limit: number
  /** Goes on behind this place. */
  readonly after?: Cursor | undefined
}

/**
 * The contract of every method: what comes out is what went in, whatever callers do with either; ids are compared
 * exactly, whatever they are made of; a method that writes is all or nothing and durable when it succeeds; what is not
 * found is none, empty or `false`, never a failure; a limit of 0 is empty.
 *
 * Texts are kept exactly, with lone surrogates and every control character. What may be anything (metadata, variables,
 * parameters and results) is data: what JSON does not hold comes out as JSON has it (a date as its text), and what JSON
 * refuses (cycles, big integers) fails with `SessionStorageError`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Names it in errors and checks: `in_memory`, `key_value`, `sqlite`, … */
  readonly name: string
  /**
   * Keeps a new session. An id that is taken changes nothing, whatever the limits. `SessionCapacityError` when a limit
   * is reached; `SessionConflictError` when its head is not kept (any more), or when the id is that of a deleted
   * session whose turns a branch still needs.
   */
  readonly create: (
    creation: Creation
  ) => Effect.Effect<Created, SessionConflictError | SessionCapacityError | SessionStorageError>
  readonly load: (id: SessionId) => Effect.Effect<Option.Option<Session>, SessionStorageError>
  /** Takes the place of the session that is kept. Its turns are not touched. */
  readonly save: (
    change: Change
  ) => Effect.Effect<void, SessionConflictError | SessionCapacityError | SessionStorageError>
  /**
   * Puts turns behind the head. If the session has a turn of one of these ids already, also one that is no longer on
   * the way to its head, nothing is written, and the turns are given as they are kept. Else empty. The revision is
   * looked at first.
   */
  readonly append: (
    addition: Addition
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionConflictError | SessionStorageError>
  /**
   * Keeps an exchange open, beside the turns. One of the same session and run takes the place of the one before,
   * whoever owned that. `SessionConflictError` when the session is not kept (any more).
   */
  readonly open: (exchange: Exchange) => Effect.Effect<void, SessionConflictError | SessionStorageError>
  /** An open exchange. */
  readonly exchange: (ref: ExchangeRef) => Effect.Effect<Option.Option<Exchange>, SessionStorageError>
  /** Forgets an open exchange. Whether there was one. */
  readonly withdraw: (ref: ExchangeRef) => Effect.Effect<boolean, SessionStorageError>
  /** Until when an owner is there; a time that is over gives up what it has open. */
  readonly lease: (options: {
    readonly owner: string
    readonly until: number
  }) => Effect.Effect<void, SessionStorageError>
  /**
   * Open exchanges whose owner has no lease beyond `at`, those that ended first before the others; never one without an
   * owner. Leases that have ended and own nothing are forgotten. What is looked at does not grow with the sessions, nor
   * with what others have open.
   */
  readonly orphans: (options: {
    readonly at: number
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<Exchange>, SessionStorageError>
  /** One turn, also one that is no longer on the way to a head. */
  readonly turn: (ref: TurnRef) => Effect.Effect<Option.Option<SessionTurn>, SessionStorageError>
  /**
   * The newest turns on the way that ends with `head`, with it, oldest first; those behind `since` only, where that is
   * on the way. The page before begins with the parent of the first.
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
   * Makes sessions that `idle` would list expired, with `updatedAt` at `at` and the next revision, and gives them as
   * they are now. Of several that do it at once each session is given to one only.
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
      /** Only those with a lower revision. */
      readonly before?: number | undefined
      readonly kinds?: ReadonlyArray<SessionCheckpoint["kind"]> | undefined
    }
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionStorageError>
  /** The newest checkpoint of `into` whose merge took over from `from`. */
  readonly lastMerge: (
    into: SessionId,
    from: SessionId
  ) => Effect.Effect<Option.Option<SessionCheckpoint>, SessionStorageError>
  /** Whether there was one. */
  readonly deleteCheckpoint: (id: CheckpointId) => Effect.Effect<boolean, SessionStorageError>
  /**
   * Deletes a session, its checkpoints, its open exchanges and its turns; of the turns only those stay that lie on the
   * way to a branch, and they go with the last of the branches. Whether there was one.
   */
  readonly delete: (id: SessionId) => Effect.Effect<boolean, SessionStorageError>
  /** Succeeds if what lies below answers. */
  readonly health: Effect.Effect<void, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionStore extends Context.Tag("effect-lexigram/session/SessionStore")<SessionStore, Service>() {}
