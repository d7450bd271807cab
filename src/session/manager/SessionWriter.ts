/**
 * Optimistic writes of sessions: finds the session, decides, and writes; when another writer was faster, it repeats the
 * decision on the new state.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import type { Session, SessionTurn } from "../turn/Session.js"
import {
  type SessionCapacityError,
  SessionConflictError,
  SessionNotFoundError,
  SessionStorageError
} from "../turn/SessionError.js"
import * as SessionStore from "../turn/SessionStore.js"
import * as SessionWrites from "./SessionWrites.js"

/**
 * @category models
 */
export interface Access {
  readonly userId?: UserId | undefined
}

/**
 * The result of a decision: a value, and what to write. Without a write, the value is the result. If appended turns
 * already exist, the result is made from them, or an error.
 *
 * @category models
 */
export type Decision<A, E = never> =
  | { readonly _tag: "Keep"; readonly value: A }
  | { readonly _tag: "Save"; readonly value: A; readonly change: SessionStore.Change }
  | {
      readonly _tag: "Append"
      readonly value: A
      readonly addition: SessionStore.Addition
      readonly known: (turns: ReadonlyArray<SessionTurn>) => Effect.Effect<A, E>
    }

/**
 * @category models
 */
export interface Service {
  readonly store: SessionStore.Service
  /** Those of the store, bounded in time. */
  readonly writes: SessionWrites.Writes
  /** The session, if it is visible to the caller by the rule of `SystemAccess`. */
  readonly find: (
    id: SessionId,
    access: Access | undefined
  ) => Effect.Effect<Session, SessionNotFoundError | SessionStorageError>
  /**
   * Decides on the stored state and writes. When another writer was faster, it decides again. Within this process, the
   * calls for a session are serialized. A write that has begun is uninterruptible; `written` receives the value with
   * it.
   */
  readonly modify: <A, E>(
    id: SessionId,
    access: Access | undefined,
    decide: (session: Session, now: number) => Effect.Effect<Decision<A, E>, E>,
    written?: ((value: A) => void) | undefined
  ) => Effect.Effect<A, E | SessionNotFoundError | SessionCapacityError | SessionStorageError>
}

/**
 * @category tags
 */
export class SessionWriter extends Context.Tag("effect-lexigram/session/SessionWriter")<SessionWriter, Service>() {}

/** Every lost race means that another writer won; this many in a row are not a coincidence. */
const maxAttempts = 200
const longestPause = 250

const notFound = (sessionId: SessionId): SessionNotFoundError =>
  new SessionNotFoundError({
    message: "The session was not found",
    hint: "Create it first; a session of another user is not found either",
    sessionId
  })

const busy = new SessionStorageError({
  message: `Other writers changed the session ${maxAttempts} times during the write`,
  hint: "Try again later; many processes write to one session"
})

/** The first retries are immediate, later ones delayed with jitter, so that racing writers spread out. */
const pause = (attempt: number): Effect.Effect<void> =>
  attempt < 3
    ? Effect.yieldNow()
    : Effect.flatMap(Random.nextIntBetween(1, Math.min(longestPause, 2 ** Math.min(attempt, 10))), Effect.sleep)

const won = <A, E>(written: Effect.Effect<A, E | SessionConflictError>): Effect.Effect<Option.Option<A>, E> =>
  Effect.catchIf(
    Effect.asSome(written),
    (error): error is SessionConflictError => error instanceof SessionConflictError,
    () => Effect.succeedNone
  ) as Effect.Effect<Option.Option<A>, E>

type Failure = SessionNotFoundError | SessionCapacityError | SessionStorageError

/**
 * @category constructors
 */
export const make: Effect.Effect<Service, never, SessionStore.SessionStore> = Effect.map(
  SessionStore.SessionStore,
  (store) => {
    const { withLock } = KeyedLock.make()
    const writes = SessionWrites.make(store)
    const find: Service["find"] = (id, access) =>
      Effect.flatMap(store.load(id), (found) =>
        Option.isNone(found)
          ? Effect.fail(notFound(id))
          : Effect.flatMap(SystemAccess.permits(access?.userId, found.value.userId), (mayUse) =>
              mayUse ? Effect.succeed(found.value) : Effect.fail(notFound(id))
            )
      )
    /** None: another writer was faster. */
    const write = <A, E>(
      decision: Decision<A, E>
    ): Effect.Effect<Option.Option<A>, E | SessionCapacityError | SessionStorageError> => {
      switch (decision._tag) {
        case "Keep":
          return Effect.succeedSome(decision.value)
        case "Save":
          return Effect.map(won(writes.save(decision.change)), Option.as(decision.value))
        case "Append":
          return Effect.flatMap(
            won(writes.append(decision.addition)),
            (turns): Effect.Effect<Option.Option<A>, E> =>
              Option.isNone(turns)
                ? Effect.succeedNone
                : turns.value.length === 0
                  ? Effect.succeedSome(decision.value)
                  : Effect.asSome(decision.known(turns.value))
          )
      }
    }
    return {
      store,
      writes,
      find,
      modify: <A, E>(
        id: SessionId,
        access: Access | undefined,
        decide: (session: Session, now: number) => Effect.Effect<Decision<A, E>, E>,
        written?: ((value: A) => void) | undefined
      ) => {
        const writeAndTell = (decision: Decision<A, E>) =>
          Effect.uninterruptible(
            Effect.map(write(decision), (value) => {
              if (written !== undefined && Option.isSome(value)) written(value.value)
              return value
            })
          )
        const once: Effect.Effect<Option.Option<A>, E | Failure> = Effect.flatMap(find(id, access), (session) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.flatMap(decide(session, now), writeAndTell))
        )
        const attempt = (count: number): Effect.Effect<A, E | Failure> =>
          Effect.flatMap(once, (written) => {
            if (Option.isSome(written)) return Effect.succeed(written.value)
            return count >= maxAttempts ? Effect.fail(busy) : Effect.zipRight(pause(count), attempt(count + 1))
          })
        return withLock(id)(attempt(1))
      }
    }
  }
)

/**
 * @category layers
 */
export const layer: Layer.Layer<SessionWriter, never, SessionStore.SessionStore> = Layer.effect(SessionWriter, make)
