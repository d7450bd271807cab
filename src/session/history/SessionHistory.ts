/**
 * The port that selects what a model sees of a session before the message to answer.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { TurnId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import type * as SessionManager from "../manager/SessionManager.js"
import type { Session } from "../turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  readonly session: Pick<Session, "id" | "userId">
  /** The message that the history precedes. */
  readonly query: string
  /** The caller. */
  readonly access?: SessionManager.Access | undefined
  /** The maximum number of turns shown verbatim. */
  readonly turns: number
  /** The maximum number of tokens of the messages. Default: that of the layer. */
  readonly tokenBudget?: number | undefined
  /**
   * Whether tool calls are shown with their results: as many of the newest as fit into a quarter of the budget (of
   * 16,384 tokens without one) and into what the texts leave of it. Default true.
   */
  readonly toolCalls?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface History {
  /** Oldest first. A summary of turns that are not shown comes first, as data in a user message. */
  readonly messages: ReadonlyArray<Message>
  /** The turns shown verbatim. */
  readonly shown: ReadonlySet<TurnId>
  /** How many turns the summary covers. */
  readonly summarized: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The part of a session to show, without system and tool turns (`SessionMessages.fromTurns`). Never exceeds the token
   * limit: nothing is shown when the newest turn alone exceeds it. The amount read does not grow with the session. Any
   * failure except one of the session shows less, with a warning.
   */
  readonly read: (options: ReadOptions) => Effect.Effect<History, SessionNotFoundError | SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionHistory extends Context.Tag("effect-lexigram/session/SessionHistory")<SessionHistory, Service>() {}

/**
 * Nothing to show.
 *
 * @since 0.1.0
 * @category constants
 */
export const empty: History = { messages: [], shown: new Set(), summarized: 0 }

/**
 * Shows nothing, with a warning: the newest turn alone exceeds the budget.
 *
 * @since 0.1.0
 * @category constructors
 */
export const overBudget = (module: string): Effect.Effect<History> =>
  Effect.as(
    Effect.logWarning("The newest turn of the session exceeds the budget: no history is shown").pipe(
      Effect.annotateLogs({ module })
    ),
    empty
  )

/**
 * Shows nothing: runs know of their conversation only what memory recalls.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { DefaultMemory } from "effect-lexigram/memory"
 * import { SessionHistory, Sessions } from "effect-lexigram/session"
 *
 * // Turns are stored, but a run sees none of them: only what memory recalls.
 * const agents = Agents.layerWith({
 *   sessions: Sessions.layer(),
 *   memory: DefaultMemory.layer(),
 *   history: SessionHistory.layerNoop
 * })
 * ```
 */
export const layerNoop: Layer.Layer<SessionHistory> = Layer.succeed(SessionHistory, {
  read: () => Effect.succeed(empty)
})
