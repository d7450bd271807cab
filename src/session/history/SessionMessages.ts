/**
 * Converts turns of a session to messages for a model, with their tool calls.
 *
 * @since 0.1.0
 */
import type { Message } from "../../llm/model/LlmClient.js"
import type * as TokenCounter from "../../llm/model/TokenCounter.js"
import type { SessionTurn } from "../turn/Session.js"

/**
 * Turns that were never answered are told apart, so that the model does not take an old question for the present one.
 */
const withMark = ({ role, unanswered }: SessionTurn, message: Message): ReadonlyArray<Message> =>
  role === "user" && unanswered !== undefined
    ? [message, { role: "assistant", content: `(no answer: ${unanswered})` }]
    : [message]

/**
 * What a turn is shown as: its text, and behind a question that was never answered a message that says so. Turns of the
 * system and of tools are not shown, nor is one without a word, which providers refuse.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTurn = (turn: SessionTurn): ReadonlyArray<Message> => {
  const { content, role } = turn
  return (role === "user" || role === "assistant") && content !== "" ? withMark(turn, { role, content }) : []
}

/** Messages that stand before what a turn says: its calls of tools, with their results. */
export type Calls = ReadonlyMap<SessionTurn, ReadonlyArray<Message>>

/**
 * What turns are shown as, in their order; each behind its calls of tools, where they are given.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTurns = (turns: ReadonlyArray<SessionTurn>, calls?: Calls): ReadonlyArray<Message> =>
  turns.flatMap((turn) => [...(calls?.get(turn) ?? []), ...fromTurn(turn)])

/**
 * What turns add to a prompt as messages of their own, those of the system and of tools with them: never less than
 * `fromTurns` adds.
 *
 * @since 0.1.0
 * @category getters
 */
export const tokens = (counter: TokenCounter.Service, turns: ReadonlyArray<SessionTurn>): number =>
  counter.countMessages(
    turns.flatMap((turn) => withMark(turn, { role: turn.role === "tool" ? "user" : turn.role, content: turn.content }))
  ) - counter.countMessages([])
