/**
 * The life of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as IdGenerator from "../domain/IdGenerator.js"
import { SessionId, type UserId } from "../domain/Ids.js"
import {
  CheckpointId,
  type NewTurn,
  type Session,
  type SessionCheckpoint,
  type SessionStatus,
  type SessionTurn
} from "./Session.js"
import {
  CheckpointNotFoundError,
  type SessionCapacityError,
  type SessionClosedError,
  type SessionExpiredError,
  type SessionNotFoundError,
  type SessionStorageError,
  type SessionTransitionError
} from "./SessionError.js"

/**
 * Who asks. With a user, sessions of other users and of nobody are not found; without one, the caller answers for it that the session
 * may be used.
 *
 * @since 0.1.0
 * @category models
 */
export interface Access {
  readonly userId?: UserId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CreateOptions extends Access {
  /** Without it a new id is made. */
  readonly id?: SessionId | undefined
  readonly metadata?: { readonly [key: string]: unknown } | undefined
  readonly systemPrompt?: string | undefined
  readonly variables?: { readonly [key: string]: unknown } | undefined
  readonly activeTools?: ReadonlyArray<string> | undefined
  readonly activeSkills?: ReadonlyArray<string> | undefined
}

/**
 * What changes: a field that is given replaces the old one as a whole, the others stay.
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
export interface TurnsOptions extends Access {
  /** At most so many, the newest ones. */
  readonly last: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CheckpointOptions extends Access {
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * A new active session without turns. The id of a session that the same user has gives that one as it is, so that a repeated call
   * creates nothing; the id of somebody else's fails with `SessionNotFoundError`. `SessionCapacityError` when the user has as many active
   * and suspended sessions as allowed; those of nobody are not counted.
   */
  readonly create: (
    options?: CreateOptions
  ) => Effect.Effect<Session, SessionNotFoundError | SessionCapacityError | SessionStorageError>
  /** Makes a suspended session active again. An active one stays as it is and succeeds. */
  readonly resume: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionStorageError>
  /** The session in whatever status, if there is one for whoever asks. */
  readonly get: (id: SessionId, options?: Access) => Effect.Effect<Option.Option<Session>, SessionStorageError>
  /** All sessions of a user in whatever status, the one changed last first. None: empty. */
  readonly list: (userId: UserId) => Effect.Effect<ReadonlyArray<Session>, SessionStorageError>
  /**
   * Puts a turn behind the newest one and makes it the head. Of several writers at once all turns are kept, one behind the other. A turn
   * id that the session has already gives the first turn and changes nothing. A suspended session refuses with
   * `SessionTransitionError`, a full one with `SessionCapacityError`.
   */
  readonly addTurn: (
    id: SessionId,
    turn: NewTurn,
    options?: Access
  ) => Effect.Effect<
    SessionTurn,
    | SessionNotFoundError
    | SessionClosedError
    | SessionExpiredError
    | SessionTransitionError
    | SessionCapacityError
    | SessionStorageError
  >
  /** The newest turns on the way to the head, oldest first, in whatever status. No turns, or `last` of 0: empty. */
  readonly turns: (
    id: SessionId,
    options: TurnsOptions
  ) => Effect.Effect<ReadonlyArray<SessionTurn>, SessionNotFoundError | SessionStorageError>
  /** Changes the small state of an active or suspended session. Turns are not touched. */
  readonly update: (
    id: SessionId,
    options: UpdateOptions
  ) => Effect.Effect<Session, SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionStorageError>
  /** Keeps the head and the small state. Each call makes another checkpoint; the oldest go when there are more than allowed. */
  readonly checkpoint: (
    id: SessionId,
    options?: CheckpointOptions
  ) => Effect.Effect<SessionCheckpoint, SessionNotFoundError | SessionStorageError>
  /** The checkpoints of a session, oldest first. None: empty. */
  readonly checkpoints: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<ReadonlyArray<SessionCheckpoint>, SessionNotFoundError | SessionStorageError>
  /**
   * Takes a session back to a checkpoint, head and small state; its status stays as it is. Turns added since are kept but no longer on
   * the way to the head. A closed or expired session refuses. Doing it again changes nothing but the time.
   */
  readonly restore: (
    id: CheckpointId,
    options?: Access
  ) => Effect.Effect<Session, CheckpointNotFoundError | SessionClosedError | SessionExpiredError | SessionStorageError>
  /** Makes an active session refuse turns until it is resumed. A suspended one stays as it is and succeeds. */
  readonly suspend: (
    id: SessionId,
    options?: Access
  ) => Effect.Effect<Session, SessionNotFoundError | SessionTransitionError | SessionStorageError>
  /** Closes a session for good; turns can still be read. A closed or expired one stays as it is and succeeds. */
  readonly close: (id: SessionId, options?: Access) => Effect.Effect<void, SessionNotFoundError | SessionStorageError>
  /** Deletes a session, its checkpoints, and the turns that no other session reaches. One that is not found: does nothing. */
  readonly delete: (id: SessionId, options?: Access) => Effect.Effect<void, SessionStorageError>
  /** Succeeds if the store below answers. */
  readonly health: Effect.Effect<void, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionManager extends Context.Tag("effect-lexigram/session/SessionManager")<SessionManager, Service>() {}

const ephemeral = (id: SessionId, options: CreateOptions | undefined, status: SessionStatus): Effect.Effect<Session> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    id,
    ...(options?.userId === undefined ? {} : { userId: options.userId }),
    status,
    metadata: options?.metadata ?? {},
    activeTools: options?.activeTools ?? [],
    activeSkills: options?.activeSkills ?? [],
    ...(options?.systemPrompt === undefined ? {} : { systemPrompt: options.systemPrompt }),
    variables: options?.variables ?? {},
    depth: 0,
    totalTokens: 0,
    totalCost: 0,
    createdAt: now,
    updatedAt: now
  }))

/**
 * Keeps nothing. Whatever id is created or resumed is an active session without turns; what is written is given back and forgotten.
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
  get: () => Effect.succeedNone,
  list: () => Effect.succeed([]),
  addTurn: (id, turn) => Effect.succeed({ ...turn, sessionId: id, depth: 1 }),
  turns: () => Effect.succeed([]),
  update: (id, options) => ephemeral(id, options, "active"),
  checkpoint: Effect.fnUntraced(function* (id, options) {
    const { createdAt, metadata, activeTools, activeSkills, variables, status, depth, totalTokens, totalCost } =
      yield* ephemeral(id, undefined, "active")
    return {
      id: CheckpointId.make(yield* IdGenerator.generate),
      sessionId: id,
      state: { status, metadata, activeTools, activeSkills, variables, depth, totalTokens, totalCost },
      createdAt,
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
  health: Effect.void
})
