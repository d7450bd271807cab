/**
 * The session bound to the current fiber. It can be read anywhere inside the work it was bound around; forked fibers
 * inherit it, and other fibers never see it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { isLive, type Session } from "../turn/Session.js"
import {
  type SessionCapacityError,
  type SessionInputError,
  SessionNotFoundError,
  type SessionStorageError,
  SessionUnboundError
} from "../turn/SessionError.js"
import * as SessionManager from "./SessionManager.js"

/**
 * A binding.
 *
 * @since 0.1.0
 * @category models
 */
export interface Binding {
  /** The session when it was bound; none outside, and in `isolated` work until `getOrCreate` has created one. */
  readonly session: () => Session | undefined
  /** The bound session of a user, or the one created here for that user earlier; serialized per user. */
  readonly getOrCreate: <E, R>(
    userId: UserId,
    how: {
      readonly live: (session: Session) => Effect.Effect<Option.Option<Session>, E, R>
      readonly create: Effect.Effect<Session, E, R>
    }
  ) => Effect.Effect<Session, E, R>
}

const outside: Binding = { session: () => undefined, getOrCreate: (_userId, { create }) => create }

/**
 * The binding of the fiber. `bind` and `isolated` set it; there is no need to provide it.
 *
 * @since 0.1.0
 * @category tags
 */
export class SessionContext extends Ambient.Reference<SessionContext>()("effect-lexigram/session/SessionContext", {
  defaultValue: (): Binding => outside
}) {}

const binding = (given: Session | undefined): Binding => {
  const { withLock } = KeyedLock.make()
  const made = new Map<UserId, Session>()
  let bound = given
  return {
    session: () => bound,
    getOrCreate: (userId, { create, live }) =>
      withLock(userId)(
        Effect.gen(function* () {
          for (const known of new Set([bound, made.get(userId)])) {
            if (known === undefined || known.userId !== userId) continue
            const found = yield* live(known)
            if (Option.isSome(found)) return found.value
          }
          const created = yield* create
          made.set(userId, created)
          bound ??= created
          return created
        })
      )
  }
}

/**
 * Binds a session while the effect runs. Inside another binding, this one holds until the effect ends.
 *
 * @since 0.1.0
 * @category combinators
 * @example
 * ```ts
 * import { SessionContext, SessionManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const sessions = yield* SessionManager.SessionManager
 *   const session = yield* sessions.create()
 *   return yield* SessionContext.bind(session)(SessionContext.sessionId)
 * })
 * ```
 */
export const bind =
  (session: Session) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => Effect.provideService(effect, SessionContext, binding(session)))

/**
 * Runs the effect without the surrounding binding. The first session that `getOrCreate` creates inside is bound from
 * then on, for all of the effect. For requests that have no session yet.
 *
 * @since 0.1.0
 * @category combinators
 */
export const isolated = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => Effect.provideService(effect, SessionContext, binding(undefined)))

/**
 * The bound session when it was bound, if there is one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const option: Effect.Effect<Option.Option<Session>> = Effect.map(SessionContext, ({ session }) =>
  Option.fromNullable(session())
)

const unbound = new SessionUnboundError({
  message: "No session is bound",
  hint: "Wrap the work in SessionContext.bind, or run the agent with a sessionId"
})

/**
 * The bound session when it was bound.
 *
 * @since 0.1.0
 * @category accessors
 */
export const session: Effect.Effect<Session, SessionUnboundError> = Effect.flatMap(
  SessionContext,
  (binding): Effect.Effect<Session, SessionUnboundError> => {
    const bound = binding.session()
    return bound === undefined ? Effect.fail(unbound) : Effect.succeed(bound)
  }
)

/**
 * The id of the bound session.
 *
 * @since 0.1.0
 * @category accessors
 */
export const sessionId: Effect.Effect<SessionId, SessionUnboundError> = Effect.map(session, ({ id }) => id)

const accessOf = ({ userId }: Session): SessionManager.Access => (userId === undefined ? {} : { userId })

/**
 * The bound session as it is stored now, in any status; `SessionNotFoundError` when it was deleted in the meantime. The
 * binding does not change.
 *
 * @since 0.1.0
 * @category accessors
 */
export const current: Effect.Effect<
  Session,
  SessionUnboundError | SessionNotFoundError | SessionStorageError,
  SessionManager.SessionManager
> = Effect.gen(function* () {
  const sessions = yield* SessionManager.SessionManager
  const bound = yield* session
  const found = yield* sessions.get(bound.id, accessOf(bound))
  if (Option.isSome(found)) return found.value
  return yield* new SessionNotFoundError({
    message: "The bound session is no longer stored",
    sessionId: bound.id
  })
})

/**
 * A session of the user: the bound one, as it is stored now, if it belongs to the user and is active or suspended;
 * otherwise a new one with the given options. A binding remembers the sessions created in it, so that repeated and
 * concurrent calls for a user create one session. Without a binding each call creates another one: wrap the work in
 * `isolated`.
 *
 * A bound session stays bound, even when it has ended or belongs to another user; in `isolated` work the first session
 * that is created is bound.
 *
 * @since 0.1.0
 * @category accessors
 */
export const getOrCreate = (
  userId: UserId,
  options?: Omit<SessionManager.CreateOptions, "id" | "userId"> | undefined
): Effect.Effect<
  Session,
  SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError,
  SessionManager.SessionManager
> =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    Effect.flatMap(SessionContext, (binding) =>
      binding.getOrCreate<SessionNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError, never>(
        userId,
        {
          live: ({ id }) => Effect.map(sessions.get(id, { userId }), Option.filter(isLive)),
          create: sessions.create({ ...options, userId })
        }
      )
    )
  )
