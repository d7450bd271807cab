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
import type { Session, SessionTurn } from "../turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"
import * as SessionMessages from "./SessionMessages.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ReadOptions {
  readonly session: Pick<Session, "id" | "userId">
  /** The message it is read for. */
  readonly query: string
  /** Who asks. */
  readonly access?: SessionManager.Access | undefined
  /** Turns at most that are shown as they were said. */
  readonly turns: number
  /** Tokens of the messages at most. Default that of the layer. */
  readonly tokenBudget?: number | undefined
  /**
   * Whether calls of tools are shown with their results: as many of the newest as have room in a quarter of the budget
   * (of 16,384 tokens where there is none) and in what the texts leave of it. Default true.
   */
  readonly toolCalls?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface History {
  /**
   * Oldest first. What stands for turns that are not shown themselves comes before them, as data in a message of the
   * user.
   */
  readonly messages: ReadonlyArray<Message>
  /** The turns that are shown as they were said. */
  readonly shown: ReadonlySet<TurnId>
  /** How many turns are told of in a summary. */
  readonly summarized: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The part of a session that is worth showing, without the turns of the system and of tools
   * (`SessionMessages.fromTurns`). Never more tokens than asked for: nothing where the newest turn alone is more. What
   * is read does not grow with the session. Whatever fails but the session itself makes less to show, with a warning.
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
 * Turns as they were said, with their calls of tools where they are given.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromTurns = (turns: ReadonlyArray<SessionTurn>, calls?: SessionMessages.Calls): History => ({
  messages: SessionMessages.fromTurns(turns, calls),
  shown: new Set(turns.map(({ id }) => id)),
  summarized: 0
})

/**
 * Nothing to show, and a warning: the newest turn alone is more than the budget.
 *
 * @since 0.1.0
 * @category constructors
 */
export const overBudget = (module: string): Effect.Effect<History> =>
  Effect.as(
    Effect.logWarning("The newest turn of the session is more than the budget: none is shown").pipe(
      Effect.annotateLogs({ module })
    ),
    empty
  )

/**
 * Shows nothing: what runs know of their conversation is what memory recalls.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SessionHistory> = Layer.succeed(SessionHistory, {
  read: () => Effect.succeed(empty)
})
