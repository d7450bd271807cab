/**
 * Converts turns of a session to messages for a model, with their tool calls.
 *
 * @since 0.1.0
 */
import type { Message } from "../../llm/model/LlmClient.js"
import type * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { SessionTurn, TurnFile } from "../turn/Session.js"
import type { History } from "./SessionHistory.js"

/** Unanswered turns are marked, so that the model does not mistake an old question for the present one. */
const withMark = ({ role, unanswered }: SessionTurn, message: Message): ReadonlyArray<Message> =>
  role === "user" && unanswered !== undefined
    ? [message, { role: "assistant", content: `(no answer: ${unanswered})` }]
    : [message]

/** Where a message refers to files, beside the options for providers, which do not see it. */
const filesKey = "lexigram"

/**
 * The files of a message of `fromTurn`. A model is shown them only when their bytes are put into the message.
 *
 * @since 0.1.0
 * @category getters
 */
export const filesOf = ({ options, role }: Message): ReadonlyArray<TurnFile> =>
  role === "user" ? ((options?.[filesKey]?.["files"] as ReadonlyArray<TurnFile> | undefined) ?? []) : []

/**
 * The messages of a turn: its text, and after an unanswered question a message that says so. System and tool turns are
 * not shown, nor is a blank turn, which providers reject.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTurn = (turn: SessionTurn): ReadonlyArray<Message> => {
  const { content, files = [], role } = turn
  if (!(role === "user" || role === "assistant") || content === "") return []
  const options = role === "user" && files.length > 0 ? { options: { [filesKey]: { files } } } : {}
  return withMark(turn, { role, content, ...options })
}

/** Messages that precede the text of a turn: its tool calls with their results. */
export type Calls = ReadonlyMap<SessionTurn, ReadonlyArray<Message>>

/**
 * The messages of turns in order, each after its tool calls, where given.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { Ids, LlmGateway } from "effect-lexigram"
 * import { SessionManager, SessionMessages } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const summary = Effect.gen(function* () {
 *   const sessions = yield* SessionManager.SessionManager
 *   const turns = yield* sessions.turns(Ids.SessionId.make("trip"), { last: 50 })
 *   const messages = SessionMessages.fromTurns(turns)
 *   return yield* LlmGateway.complete({
 *     messages: [...messages, { role: "user", content: "Summarize what we said." }]
 *   })
 * })
 * ```
 */
export const fromTurns = (turns: ReadonlyArray<SessionTurn>, calls?: Calls): ReadonlyArray<Message> =>
  turns.flatMap((turn) => [...(calls?.get(turn) ?? []), ...fromTurn(turn)])

/**
 * What a model sees of turns verbatim, with their tool calls where given.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toHistory = (turns: ReadonlyArray<SessionTurn>, calls?: Calls): History => ({
  messages: fromTurns(turns, calls),
  shown: new Set(turns.map(({ id }) => id)),
  summarized: 0
})

/**
 * The tokens that turns add to a prompt as separate messages, including system and tool turns: never less than those of
 * `fromTurns`.
 *
 * @since 0.1.0
 * @category getters
 */
export const tokens = (counter: TokenCounter.Service, turns: ReadonlyArray<SessionTurn>): number =>
  counter.countMessages(
    turns.flatMap((turn) => withMark(turn, { role: turn.role === "tool" ? "user" : turn.role, content: turn.content }))
  ) - counter.countMessages([])
