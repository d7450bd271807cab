/** A lookup world in which the first idea is wrong: tree search recovers from it, a linear search would not. */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { LlmClient } from "effect-lexigram"
import { Tool } from "effect-lexigram"
import { Lats } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const archive: Readonly<Record<string, string>> = {
  lighthouse: "Built 1871. The keeper's log is in the harbour office. A postcard says the keeper was called Brandt.",
  postcard: "Printed 1920, by a visitor. Nothing else mentions a Brandt.",
  "harbour office": "Holds the wage lists, ordered by year.",
  "wage lists": "1871: keeper of the lighthouse, A. Lindqvist."
}

const lookup = Tool.make("lookup", {
  description: "What the town archive holds on a subject",
  idempotent: true,
  readOnly: true,
  parameters: { subject: Schema.String },
  success: Schema.String,
  handler: ({ subject }) => Effect.succeed(archive[subject] ?? "Nothing.")
})

const search = (subject: string, thought: string) => ({ thought, tool: "lookup", arguments: { subject } })

/** Next actions of a curious reader: two ideas for each finding, the tempting one first. */
const ideas = (path: string): ReadonlyArray<object> => {
  if (path.includes("Lindqvist")) return [{ thought: "The wage list names the keeper.", answer: "A. Lindqvist" }]
  if (path.includes("Holds the wage lists")) return [search("wage lists", "Wages name who was paid.")]
  if (path.includes("Printed 1920")) return [{ thought: "The postcard says so.", answer: "Brandt" }]
  if (path.includes("Built 1871"))
    return [search("postcard", "It names the keeper."), search("harbour office", "A log is a better source.")]
  return [search("lighthouse", "Begin with the place itself.")]
}

const judge = (path: string): { readonly reason: string; readonly score: number } => {
  if (path.includes("final answer: Brandt")) return { reason: "The only source is 49 years too late.", score: 0.2 }
  if (path.includes("final answer: A. Lindqvist")) return { reason: "A wage list of that very year.", score: 1 }
  if (path.includes('Action: lookup {"subject":"postcard"}')) return { reason: "It looks nearly done.", score: 0.8 }
  return { reason: "On the way.", score: path.includes("Lindqvist") ? 0.9 : 0.5 }
}

const model = (request: LlmClient.LlmRequest) => {
  const prompt = String(request.messages.at(-1)?.content)
  const path = prompt.slice(prompt.indexOf("# The path"), prompt.indexOf("# Current state"))
  if (prompt.includes("# The path that failed"))
    return "The postcard is no source of its time. Follow the papers of 1871."
  if (prompt.includes("# The path to be judged")) return JSON.stringify(judge(path))
  return JSON.stringify({ expansions: ideas(path) })
}

export const sample: Sample = {
  why: "several ways are tried, each judged by what its actions really showed; a way that fails is left, and its lesson kept.",
  task: "Who was the first keeper of the lighthouse?",
  strategy: Lats.make({ numExpansions: 2, sampling: "together" }),
  tools: [lookup],
  model,
  calls:
    "per iteration, for each step of its path, one proposal + one judgement for each distinct action; + reflections; + 1 if no path ended in an answer"
}

await main(import.meta.url, sample)
