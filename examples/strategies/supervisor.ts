/** `supervisor`: agents with their own prompts and tools, working in parallel, reviewed before the answer. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, AgentTool, type LlmClient, Tool } from "effect-lexigram"
import { Supervisor } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const stock: { readonly [item: string]: number } = { lamps: 4, candles: 60 }
const prices: { readonly [item: string]: number } = { lamps: 20, candles: 1.5 }

const lookup = (name: string, description: string, table: { readonly [item: string]: number }) =>
  Tool.make(name, {
    description,
    idempotent: true,
    parameters: { item: Schema.String },
    success: Schema.Number,
    handler: ({ item }) => Effect.succeed(table[item] ?? 0)
  })

const clerk = Agent.make("clerk", {
  system: "You know what is in stock.",
  tools: [lookup("in_stock", "How many are in stock", stock)]
})
const buyer = Agent.make("buyer", {
  system: "You know what things cost to buy.",
  tools: [lookup("price", "What one costs, in euros", prices)]
})

const text = (message: LlmClient.Message | undefined) => JSON.stringify(message?.content ?? "")

/** The agents: look up the name in the message, then report the tool's result. */
const expert = ({ messages, tools }: LlmClient.LlmRequest) => {
  const item = Object.keys(stock).find((name) => text(messages[1]).includes(name)) ?? ""
  return messages.at(-1)?.role === "tool"
    ? `${item}: ${/"result":([\d.]+)/.exec(text(messages.at(-1)))?.[1]}`
    : { calls: [{ id: `${item}_${messages.length}`, name: tools?.[0]?.name ?? "", params: { item } }] }
}

const ask = (agent: string, item: string, message: string) => ({
  id: `${agent}-${item}`,
  name: `delegate_to_${agent}`,
  params: { message }
})

/** The supervisor: first delegates both halves for lamps; candles only when the review misses them. */
const supervisor = ({ messages, responseFormat, tools }: LlmClient.LlmRequest) => {
  const last = text(messages.at(-1))
  const item = last.includes("candles are missing") ? "candles" : "lamps"
  if (responseFormat?.type === "json") {
    const complete = last.includes("candles: ")
    return JSON.stringify({
      verdict: complete ? "done" : "more",
      reason: complete ? "Stock and price of both are reported." : "Only lamps were looked into.",
      instructions: complete ? "" : "The candles are missing: their stock and their price."
    })
  }
  if (tools !== undefined) {
    return {
      text: `I need the stock and the price of ${item}; neither depends on the other.`,
      calls: [ask("clerk", item, `How many ${item} are in stock?`), ask("buyer", item, `What do ${item} cost to buy?`)]
    }
  }
  const reported = (by: string, item: string) =>
    Number(new RegExp(`delegate_to_${by}[^}]*?}[^}]*?report\\W+${item}: ([\\d.]+)`).exec(last)?.[1])
  const missing = (item: string, wanted: number) => Math.max(0, wanted - reported("clerk", item))
  const cost = missing("lamps", 10) * reported("buyer", "lamps") + missing("candles", 50) * reported("buyer", "candles")
  return `Buy ${missing("lamps", 10)} lamps and ${missing("candles", 50)} candles, for ${cost} euros.`
}

export const sample: Sample = {
  why: "the work falls into parts for agents with their own prompts and tools, and somebody has to see that nothing is missing",
  task: "The hall needs 10 lamps and 50 candles. What do we have to buy, and what will it cost?",
  strategy: Supervisor.make(),
  tools: [AgentTool.make(clerk), AgentTool.make(buyer)],
  model: (request) => (text(request.messages[0]).startsWith('"You know') ? expert(request) : supervisor(request)),
  calls: "1 + 2 * rounds, and those of the agents"
}

await main(import.meta.url, sample)
