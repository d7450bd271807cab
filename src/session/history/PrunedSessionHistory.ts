/**
 * Shows the turns that a pruner selects for the message, from a wide window of the newest ones.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as SessionManager from "../manager/SessionManager.js"
import * as HistoryPruner from "./HistoryPruner.js"
import * as SessionHistory from "./SessionHistory.js"
import * as SessionMessages from "./SessionMessages.js"
import * as SessionToolCalls from "./SessionToolCalls.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How many of the newest turns to read; never fewer than are shown. Default 200. */
  readonly window?: number | undefined
  /** The maximum number of tokens of the messages, unless the reader sets one. Default 4096. */
  readonly tokenBudget?: number | undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<SessionHistory.Service, never, SessionManager.SessionManager | HistoryPruner.HistoryPruner> =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const pruner = yield* HistoryPruner.HistoryPruner
    const window = Count.count(options?.window, 200, 1)
    const ownBudget = Count.count(options?.tokenBudget, 4096, 0)
    return {
      read: ({ access, query, session, tokenBudget, toolCalls, turns }) =>
        Effect.gen(function* () {
          if (!(turns >= 1)) return SessionHistory.empty
          const read = yield* sessions.turns(session.id, { last: Math.max(window, turns), ...access })
          const { kept } = yield* pruner.prune(
            read.filter(({ role }) => role !== "system"),
            { query, maxTurns: turns, maxTokens: tokenBudget ?? ownBudget }
          )
          const calls = yield* SessionToolCalls.fitting(kept, { tokenBudget: tokenBudget ?? ownBudget, toolCalls })
          return SessionMessages.toHistory(kept, calls)
        }).pipe(Effect.catchTag("SessionCapacityError", () => SessionHistory.overBudget("PrunedSessionHistory")))
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { PrunedSessionHistory, RelevanceContextPruner } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * const layer = Agents.layerWith({
 *   history: PrunedSessionHistory.layer({ window: 500 }).pipe(Layer.provide(RelevanceContextPruner.layer()))
 * })
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SessionHistory.SessionHistory, never, SessionManager.SessionManager | HistoryPruner.HistoryPruner> =>
  Layer.effect(SessionHistory.SessionHistory, make(options))
