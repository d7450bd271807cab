/**
 * The port that selects which turns of a session are shown when not all fit.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { SessionTurn } from "../turn/Session.js"
import type { SessionCapacityError } from "../turn/SessionError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface PruneOptions {
  /** The query that turns are ranked by. Default none: the newest turns rank first. */
  readonly query?: string | undefined
  /** The maximum number of turns, not counting system turns. Default no limit. */
  readonly maxTurns?: number | undefined
  /** The maximum number of tokens of all messages that stay. Default no limit. */
  readonly maxTokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Pruned {
  /** In conversation order. */
  readonly kept: ReadonlyArray<SessionTurn>
  /** How many turns are dropped. */
  readonly dropped: number
  /** Tokens of the kept turns as messages (`SessionMessages.tokens`). */
  readonly tokens: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Selects the best turns that fit together; the result depends only on the turns and the query, not on the order
   * given. System turns and the newest turn always stay: `SessionCapacityError` when these alone exceed the token
   * limit. A tool call and its results stay or go together (`ToolPairs`; a call whose turn holds its result needs no
   * result turn). What belongs to the newest turn stays with it, even beyond the turn limit; an incomplete pair is
   * dropped unless it is the newest. No turn is cut.
   */
  readonly prune: (
    turns: ReadonlyArray<SessionTurn>,
    options: PruneOptions
  ) => Effect.Effect<Pruned, SessionCapacityError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class HistoryPruner extends Context.Tag("effect-lexigram/session/HistoryPruner")<HistoryPruner, Service>() {}
