/**
 * Selects the newest part of a conversation. Tool calls stay with their results, and the system prompt stays.
 *
 * @private
 * @since 0.1.0
 */
import type { Message } from "../../llm/model/LlmClient.js"

/** Maximum number of system messages that open a conversation and are kept. Further ones are ordinary messages. */
export const maxOpening = 16

/**
 * Number of system messages before any other message.
 *
 * @category getters
 */
export const openingOf = (roles: ReadonlyArray<Message["role"]>): number => {
  let count = 0
  while (count < maxOpening && roles[count] === "system") count++
  return count
}

interface Unit {
  /** The indexes of its messages, ascending. */
  readonly at: Array<number>
}

/**
 * Groups the remaining messages into units: a single message, or one that calls tools with the messages of its results.
 */
const unitsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<Unit> => {
  const units: Array<Unit> = []
  const open = new Map<string, Unit>()
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined) continue
    if (message.role === "tool") {
      let unit: Unit | undefined
      for (const part of message.content) {
        const answered = open.get(part.id)
        open.delete(part.id)
        unit ??= answered
      }
      // Without its call a result means nothing to a model, and providers reject it.
      unit?.at.push(index)
      continue
    }
    const unit: Unit = { at: [index] }
    units.push(unit)
    if (message.role !== "assistant" || typeof message.content === "string") continue
    for (const part of message.content) {
      if (part.type === "tool-call" && part.providerExecuted !== true) open.set(part.id, unit)
    }
  }
  return units
}

/**
 * The newest units of the last `turns` turns, with at most `messages` messages. A turn begins with a user message. The
 * newest unit always stays. Results without their calls are left out. Linear time.
 *
 * @category combinators
 */
export const newest = (
  messages: ReadonlyArray<Message>,
  limits: { readonly turns: number; readonly messages: number }
): ReadonlyArray<Message> => {
  let start = 0
  for (let index = messages.length - 1, turns = 0; index >= 0; index--) {
    if (messages[index]?.role === "user" && ++turns === limits.turns) {
      start = index
      break
    }
  }
  const units = unitsOf(messages)
  const kept: Array<number> = []
  for (let index = units.length - 1; index >= 0; index--) {
    const { at } = units[index] as Unit
    if (kept.length > 0 && ((at[0] as number) < start || kept.length + at.length > limits.messages)) break
    kept.push(...at)
  }
  return kept.sort((left, right) => left - right).map((index) => messages[index] as Message)
}
