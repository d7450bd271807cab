/** A chain of lookups whose steps are known in advance: planned once, answered once, whatever the results. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Tool } from "effect-lexigram"
import { ReWoo } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const facts: ReadonlyArray<readonly [question: RegExp, answer: string]> = [
  [/^director of Alien$/, "Ridley Scott"],
  [/^year of birth of Ridley Scott$/, "1937"],
  [/^year of Alien$/, "1979"]
]

const search = Tool.make("search", {
  description: "Looks up one fact",
  idempotent: true,
  parameters: { fact: Schema.String },
  handler: ({ fact }) => Effect.succeed(facts.find(([question]) => question.test(fact))?.[1] ?? "nothing found")
})

const subtract = Tool.make("subtract", {
  description: "The first number less the second",
  idempotent: true,
  parameters: { from: Schema.Number, what: Schema.Number },
  success: Schema.Number,
  handler: ({ from, what }) => Effect.succeed(from - what)
})

export const sample: Sample = {
  why: "the steps are clear beforehand, and two model calls are all it may cost",
  task: "How old was the director of Alien when it was made?",
  tools: [search, subtract],
  strategy: ReWoo.make({ format: "text" }),
  calls: "2 + questions to a model",
  model: (request) => {
    const text = request.messages.map(({ content }) => String(content)).join("\n")
    const film = /How old was the director of (\w+) when/.exec(text)?.[1]
    // The solver reads the evidence; the planner has none.
    const age = /^#E4 \[completed\]\n {2}(.*)$/m.exec(text)?.[1]
    const who = /^#E1 \[completed\]\n {2}(.*)$/m.exec(text)?.[1]
    if (age !== undefined) return `${who} was ${age} years old.`
    return [
      "Plan: Find out who made it.",
      `#E1 = search[director of ${film}]`,
      "Plan: Find out when the director was born.",
      "#E2 = search[year of birth of #E1]",
      "Plan: Find out when it was made; this needs none of the above.",
      `#E3 = search[year of ${film}]`,
      "Plan: Reckon.",
      "#E4 = subtract[#E3, #E2]"
    ].join("\n")
  }
}

await main(import.meta.url, sample)
