/**
 * The life of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
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
  type SessionConflictError,
  type SessionExpiredError,
  type SessionInputError,
  type SessionNotFoundError,
  type SessionStorageError,
  type SessionTransitionError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"

/**
 * Who asks. With a user, sessions of other users and of nobody are not found; without one, only those of nobody are,
 * unless the caller acts for the system (`SystemAccess.grant`).
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: UserId | undefined
}

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
  /** Without it a new id is made. */
  readonly id?: SessionId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TurnsOptions extends Access {
  /** At most so many, the newest ones. */
  readonly last: number
  /**
   * Only those before this turn: the page before a page is that before its first turn. One that the session does not
   * know: empty.
   */
  readonly before?: TurnRef | undefined
  /** Only those behind this turn, where it is on the way to the head. */
  readonly since?: TurnRef | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  /** Only sessions of these statuses; default all. */
  readonly statuses?: ReadonlyArray<SessionStatus> | undefined
  /**
   * By which time, newest first: `updated` shows first what was changed last, and may miss a session that changes
   * between two pages; `created` misses none. Default `updated`.
   */
  readonly order?: "created" | "updated" | undefined
  /** At most so many; default 100. */
  readonly limit?: number | undefined
  /** The `next` of the page before. */
  readonly after?: SessionStore.Cursor | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly sessions: ReadonlyArray<Session>
  /** Where the next page goes on; absent when this was the last one. */
  readonly next?: SessionStore.Cursor | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface AddTurnOptions extends Access {
  /**
   * The newest turn as the caller knows it, `null` for none: with another one the turn is refused with
   * `SessionConflictError`. Left out, the turn goes behind whatever is newest.
   */
  readonly expectedHead?: TurnRef | null | undefined
  /**
   * What a known id is given for. `same` (default): a turn that is sent again must say what the first one says.
   * `first`: the first one stands whatever it says, for turns that are made anew when they are repeated, such as
   * answers of models. Either way the first one has to be on the way to the head.
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
export interface BeginExchangeOptions extends ExchangeOptions {
  /** The run goes on elsewhere when this process ends: only `endExchange` closes the exchange. Default false. */
  readonly durable?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CheckpointsOptions extends Access {
  readonly limit?: number | undefined
  /** Only those with a lower `revision`. */
  readonly before?: number | undefined
  readonly kinds?: ReadonlyArray<SessionCheckpoint["kind"]> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface RestoreOptions extends Access {
  /** Makes a closed or expired session active again, within the user's limit. Default false: such a session refuses. */
  readonly reopen?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ExpireOptions {
  /** Sessions in which nothing happened for so long. Default that of the layer. */
  readonly idle?: Duration.DurationInput | undefined
  /** At most so many, those idle the longest; default 100. */
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
 * Failures of adding turns to a session.
 *
 * @since 0.1.0
 * @category errors
 */
export type TurnError =
  | SessionNotFoundError
  | SessionConflictError
  | SessionInputError
  | SessionClosedError
  | SessionExpiredError
  | SessionTransitionError
  | SessionCapacityError
  | SessionStorageError

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * A new active session without turns. The id of a session that the same user has gives that one as it is, so that a
   * repeated call creates nothing; the id of somebody else's fails with `SessionNotFoundError`. `SessionCapacityError`
   * when the user has as many active and suspended sessions as allowed; those of nobody are not counted.
   */
  readonly create: (
    options?: CreateOptions
  ) => Effect.Effect<Session, SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError>
  /**
   * Makes a suspended session active again. An active one stays as it is and succeeds. One in which nothing happened
   * for longer than it may live is made expired first, here and where a turn is added or the small state is changed:
   * nothing brings it back but a restore.
   */
  readonly resume: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionStorageError>
  /**
   * Makes a session of nobody that of a user, with its turns and checkpoints, in whatever status: the only way in which
   * it becomes somebody's. Its branches and what memory holds of it stay nobody's. One that is the user's already stays
   * as it is; anybody else's fails with `SessionNotFoundError`, also for the system. `SessionCapacityError` as in
   * `create`. Who may call it for a session is for the application to say: whoever can, can read it.
   */
  readonly claim: (
    id: SessionId,
    userId: UserId
  ) => Effect.Effect<Session, SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError>
  /** The session in whatever status, if there is one for whoever asks. */
  readonly get: (id: SessionId, options?: Access) => Effect.Effect<Option.Option<Session>, SessionStorageError>
  /** The sessions of a user, `null` for those of nobody, by pages. None: empty. */
  readonly list: (userId: UserId | null, options?: ListOptions) => Effect.Effect<Page, SessionStorageError>
  /**
   * Puts a turn behind the newest one and makes it the head. Of several writers at once all turns are kept, one behind
   * the other. A turn id that the session has already, or a branch has from where it comes, gives the first turn and
   * changes nothing, whatever the status, where both say the same (role, text, calls of tools, results of skills) and
   * the first one is on the way to the head; else it fails with `SessionConflictError`: a turn is never taken for
   * another one. A suspended session refuses with `SessionTransitionError`, a full one with `SessionCapacityError`; it
   * stays open.
   */
  readonly addTurn: (id: SessionId, turn: NewTurn, options?: AddTurnOptions) => Effect.Effect<SessionTurn, TurnError>
  /**
   * Keeps what a run is asked before it answers. It becomes part of the conversation when the exchange ends, or, marked
   * as interrupted, when the lease of this process has expired. Refuses as `addTurn` does; there must be room for an
   * answer too. A second call for the same run replaces the first.
   */
  readonly beginExchange: (id: SessionId, options: BeginExchangeOptions) => Effect.Effect<void, TurnError>
  /**
   * Ends an exchange. Its turns, the question with the answer, are appended to the head in one write, side by side. An
   * exchange that was begun ends in whatever status the session is by then; without one it refuses as `addTurn` does. A
   * question that was marked as interrupted in the meantime stays, and is repeated with the answer. Ending it again
   * with the same turns changes nothing. When a write fails with the store, it is tried again in the background.
   */
  readonly endExchange: (
    id: SessionId,
    options: ExchangeOptions
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, TurnError>
  /** The most bytes that a turn may have. */
  readonly maxTurnBytes: number
  /**
   * Marks the exchanges of processes whose lease has expired as interrupted, 100 at most, and gives their turns. Done
   * when the layer is built and, while runs have something open, at most three times a lease. As a call it is for the
   * system alone (`SystemAccess.grant`): without the capability it fails with `SessionInputError`.
   */
  readonly recover: Effect.Effect<ReadonlyArray<SessionTurn>, SessionInputError | SessionStorageError>
  /** The newest turns on the way to the head, oldest first, in whatever status. No turns, or `last` of 0: empty. */
  readonly turns: (
    id: SessionId,
    options: TurnsOptions
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionNotFoundError | SessionStorageError>
  /** Changes the small state of an active or suspended session. Turns are not touched. */
  readonly update: (
    id: SessionId,
    options: UpdateOptions
  ) => Effect.Effect<
    Session,
    SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionInputError | SessionStorageError
  >
  /**
   * Keeps the head and the small state, in whatever status. Each call makes another checkpoint; the oldest go when
   * there are more than allowed. An idle session stays idle.
   */
  readonly checkpoint: (
    id: SessionId,
    options?: CheckpointOptions
  ) => Effect.Effect<SessionCheckpoint, SessionNotFoundError | SessionInputError | SessionStorageError>
  /** The checkpoints of a session, newest first; at most `limit`, default all that are kept. None: empty. */
  readonly checkpoints: (
    id: SessionId,
    options?: CheckpointsOptions
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionNotFoundError | SessionStorageError>
  /**
   * Takes a session back to a checkpoint, head and small state; its status stays as it is. Turns added since are kept
   * but no longer on the way to the head. A closed or expired session refuses, unless it is asked to reopen. Doing it
   * again changes nothing but the time.
   */
  readonly restore: (
    id: CheckpointId,
    options?: RestoreOptions
  ) => Effect.Effect<
    Session,
    CheckpointNotFoundError | SessionClosedError | SessionExpiredError | SessionCapacityError | SessionStorageError
  >
  /** Makes an active session refuse turns until it is resumed. A suspended one stays as it is and succeeds. */
  readonly suspend: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionTransitionError | SessionStorageError>
  /**
   * Closes a session for good; turns can still be read. A closed or expired one stays as it is and succeeds. What
   * memory has to do then goes on behind.
   */
  readonly close: (id: SessionId, options?: Access) => Effect.Effect<void, SessionNotFoundError | SessionStorageError>
  /**
   * Deletes a session, its checkpoints, and the turns that no other session reaches. One that is not found: does
   * nothing.
   */
  readonly delete: (id: SessionId, options?: Access) => Effect.Effect<void, SessionStorageError>
  /**
   * Makes idle sessions expired, and gives them as they are now. Safe on several machines at once: each session is
   * given to one. It is for the system alone (`SystemAccess.grant`): without the capability it fails with
   * `SessionInputError`.
   */
  readonly expireIdle: (
    options?: ExpireOptions
  ) => Effect.Effect<ReadonlyArray<Session>, SessionInputError | SessionStorageError>
  /** Succeeds if the store below answers. */
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
 * Keeps nothing. Whatever id is created or resumed is an active session without turns; what is written is given back
 * and forgotten.
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
        message: "There is no such checkpoint: sessions are not kept",
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
