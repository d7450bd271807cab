/**
 * What a model is shown of a session before the message it is to answer.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { TurnId } from "../../domain/Ids.js"
import type { Message } from "../../llm/model/LlmClient.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as SessionManager from "../manager/SessionManager.js"
import * as SessionToolCalls from "../SessionToolCalls.js"
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

const counter: Effect.Effect<TokenCounter.Service> = Effect.map(
  Effect.serviceOption(TokenCounter.TokenCounter),
  Option.getOrElse(() => TokenCounter.approximate)
)

const noCalls: SessionMessages.Calls = new Map()

/**
 * The calls of tools that have room beside the texts of these turns; `used` are the tokens of what is shown, counted
 * where it is left out.
 *
 * @since 0.1.0
 * @category getters
 */
export const callsOf = (
  turns: ReadonlyArray<SessionTurn>,
  options: Pick<ReadOptions, "tokenBudget" | "toolCalls"> & { readonly shown?: ReadonlyArray<Message> | undefined }
): Effect.Effect<SessionMessages.Calls> => {
  if (options.toolCalls === false || !turns.some(({ toolCalls }) => toolCalls.length > 0))
    return Effect.succeed(noCalls)
  return Effect.map(counter, (counter) =>
    SessionToolCalls.make({
      turns,
      counter,
      budget: options.tokenBudget,
      used: counter.countMessages(options.shown ?? SessionMessages.fromTurns(turns)) - counter.countMessages([])
    })
  )
}

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

/** As many of the newest turns as have room. */
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
 * The newest turns; with a token budget, as many of them as have room. Counted by the `TokenCounter` in context where
 * it is read, else approximately.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWindow: Layer.Layer<SessionHistory, never, SessionManager.SessionManager> = Layer.effect(
  SessionHistory,
  Effect.map(
    SessionManager.SessionManager,
    (sessions): Service => ({
      read: ({ access, session, tokenBudget, toolCalls, turns }) =>
        Effect.flatMap(sessions.turns(session.id, { last: turns, ...access }), (window) => {
          const withCalls = (turns: ReadonlyArray<SessionTurn>) =>
            Effect.map(callsOf(turns, { tokenBudget, toolCalls }), (calls) => fromTurns(turns, calls))
          if (tokenBudget === undefined) return withCalls(window)
          return Effect.flatMap(counter, (counter) => {
            const kept = fitting(window, tokenBudget, counter)
            return kept.length === 0 && window.length > 0 ? overBudget("SessionHistory") : withCalls(kept)
          })
        })
    })
  )
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
