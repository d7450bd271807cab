/**
 * Loads or creates the session of a run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { UserId } from "../../domain/Ids.js"
import { Requester } from "../../domain/Requester.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as SessionContext from "../../session/manager/SessionContext.js"
import type {
  SessionCapacityError,
  SessionClosedError,
  SessionConflictError,
  SessionExpiredError,
  SessionInputError,
  SessionNotFoundError,
  SessionStorageError,
  SessionTransitionError
} from "../../session/turn/SessionError.js"
import type { Stage } from "../definition/Stage.js"

const turns = OnDemand.make(() => import("./RunTurns.js"))

/** A session bound for another user is hidden from the run. */
const forUser =
  (userId: UserId) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(SessionContext.option, (bound) =>
      Option.isNone(bound) || bound.value.userId === userId ? effect : SessionContext.isolated(effect)
    )

/**
 * With a session id, the session is resumed, or created if the user has none with that id, and its visible part
 * (`SessionHistory`) precedes the message. If the session cannot be loaded, the run fails: without it the conversation
 * would be a different one.
 *
 * The session is bound during the run (`SessionContext`). A run without a session sees the one bound around it, unless
 * the run is for another user, and writes nothing into it.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<
  | SessionNotFoundError
  | SessionClosedError
  | SessionConflictError
  | SessionExpiredError
  | SessionCapacityError
  | SessionInputError
  | SessionStorageError
  | SessionTransitionError
> = {
  name: "session",
  wrap: (state, next) => {
    const { sessionId, userId } = state
    if (sessionId === undefined) return userId === undefined ? next(state) : forUser(userId)(next(state))
    const { config, history, sessions } = state.uses
    const access = userId === undefined ? {} : { userId }
    return Effect.flatMap(
      SystemAccess.holding(state.held)(
        Effect.gen(function* () {
          const found = yield* sessions.get(sessionId, access)
          const session = Option.isSome(found)
            ? yield* sessions.resume(sessionId, access)
            : yield* sessions.create({ id: sessionId, ...access })
          state.notes.session = session
          const { begin } = yield* turns
          yield* begin(state, session)
          const { messages, shown } = yield* history.read({
            session,
            access,
            query: state.input,
            turns: config.sessionTurns,
            toolCalls: config.sessionToolCalls
          })
          state.notes.shown = shown
          if (messages.length > 0) {
            yield* state.run.emit({ _tag: "MemoryRecalled", source: "session", count: shown.size })
          }
          return { session, messages }
        })
      ),
      ({ messages, session }) => {
        const bound = SessionContext.bind(session)(
          next({
            ...state,
            system: session.systemPrompt ?? state.system,
            history: [...messages, ...state.history]
          })
        )
        // A run of the system works for the owner of the session: approvals, results of skills and threads belong to
        // that user.
        return userId === undefined && session.userId !== undefined
          ? Effect.provideService(bound, Requester, { userId: session.userId, sessionId })
          : bound
      }
    )
  }
}
