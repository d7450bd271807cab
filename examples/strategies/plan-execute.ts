/** An order that is planned before it is changed; the first carrier refuses, and the plan is revised from there. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type LlmClient, Tool } from "effect-lexigram"
import { PlanExecute } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

const stock = Tool.make("stock", {
  description: "The warehouse that holds an article",
  idempotent: true,
  parameters: { article: Schema.String },
  handler: ({ article }) => Effect.succeed(article === "lamp" ? "Rotterdam" : "none")
})

const book = Tool.make("book", {
  description: "Books a carrier from a warehouse; gives the day of delivery",
  parameters: { carrier: Schema.Literal("train", "truck"), from: Schema.String },
  handler: ({ carrier, from }) =>
    carrier === "train"
      ? new Refused({ message: `no train leaves ${from} this week` })
      : Effect.succeed(`Thursday, from ${from}`)
})

const textOf = (message: LlmClient.Message | undefined): string =>
  typeof message?.content === "string" ? message.content : ""

const plan = (...steps: ReadonlyArray<object>): string => JSON.stringify({ steps })

export const sample: Sample = {
  why: "the way can be planned ahead, each step is one call of a tool, and a step that fails must not end the work",
  task: "Send 40 lamps by train if that is possible, else by truck. When do they arrive?",
  tools: [stock, book],
  strategy: PlanExecute.make(),
  calls: "2 + steps whose arguments or thoughts a model writes + new plans",
  model: (request) => {
    const text = textOf(request.messages.at(-1))
    const result = (of: RegExp) => new RegExp(`${of.source}[^\\n]*\\n<result>\\n([^\\n]*)`).exec(text)?.[1]
    if (text.includes("Failed step:")) {
      const refused = /Error: .*no train/.test(text)
      return plan({ description: `Book a ${refused ? "truck" : "train"} from there`, tool: "book" })
    }
    if (text.includes("Parameters (JSON Schema)")) {
      const carrier = /Book a (train|truck)/.exec(text)?.[1]
      return JSON.stringify({ carrier, from: result(/Find the warehouse/) })
    }
    if (text.includes("Notes about how it went")) {
      const failed = /Step \d+ failed/.test(text) ? " No train was to be had, so they go by truck." : ""
      return `The 40 lamps arrive on ${result(/Book a/)}.${failed}`
    }
    // The plan contains the known facts; the location of the lamps is not yet known.
    return plan(
      { description: "Find the warehouse", tool: "stock", arguments: { article: /(\w+)s by/.exec(text)?.[1] } },
      { description: "Book a train from there", tool: "book" }
    )
  }
}

await main(import.meta.url, sample)
