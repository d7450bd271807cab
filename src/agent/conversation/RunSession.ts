/**
 * The session of a run: loaded or created, bound while the run goes on, with its visible part before the message.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId, UserId } from "../../domain/Ids.js"
import { Requester } from "../../domain/Requester.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as SessionContext from "../../session/manager/SessionContext.js"
import type { Answer } from "../../strategy/definition/Strategy.js"
import * as RecordedStages from "../definition/RecordedStages.js"
import type { State } from "../definition/Stage.js"
import * as KeptFiles from "./KeptFiles.js"
import { begin } from "./RunTurns.js"

/** A session bound for another user is hidden from the run. */
const forUser =
  (userId: UserId) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(SessionContext.option, (bound) =>
      Option.isNone(bound) || bound.value.userId === userId ? effect : SessionContext.isolated(effect)
    )

/**
 * Runs what is further in within the session of the run. A run without a session sees the one bound around it, unless
 * the run is for another user.
 *
 * @category combinators
 */
export const within = <E, R>(state: State, next: (state: State) => Effect.Effect<Answer, E, R>) => {
  const { sessionId, userId } = state
  if (sessionId !== undefined) return withSession(state, sessionId, next)
  return userId === undefined ? next(state) : forUser(userId)(next(state))
}

const withSession = <E, R>(state: State, sessionId: SessionId, next: (state: State) => Effect.Effect<Answer, E, R>) => {
  const { userId } = state
  const { config, history, sessions } = state.uses
  const access = userId === undefined ? {} : { userId }
  return Effect.flatMap(
    SystemAccess.holding(state.held)(
      Effect.gen(function* () {
        const session = yield* RecordedStages.session(
          Effect.gen(function* () {
            const found = yield* sessions.get(sessionId, access)
            return Option.isSome(found)
              ? yield* sessions.resume(sessionId, access)
              : yield* sessions.create({ id: sessionId, ...access })
          })
        )
        state.notes.session = session
        const files = yield* KeptFiles.resolve(state, session)
        const opened = yield* RecordedStages.conversation(
          Effect.gen(function* () {
            const kept = yield* KeptFiles.keep(state, session)
            // The turn of the message names the files that are kept.
            state.notes.files = kept
            yield* begin(state, session)
            const { messages, shown } = yield* history.read({
              session,
              access,
              query: state.input,
              turns: config.sessionTurns,
              toolCalls: config.sessionToolCalls
            })
            return { kept, messages, shown: [...shown] }
          })
        )
        const { kept, messages } = opened
        const shown = new Set(opened.shown)
        state.notes.files = kept
        state.notes.shown = shown
        if (kept.length > 0) yield* state.run.emit({ _tag: "FilesKept", files: kept })
        if (messages.length > 0) {
          yield* state.run.emit({ _tag: "MemoryRecalled", source: "session", count: shown.size })
        }
        return { session, files, messages: yield* KeptFiles.show(state, session, messages) }
      })
    ),
    ({ files, messages, session }) => {
      const bound = SessionContext.bind(session)(
        next({
          ...state,
          files,
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
