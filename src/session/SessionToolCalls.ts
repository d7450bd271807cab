/**
 * Which tool calls of a session's turns a model is shown, with their results.
 *
 * @internal
 * @since 0.1.0
 */
import type { Message } from "../llm/model/LlmClient.js"
import * as RecalledCalls from "../llm/model/RecalledCalls.js"
import type * as TokenCounter from "../llm/model/TokenCounter.js"
import * as Observation from "../tool/definition/Observation.js"
import type { SessionTurn, TurnToolCall } from "./turn/Session.js"

/** Tokens of a history whose reader sets no budget, as far as tool calls go. */
const defaultBudget = 16_384

const recalled = (
  { isFailure, name, params, result }: TurnToolCall,
  index: number,
  maxChars: number
): RecalledCalls.RecalledCall => ({
  index,
  name,
  params,
  result: Observation.truncate(typeof result === "string" ? result : (Observation.stringify(result) ?? ""), maxChars)
    .text,
  isFailure: isFailure === true
})

/**
 * The messages of each turn's calls. A call without a result is not shown. All of them are at most a quarter of the
 * budget, and no more tokens than the texts leave of it: from the newest on, until one has no room. One result is at
 * most a quarter of that.
 *
 * @category getters
 */
export const make = (options: {
  /** Those that are shown, oldest first. */
  readonly turns: ReadonlyArray<SessionTurn>
  readonly counter: TokenCounter.Service
  /** Of the whole history. */
  readonly budget: number | undefined
  /** Tokens of what is shown besides. */
  readonly used: number
}): ReadonlyMap<SessionTurn, ReadonlyArray<Message>> => {
  const { budget, counter, turns, used } = options
  const shown = new Map<SessionTurn, ReadonlyArray<Message>>()
  const whole = budget === undefined || !Number.isFinite(budget) ? defaultBudget : budget
  const quarter = Math.floor(whole / 4)
  let room = Math.min(quarter, (budget ?? Number.POSITIVE_INFINITY) - used)
  const opening = counter.countMessages([])
  for (const turn of turns.toReversed()) {
    if (turn.role !== "assistant" || turn.content === "") continue
    const calls: Array<RecalledCalls.RecalledCall> = []
    let isFull = false
    for (let index = turn.toolCalls.length - 1; index >= 0 && !isFull; index--) {
      const made = turn.toolCalls[index] as TurnToolCall
      if (made.result === undefined) continue
      // About four characters are a token.
      const call = recalled(made, index, Math.max(quarter, 1))
      const cost = counter.countMessages(RecalledCalls.messages(turn.depth, [call])) - opening
      isFull = cost > room
      if (isFull) break
      room -= cost
      calls.unshift(call)
    }
    if (calls.length > 0) shown.set(turn, RecalledCalls.messages(turn.depth, calls))
    if (isFull) break
  }
  return shown
}
