/** `adaptive`: one question selects the strategy, so that easy tasks stay cheap and hard ones get what they need. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type LlmClient, Tool } from "effect-lexigram"
import { Adaptive, FunctionCalling, ReAct } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const roads: { readonly [town: string]: string } = { Alm: "Berg", Berg: "Cray", Cray: "Dorn" }

const road = Tool.make("road", {
  description: "The town to which the road from a town leads",
  idempotent: true,
  parameters: { town: Schema.String },
  success: Schema.String,
  handler: ({ town }) => Effect.succeed(roads[town] ?? "The road ends here")
})

const text = (message: LlmClient.Message | undefined) => JSON.stringify(message?.content ?? "")

/** Classifies the task: a chain of dependent steps needs a strategy that decides by each result. */
const classify = (prompt: string) => {
  const task = prompt.slice(prompt.indexOf("## Task"))
  const steps = /follow|each|then/.test(task)
  const wanted = steps ? "build on each other" : "one look"
  const name = new RegExp(`- (\\w+): [^\\\\]*${wanted}`).exec(prompt)?.[1] ?? ""
  return JSON.stringify({ strategy: name, reason: steps ? "every step needs the one before" : "one call is enough" })
}

/** Does the work: takes the road from the last town named. */
const travel = (messages: ReadonlyArray<LlmClient.Message>) => {
  const towns = messages.flatMap((message) => text(message).match(/Alm|Berg|Cray|Dorn/g) ?? [])
  const at = towns.at(-1) ?? "Alm"
  return text(messages.at(-1)).includes("ends here")
    ? `The roads end in ${at}.`
    : { text: `I am in ${at}.`, calls: [{ id: at, name: "road", params: { town: at } }] }
}

const model = ({ messages, responseFormat }: LlmClient.LlmRequest) =>
  responseFormat?.type === "json" ? classify(text(messages.at(-1))) : travel(messages.slice(1))

export const sample: Sample = {
  why: "tasks differ, and the dear strategy should run for those alone that need it",
  task: "Start in Alm and follow the roads. Where do they end?",
  strategy: Adaptive.make({
    strategies: {
      lookup: { strategy: FunctionCalling.make(), description: "questions that one look at a tool settles" },
      explorer: { strategy: ReAct.make(), description: "questions whose steps build on each other" }
    },
    budget: { maxModelCalls: 10 }
  }),
  tools: [road],
  model,
  calls: "1 + those of the strategy"
}

await main(import.meta.url, sample)
