/**
 * Shows the newest turns of a session verbatim.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { SessionTurn } from "../turn/Session.js"
import * as SessionHistory from "./SessionHistory.js"
import * as SessionMessages from "./SessionMessages.js"
import * as SessionToolCalls from "./SessionToolCalls.js"

/** The longest run of newest turns that fits the budget, found by bisection. */
const fitting = (
  turns: ReadonlyArray<SessionTurn>,
  budget: number,
  counter: TokenCounter.Service
): ReadonlyArray<SessionTurn> => {
  const opening = counter.countMessages([])
  const fits = (from: number): boolean =>
    counter.countMessages(SessionMessages.fromTurns(turns.slice(from))) - opening <= budget
  let fit = turns.length
  for (let from = 0; from < fit; ) {
    const middle = Math.floor((from + fit) / 2)
    if (fits(middle)) fit = middle
    else from = middle + 1
  }
  return turns.slice(fit)
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<SessionHistory.Service, never, SessionManager.SessionManager> = Effect.map(
  SessionManager.SessionManager,
  (sessions) => ({
    read: ({ access, session, tokenBudget, toolCalls, turns }) =>
      Effect.flatMap(sessions.turns(session.id, { last: turns, ...access }), (window) => {
        const withCalls = (turns: ReadonlyArray<SessionTurn>) =>
          Effect.map(SessionToolCalls.fitting(turns, { tokenBudget, toolCalls }), (calls) =>
            SessionMessages.toHistory(turns, calls)
          )
        if (tokenBudget === undefined) return withCalls(window)
        return Effect.flatMap(SessionToolCalls.counter, (counter) => {
          const kept = fitting(window, tokenBudget, counter)
          return kept.length === 0 && window.length > 0
            ? SessionHistory.overBudget("WindowSessionHistory")
            : withCalls(kept)
        })
      })
  })
)

/**
 * Shows the newest turns; with a token budget, as many of them as fit. Tokens are counted by the `TokenCounter` in the
 * reader's context, else approximately.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { Session, SessionHistory, SessionManager, Sessions, WindowSessionHistory } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const [sessions, history] = yield* Effect.all([SessionManager.SessionManager, SessionHistory.SessionHistory])
 *   const session = yield* sessions.create()
 *   const turn = { id: Ids.TurnId.make("1"), role: "user", content: "We leave on Monday.", timestamp: 0 } as const
 *   yield* sessions.addTurn(session.id, Session.NewTurn.make(turn))
 *   return yield* history.read({ session, query: "When do we leave?", turns: 20, tokenBudget: 4_000 })
 * }).pipe(Effect.provide(WindowSessionHistory.layer), Effect.provide(Sessions.layer()))
 * ```
 */
export const layer: Layer.Layer<SessionHistory.SessionHistory, never, SessionManager.SessionManager> = Layer.effect(
  SessionHistory.SessionHistory,
  make
)
