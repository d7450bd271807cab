/**
 * Selects the tool calls of a session's turns that fit into a model's history, with their results.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Message } from "../../llm/model/LlmClient.js"
import * as RecalledTurn from "../../llm/model/RecalledTurn.js"
import * as TokenCounter from "../../llm/model/TokenCounter.js"
import * as Observation from "../../tool/definition/Observation.js"
import type { SessionTurn, TurnToolCall } from "../turn/Session.js"
import type { ReadOptions } from "./SessionHistory.js"
import * as SessionMessages from "./SessionMessages.js"

/** The token budget for tool calls when the reader sets none. */
const defaultBudget = 16_384

const toRecalled = (
  { isFailure, name, params, result }: TurnToolCall,
  index: number,
  maxChars: number
): RecalledTurn.RecalledCall => ({
  index,
  name,
  params,
  result: Observation.truncate(typeof result === "string" ? result : (Observation.stringify(result) ?? ""), maxChars)
    .text,
  isFailure: isFailure === true
})

const select = (
  turns: ReadonlyArray<SessionTurn>,
  counter: TokenCounter.Service,
  budget: number | undefined,
  used: number
): SessionMessages.Calls => {
  const shown = new Map<SessionTurn, ReadonlyArray<Message>>()
  const whole = budget === undefined || !Number.isFinite(budget) ? defaultBudget : budget
  const quarter = Math.floor(whole / 4)
  let room = Math.min(quarter, (budget ?? Number.POSITIVE_INFINITY) - used)
  const opening = counter.countMessages([])
  for (const turn of turns.toReversed()) {
    if (turn.role !== "assistant" || turn.content === "") continue
    const calls: Array<RecalledTurn.RecalledCall> = []
    let isFull = false
    for (let index = turn.toolCalls.length - 1; index >= 0 && !isFull; index--) {
      const made = turn.toolCalls[index] as TurnToolCall
      if (made.result === undefined) continue
      // A token has about four characters.
      const call = toRecalled(made, index, Math.max(quarter, 1))
      const cost = counter.countMessages(RecalledTurn.messages(turn.depth, [call])) - opening
      isFull = cost > room
      if (isFull) break
      room -= cost
      calls.unshift(call)
    }
    if (calls.length > 0) shown.set(turn, RecalledTurn.messages(turn.depth, calls))
    if (isFull) break
  }
  return shown
}

/**
 * The token counter in context, else an approximate one.
 *
 * @category accessors
 */
export const counter: Effect.Effect<TokenCounter.Service> = Effect.map(
  Effect.serviceOption(TokenCounter.TokenCounter),
  Option.getOrElse(() => TokenCounter.approximate)
)

const noCalls: SessionMessages.Calls = new Map()

/**
 * The messages of the tool calls of each turn. `turns` are the shown turns, oldest first; `shown` are all shown
 * messages, by default those of the turns. A call without a result is not shown. The calls take at most a quarter of
 * the budget, and no more than the shown messages leave of it. They are selected from the newest on, until one does not
 * fit. A single result is cut to a quarter of the budget.
 *
 * @category getters
 */
export const fitting = (
  turns: ReadonlyArray<SessionTurn>,
  options: Pick<ReadOptions, "tokenBudget" | "toolCalls"> & { readonly shown?: ReadonlyArray<Message> | undefined }
): Effect.Effect<SessionMessages.Calls> => {
  if (options.toolCalls === false || !turns.some(({ toolCalls }) => toolCalls.length > 0)) {
    return Effect.succeed(noCalls)
  }
  return Effect.map(counter, (counter) => {
    const used = counter.countMessages(options.shown ?? SessionMessages.fromTurns(turns)) - counter.countMessages([])
    return select(turns, counter, options.tokenBudget, used)
  })
}
