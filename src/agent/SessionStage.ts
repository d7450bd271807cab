/**
 * Finds the conversation the run belongs to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Message } from "../llm/LlmClient.js"
import type { SessionTurn } from "../session/Session.js"
import type {
  SessionCapacityError,
  SessionClosedError,
  SessionExpiredError,
  SessionNotFoundError,
  SessionStorageError
} from "../session/SessionError.js"
import type { Stage } from "./Stage.js"

/** Turns that were never answered are told apart, so that the model does not take an old question for the present one. */
const toMessages = (turns: ReadonlyArray<SessionTurn>): ReadonlyArray<Message> => {
  const messages: Array<Message> = []
  for (const turn of turns) {
    if (turn.role === "user") {
      messages.push({ role: "user", content: turn.content })
      if (turn.unanswered !== undefined) {
        messages.push({ role: "assistant", content: `(no answer: ${turn.unanswered})` })
      }
    } else if (turn.role === "assistant") messages.push({ role: "assistant", content: turn.content })
  }
  return messages
}

/**
 * With a session id the session is resumed, or created when the user has none of that id, and its last turns stand before the message.
 * A session that cannot be had fails the run: without it the conversation would be another one.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<
  SessionNotFoundError | SessionClosedError | SessionExpiredError | SessionCapacityError | SessionStorageError
> = {
  name: "session",
  wrap: (state, next) => {
    const { sessionId, userId } = state
    if (sessionId === undefined) return next(state)
    const { config, sessions } = state.uses
    const access = userId === undefined ? {} : { userId }
    return Effect.flatMap(
      Effect.gen(function* () {
        const found = yield* sessions.get(sessionId, access)
        const session = Option.isSome(found)
          ? yield* sessions.resume(sessionId, access)
          : yield* sessions.create({ id: sessionId, ...access })
        state.notes.session = session
        const turns = yield* sessions.turns(sessionId, { last: config.sessionTurns, ...access })
        state.notes.shown = new Set(turns.map((turn) => turn.id))
        if (turns.length > 0) {
          yield* state.run.emit({ _tag: "MemoryRecalled", source: "session", count: turns.length })
        }
        return {
          ...state,
          system: session.systemPrompt ?? state.system,
          history: [...toMessages(turns), ...state.history]
        }
      }),
      next
    )
  }
}
