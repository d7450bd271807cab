/**
 * A question whose obvious first answer is wrong: the lesson of a failed trial leads the next one to the right page.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Tool } from "effect-lexigram"
import { Evaluator, Reflexion } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const pages: { readonly [title: string]: string } = {
  mercury: "Mercury is the planet nearest to the Sun. See also: mercury element, mercury programme.",
  "mercury element": "Mercury is a chemical element, liquid at room temperature. It melts at -38.8 °C.",
  "mercury programme": "Project Mercury was a programme of crewed space flight that ended in 1963."
}

const lookUp = Tool.make("look_up", {
  description: "The first lines of an encyclopedia page",
  idempotent: true,
  parameters: { title: Schema.String },
  handler: ({ title }) => Effect.succeed(pages[title.toLowerCase()] ?? "There is no such page.")
})

export const sample: Sample = {
  why: "answers can be checked, and a failure says something about how to do better",
  task: "In which year did Mercury end?",
  tools: [lookUp],
  // The checker knows whether an answer is right, never which one would be.
  strategy: Reflexion.make({ evaluator: Evaluator.exactMatch("1963"), maxTrials: 3 }),
  calls: "runs of the actor + (trials - 1) reflections",
  model: (request) => {
    const text = request.messages.map(({ content }) => JSON.stringify(content)).join("\n")
    if (request.tools === undefined) {
      return "I read the page of the planet, and planets do not end in a year. Next time I look up the mercury programme, which can end."
    }
    const last = request.messages.at(-1)
    if (last?.role !== "tool") {
      const title = text.includes("Next time I look up the mercury programme") ? "mercury programme" : "mercury"
      return { calls: [{ name: "look_up", params: { title } }] }
    }
    return /ended in (\d{4})/.exec(text)?.[1] ?? "Mercury has not ended, it is a planet."
  }
}

await main(import.meta.url, sample)
