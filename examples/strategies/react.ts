/** `react`: thought, action, observation, for questions where each step depends on the result of the last one. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type LlmClient, Tool } from "effect-lexigram"
import { ReAct } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const facts: { readonly [subject: string]: string } = {
  "Lantern Prize": "The Lantern Prize of 2020 went to Ida Moss.",
  "Ida Moss": "Ida Moss was born in Haven.",
  Haven: "Haven is a port on the river Ald."
}

const lookup = Tool.make("lookup", {
  description: "What the encyclopedia says about a subject",
  idempotent: true,
  parameters: { subject: Schema.String },
  success: Schema.String,
  handler: ({ subject }) => Effect.succeed(facts[subject] ?? `Nothing about ${subject}`)
})

const subjects = Object.keys(facts)

/** Looks up the next name in the last observation: three hops that cannot be planned in advance. */
const model = ({ messages }: LlmClient.LlmRequest) => {
  const texts = messages.slice(1).map((message) => JSON.stringify(message.content))
  const asked = texts.join(" ")
  const next = subjects.find(
    (subject) => texts.at(-1)?.includes(subject) === true && !asked.includes(`"subject":"${subject}"`)
  )
  return next === undefined
    ? "She was born on the river Ald."
    : { text: `I need to know more about ${next}.`, calls: [{ name: "lookup", params: { subject: next } }] }
}

export const sample: Sample = {
  why: "what to look up next is known only when the last result is there",
  task: "On which river was the winner of the Lantern Prize born? Begin with the Lantern Prize.",
  strategy: ReAct.make(),
  tools: [lookup],
  model,
  calls: "1 + steps"
}

await main(import.meta.url, sample)
