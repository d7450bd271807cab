/** `function_calling`: native tool calls, several at once, until the model answers. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type LlmClient, Tool } from "effect-lexigram"
import { FunctionCalling } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const prices: { readonly [item: string]: number } = { kettle: 40, teapot: 25, cup: 6 }

const price = Tool.make("price", {
  description: "The price of an item in euros",
  idempotent: true,
  parameters: { item: Schema.String },
  success: Schema.Number,
  handler: ({ item }) => Effect.succeed(prices[item] ?? 0)
})

/** Asks for every item the question names, then adds up what came back. */
const model = ({ messages }: LlmClient.LlmRequest) => {
  const last = messages.at(-1)
  if (last?.role === "tool") {
    const sum = last.content.reduce((total, part) => total + Number(part.result), 0)
    return `Together they cost ${sum} euros.`
  }
  const question = String(messages.at(-1)?.content)
  return {
    calls: Object.keys(prices)
      .filter((item) => question.includes(item))
      .map((item) => ({ name: "price", params: { item } }))
  }
}

export const sample: Sample = {
  why: "the model knows its tools and no plan is needed: the fewest calls of all",
  task: "What do a kettle and a teapot cost together?",
  strategy: FunctionCalling.make(),
  tools: [price],
  model,
  calls: "1 + turns with tool calls"
}

await main(import.meta.url, sample)
