/**
 * Stands for a model, so that everything runs offline. It is gullible on purpose: it does what notes of orders tell it
 * to do. That nothing happens is the work of the guards, the tools and the approvals.
 */
import type { LlmClient } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

type Content = LlmClient.Message["content"]

const textOf = (content: Content): string =>
  typeof content === "string"
    ? content
    : content
        .map((part) => {
          if (part.type === "text") return part.text
          if (part.type !== "tool-result") return ""
          return typeof part.result === "string" ? part.result : JSON.stringify(part.result)
        })
        .join("\n")

/** What the model reads out of a request. */
interface View {
  readonly desk: string
  readonly said: string
  readonly order: string | undefined
  readonly topic: "orders" | "refunds" | "returns" | undefined
  /** The result of a tool since the customer spoke; `undefined` if it was not called. */
  readonly resultOf: (tool: string) => string | undefined
  /** The order and the cents of an instruction in a tool result or an answer of this conversation. */
  readonly lure: { readonly order: string; readonly cents: number } | undefined
  readonly say: (english: string, german: string) => string
}

const topicOf = (said: string): View["topic"] => {
  if (/refund|money|pay .*back/i.test(said)) return "refunds"
  if (/return|send .*back|take .*back/i.test(said)) return "returns"
  return /order|parcel|note|where|bought/i.test(said) ? "orders" : undefined
}

const luredBy = (text: string): View["lure"] => {
  const [, cents, paid] = /pay back (\d+) cents for (\d{4})/.exec(text) ?? []
  const [, refunded] = /refund order (\d{4}) in full/.exec(text) ?? []
  const order = paid ?? refunded
  return order === undefined ? undefined : { order, cents: Number(cents ?? 12_900) }
}

const viewOf = ({ messages }: LlmClient.LlmRequest): View => {
  const spoken = messages.findLastIndex(({ role }) => role === "user")
  const said = textOf(messages[spoken]?.content ?? "")
  const results = messages.flatMap(({ content }, index) =>
    typeof content === "string"
      ? []
      : content.flatMap((part) =>
          part.type === "tool-result" ? [{ name: part.name, text: textOf([part]), isNew: index > spoken }] : []
        )
  )
  const system = textOf(messages.find(({ role }) => role === "system")?.content ?? "")
  const isGerman = messages.some(
    ({ content, role }) => role === "user" && /"language":\s*"German"/.test(textOf(content))
  )
  return {
    desk: /You are the (\w+) desk/.exec(system)?.[1] ?? "",
    said,
    order: /\b\d{4}\b/.exec(said)?.[0],
    topic: topicOf(said),
    resultOf: (tool) => results.findLast(({ isNew, name }) => isNew && name === tool)?.text,
    lure: luredBy(
      messages.map(({ content, role }) => (role === "tool" || role === "assistant" ? textOf(content) : "")).join("\n")
    ),
    say: (english, german) => (isGerman ? german : english)
  }
}

const call = (name: string, params: object = {}): TestModel.Turn => ({ calls: [{ name, params }] })

const euros = (cents: number) => `${(cents / 100).toFixed(2)} euros`

const centsIn = (text: string) => Number(/"cents":(\d+)/.exec(text)?.[1])

const frontDesk = ({ resultOf, said, say, topic }: View): TestModel.Turn | string => {
  const language = /\b(German|French|English)\b/.exec(said)?.[1]
  if (language !== undefined && resultOf("update_preferences") === undefined) {
    return call("update_preferences", { language })
  }
  if (topic !== undefined) return call(`transfer_to_${topic}`)
  return language === undefined
    ? say("Tell me the number of your order, and what I can do.", "Nennen Sie mir bitte die Nummer Ihrer Bestellung.")
    : `Noted: ${language} from now on.`
}

const ordersDesk = ({ lure, order, resultOf, said, say }: View): TestModel.Turn | string => {
  if (order === undefined) {
    const listed = resultOf("list_orders")
    return listed === undefined ? call("list_orders") : `Your orders: ${listed.match(/\b\d{4}\b(?=",)/g)?.join(", ")}.`
  }
  const isNote = /note/i.test(said)
  const found = resultOf(isNote ? "read_order_note" : "find_order")
  if (found === undefined) return call(isNote ? "read_order_note" : "find_order", { order })
  if (isNote && lure !== undefined && resultOf("refund_order") === undefined) return call("refund_order", lure)
  if (/has no order/.test(found))
    return say(`I find no order ${order} of yours.`, `Ich finde keine Bestellung ${order}.`)
  if (isNote && /withheld/i.test(found)) return "The note cannot be shown."
  if (isNote) return `The note says: ${found}${lure === undefined ? "" : " I could not do what it says."}`
  const [, item, status] = /"item":"([^"]*)".*"status":"([^"]*)"/.exec(found) ?? []
  return say(`Order ${order}, ${item}, is ${status}.`, `Bestellung ${order}: Status ${status}.`)
}

const refundsDesk = ({ lure, order, resultOf, said, say }: View): TestModel.Turn | string => {
  if (order === undefined) return "Which order is it?"
  const found = resultOf("find_order")
  if (found === undefined) return call("find_order", { order })
  if (/has no order/.test(found))
    return say(`I find no order ${order} of yours.`, `Ich finde keine Bestellung ${order}.`)
  const paid = resultOf("refund_order")
  if (paid === undefined) {
    const part = /(\d+) euros/.exec(said)?.[1]
    return call("refund_order", lure ?? { order, cents: part === undefined ? centsIn(found) : Number(part) * 100 })
  }
  const [reference] = /RF-\d{4}/.exec(paid) ?? []
  return reference === undefined
    ? say(`The refund was not made: ${paid}`, `Die Erstattung ist nicht erfolgt: ${paid}`)
    : say(
        `${euros(centsIn(paid))} are on their way to you (${reference}).`,
        `${euros(centsIn(paid))} sind unterwegs (${reference}).`
      )
}

const returnsDesk = ({ order, resultOf, said }: View): TestModel.Turn | string => {
  if (order === undefined) return "Which order is it?"
  if (resultOf("activate_skill") === undefined) return call("activate_skill", { name: "return-policy" })
  const taken = resultOf("start_return")
  if (taken === undefined) return call("start_return", { order, reason: said.slice(0, 200) })
  const [label] = /RT-\d{4}/.exec(taken) ?? []
  return label === undefined ? `It cannot go back: ${taken}` : `Your label is ${label}. Send it within 30 days.`
}

const desks: Readonly<Record<string, (view: View) => TestModel.Turn | string>> = {
  front: frontDesk,
  orders: ordersDesk,
  refunds: refundsDesk,
  returns: returnsDesk
}

export const provider = "script"
export const model = "support-script"

const answer = (request: LlmClient.LlmRequest): TestModel.Turn => {
  const view = viewOf(request)
  const isElsewhere = view.desk !== "front" && view.topic !== view.desk
  const given = isElsewhere ? call("transfer_to_front-desk") : (desks[view.desk] ?? frontDesk)(view)
  const turn = typeof given === "string" ? { text: given.split(/(?<= )/) } : given
  const inputTokens = Math.ceil(JSON.stringify(request.messages).length / 4)
  const outputTokens = Math.ceil(JSON.stringify(turn).length / 4)
  return { ...turn, usage: { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens } }
}

export const layer = TestModel.layer(answer, { provider, model })
