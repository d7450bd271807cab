/**
 * The newest part of a conversation, cut where it can be cut: calls of tools and their results stay together, and the
 * system prompt stays.
 *
 * @internal
 * @since 0.1.0
 */
import type { Message } from "../../llm/model/LlmClient.js"

/** System messages that open a conversation and are kept with it; further ones are messages like any other. */
export const maxOpening = 16

/**
 * How many messages open the conversation: system messages before anything else.
 *
 * @category getters
 */
export const openingOf = (roles: ReadonlyArray<Message["role"]>): number => {
  let count = 0
  while (count < maxOpening && roles[count] === "system") count++
  return count
}

interface Unit {
  /** Where its messages stand, ascending. */
  readonly at: Array<number>
}

/** What is left is in units: a message by itself, or one that calls tools with the messages that hold its results. */
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
      // Without its call a result means nothing to a model, and providers refuse it.
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
 * The newest units of messages: of the last `turns` turns, with no more than `messages` messages. A turn begins with a
 * message of the user's. The newest unit stays, however large it is. Results without their calls are left out. Linear
 * in the messages.
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
