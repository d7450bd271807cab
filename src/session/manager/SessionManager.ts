/**
 * The lifecycle of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { type RunId, SessionId, type UserId } from "../../domain/Ids.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import {
  begin,
  CheckpointId,
  type NewTurn,
  type Session,
  type SessionCheckpoint,
  type SessionStatus,
  type SessionTurn,
  stateOf,
  type TurnRef
} from "../turn/Session.js"
import {
  CheckpointNotFoundError,
  type SessionCapacityError,
  type SessionClosedError,
  type SessionExpiredError,
  type SessionInputError,
  type SessionNotFoundError,
  type SessionStorageError,
  type SessionTransitionError,
  type TurnError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionAttachments from "./SessionAttachments.js"

/**
 * The caller. With a user, only that user's sessions are found. Without one, only sessions without an owner are found,
 * unless the caller acts for the system (`SystemAccess.grant`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Access extends SessionAttachments.Access {}

/**
 * The small state of a session. In an update, a given field replaces the old one as a whole, and the others stay.
 *
 * @since 0.1.0
 * @category models
 */
export interface UpdateOptions extends Access {
  readonly metadata?: { readonly [key: string]: unknown } | undefined
  readonly systemPrompt?: string | undefined
  readonly variables?: { readonly [key: string]: unknown } | undefined
  readonly activeTools?: ReadonlyArray<string> | undefined
  readonly activeSkills?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CreateOptions extends UpdateOptions {
  /** Default: a new id. */
  readonly id?: SessionId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TurnsOptions extends Access {
  /** The maximum number of turns; the newest are returned. */
  readonly last: number
  /**
   * Returns only turns before this one. To page backwards, pass the first turn of the previous page. An unknown turn
   * gives an empty page.
   */
  readonly before?: TurnRef | undefined
  /** Returns only turns after this one, if it is on the path to the head. */
  readonly since?: TurnRef | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  /** Returns only sessions with these statuses; default all. */
  readonly statuses?: ReadonlyArray<SessionStatus> | undefined
  /**
   * The time to sort by, newest first. `updated` may miss a session that changes between two pages; `created` misses
   * none. Default `updated`.
   */
  readonly order?: "created" | "updated" | undefined
  /** The maximum number of sessions; default 100. */
  readonly limit?: number | undefined
  /** The `next` of the previous page. */
  readonly after?: SessionStore.Cursor | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly sessions: ReadonlyArray<Session>
  /** Where the next page begins; absent on the last page. */
  readonly next?: SessionStore.Cursor | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AddTurnOptions extends Access {
  /**
   * The newest turn the caller knows, `null` for none. With another head the turn is rejected with
   * `SessionConflictError`. When absent, the turn follows the current head.
   */
  readonly expectedHead?: TurnRef | null | undefined
  /**
   * How a known turn id is handled. `same` (default): the repeated turn must equal the first. `first`: the first turn
   * is kept whatever the new one says; for turns that differ when repeated, such as answers of models. In both cases
   * the first turn must be on the path to the head.
   */
  readonly ifKnown?: "same" | "first" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ExchangeOptions extends Access {
  /** The run that answers. */
  readonly runId: RunId
  readonly turns: ReadonlyArray<NewTurn>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface EndExchangeOptions extends ExchangeOptions {
  /** Memories to which the caller writes the turns: the session does not write them there again. Default none. */
  readonly savedTo?: ReadonlyArray<WorkingMemory.Service> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface BeginExchangeOptions extends ExchangeOptions {
  /** The run continues elsewhere when this process ends: only `endExchange` closes the exchange. Default false. */
  readonly durable?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CheckpointsOptions extends Access {
  readonly limit?: number | undefined
  /** Returns only checkpoints with a lower `revision`. */
  readonly before?: number | undefined
  readonly kinds?: ReadonlyArray<SessionCheckpoint["kind"]> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RestoreOptions extends Access {
  /** Makes a closed or expired session active again, within the user's limit. Default false: the restore fails. */
  readonly reopen?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ExpireOptions {
  /** Expires sessions idle for at least this long. Default: the TTL of the layer. */
  readonly idle?: Duration.DurationInput | undefined
  /** The maximum number of sessions, longest idle first; default 100. */
  readonly limit?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CheckpointOptions extends Access {
  readonly name?: string | undefined
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service extends SessionAttachments.Service {
  /**
   * Creates an active session without turns. An id that the same user already uses returns that session, so that a
   * repeated call creates nothing; another user's id fails with `SessionNotFoundError`. Fails with
   * `SessionCapacityError` when the user has the maximum number of active and suspended sessions; sessions without an
   * owner are not counted.
   */
  readonly create: (
    options?: CreateOptions
  ) => Effect.Effect<Session, SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError>
  /**
   * Makes a suspended session active again; an active one is returned unchanged. A session idle longer than its TTL is
   * expired first, as in `addTurn` and `update`. Only a restore reopens an expired session.
   */
  readonly resume: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionStorageError>
  /**
   * Gives a session without an owner to a user, with its turns and checkpoints, in any status. Its branches and its
   * memory entries stay without an owner. A session that the user already owns is returned unchanged; another user's
   * fails with `SessionNotFoundError`, also for the system. Fails with `SessionCapacityError` as `create` does. The
   * application decides who may call it: whoever can claim a session can read it.
   */
  readonly claim: (
    id: SessionId,
    userId: UserId
  ) => Effect.Effect<Session, SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError>
  /** The session in any status, if the caller may see it. */
  readonly get: (id: SessionId, options?: Access) => Effect.Effect<Option.Option<Session>, SessionStorageError>
  /** Lists a user's sessions page by page; `null` lists sessions without an owner. */
  readonly list: (userId: UserId | null, options?: ListOptions) => Effect.Effect<Page, SessionStorageError>
  /**
   * Appends a turn and makes it the head. Concurrent writers lose no turn. If the session, or the lineage it was forked
   * from, already has the turn id, the first turn is returned and nothing changes, in any status, provided that both
   * say the same (role, text, tool calls, skill results) and the first is on the path to the head; otherwise it fails
   * with `SessionConflictError`. A suspended session fails with `SessionTransitionError`. A full one fails with
   * `SessionCapacityError` and stays open.
   */
  readonly addTurn: (id: SessionId, turn: NewTurn, options?: AddTurnOptions) => Effect.Effect<SessionTurn, TurnError>
  /**
   * Records the input of a run before it answers. It joins the conversation when the exchange ends or, marked as
   * interrupted, when the lease of this process expires. Fails as `addTurn` does; there must also be room for an
   * answer. A second call for the same run replaces the first.
   */
  readonly beginExchange: (id: SessionId, options: BeginExchangeOptions) => Effect.Effect<void, TurnError>
  /**
   * Ends an exchange: appends question and answer to the head in one write. A begun exchange ends whatever status the
   * session has by then; without one it fails as `addTurn` does. A question marked as interrupted in the meantime stays
   * and is repeated with the answer. Repeating the call changes nothing. A failed write is retried in the background.
   */
  readonly endExchange: (
    id: SessionId,
    options: EndExchangeOptions
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, TurnError>
  /** The maximum size of a turn in bytes. */
  readonly maxTurnBytes: number
  /**
   * Marks exchanges of processes with an expired lease as interrupted, at most 100, and returns their turns. Runs when
   * the layer is built and, while exchanges are open, at most three times a lease. Only the system may call it
   * (`SystemAccess.grant`).
   */
  readonly recover: Effect.Effect<ReadonlyArray<SessionTurn>, SessionInputError | SessionStorageError>
  /** The newest turns on the path to the head, oldest first, in any status. */
  readonly turns: (
    id: SessionId,
    options: TurnsOptions
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionNotFoundError | SessionStorageError>
  /** Changes the small state of an active or suspended session, not its turns. */
  readonly update: (
    id: SessionId,
    options: UpdateOptions
  ) => Effect.Effect<
    Session,
    SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionInputError | SessionStorageError
  >
  /**
   * Stores the head and the small state, in any status. Each call makes another checkpoint; the oldest are deleted
   * beyond the maximum. The call does not extend the TTL.
   */
  readonly checkpoint: (
    id: SessionId,
    options?: CheckpointOptions
  ) => Effect.Effect<SessionCheckpoint, SessionNotFoundError | SessionInputError | SessionStorageError>
  /** The checkpoints of a session, newest first; `limit` defaults to all. */
  readonly checkpoints: (
    id: SessionId,
    options?: CheckpointsOptions
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionNotFoundError | SessionStorageError>
  /**
   * Returns a session to the head and the small state of a checkpoint; its status does not change. Later turns are kept
   * but leave the path to the head. A closed or expired session fails unless `reopen` is set. Repeating it changes only
   * the time.
   */
  readonly restore: (
    id: CheckpointId,
    options?: RestoreOptions
  ) => Effect.Effect<
    Session,
    CheckpointNotFoundError | SessionClosedError | SessionExpiredError | SessionCapacityError | SessionStorageError
  >
  /** Makes an active session reject turns until it is resumed. A suspended one is returned unchanged. */
  readonly suspend: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionTransitionError | SessionStorageError>
  /**
   * Closes a session for good; its turns stay readable. A closed or expired one is left unchanged. Memory work
   * continues in the background.
   */
  readonly close: (id: SessionId, options?: Access) => Effect.Effect<void, SessionNotFoundError | SessionStorageError>
  /**
   * Deletes a session, its checkpoints, and the turns that no other session reaches. Does nothing when it is not found.
   */
  readonly delete: (id: SessionId, options?: Access) => Effect.Effect<void, SessionStorageError>
  /**
   * Expires idle sessions and returns them. Safe on several machines: each session is returned to one caller. Needs the
   * system capability (`SystemAccess.grant`); without it the call fails with `SessionInputError`.
   */
  readonly expireIdle: (
    options?: ExpireOptions
  ) => Effect.Effect<ReadonlyArray<Session>, SessionInputError | SessionStorageError>
  /** Succeeds if the store is reachable. */
  readonly health: Effect.Effect<void, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionManager extends Context.Tag("effect-lexigram/session/SessionManager")<SessionManager, Service>() {}

const ephemeral = (id: SessionId, options: CreateOptions | undefined, status: SessionStatus): Effect.Effect<Session> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({
    ...begin(id, { at, userId: options?.userId }),
    status,
    metadata: options?.metadata ?? {},
    activeTools: options?.activeTools ?? [],
    activeSkills: options?.activeSkills ?? [],
    ...(options?.systemPrompt === undefined ? {} : { systemPrompt: options.systemPrompt }),
    variables: options?.variables ?? {}
  }))

/**
 * Stores nothing. Any id is an active session without turns; writes are returned and forgotten.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SessionManager> = Layer.succeed(SessionManager, {
  create: Effect.fnUntraced(function* (options) {
    const id = options?.id ?? SessionId.make(yield* IdGenerator.generate)
    return yield* ephemeral(id, options, "active")
  }),
  resume: (id, options) => ephemeral(id, options, "active"),
  claim: (id, userId) => ephemeral(id, { userId }, "active"),
  get: () => Effect.succeedNone,
  list: () => Effect.succeed({ sessions: [] }),
  addTurn: (id, turn) => Effect.succeed({ ...turn, sessionId: id, depth: 1 }),
  beginExchange: () => Effect.void,
  endExchange: (id, { turns }) => Effect.succeed(turns.map((turn) => ({ ...turn, sessionId: id, depth: 1 }))),
  ...SessionAttachments.none,
  maxTurnBytes: Number.POSITIVE_INFINITY,
  recover: Effect.succeed([]),
  turns: () => Effect.succeed([]),
  update: (id, options) => ephemeral(id, options, "active"),
  checkpoint: Effect.fnUntraced(function* (id, options) {
    const session = yield* ephemeral(id, undefined, "active")
    return {
      id: CheckpointId.make(yield* IdGenerator.generate),
      sessionId: id,
      ...(options?.name === undefined ? {} : { name: options.name }),
      kind: "manual" as const,
      state: stateOf(session),
      createdAt: session.createdAt,
      revision: 0,
      metadata: options?.metadata ?? {}
    }
  }),
  checkpoints: () => Effect.succeed([]),
  restore: (id) =>
    Effect.fail(
      new CheckpointNotFoundError({
        message: "The checkpoint was not found: sessions are not stored",
        hint: "Provide a layer of SessionManager that stores them",
        checkpointId: id
      })
    ),
  suspend: (id, options) => ephemeral(id, options, "suspended"),
  close: () => Effect.void,
  delete: () => Effect.void,
  expireIdle: () => Effect.succeed([]),
  health: Effect.void
})
