/** Nine calls for three cities: six independent ones run at once, and each total as soon as its two prices arrive. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Tool } from "effect-lexigram"
import { LlmCompiler } from "effect-lexigram/strategy"
import { main, type Sample } from "./sample.js"

const flights: { readonly [city: string]: number } = { Lisbon: 180, Oslo: 95, Rome: 120 }
const nights: { readonly [city: string]: number } = { Lisbon: 70, Oslo: 160, Rome: 110 }

const price = (name: string, what: string, prices: { readonly [city: string]: number }) =>
  Tool.make(name, {
    description: `The price of ${what} in EUR`,
    idempotent: true,
    parameters: { city: Schema.String },
    success: Schema.Number,
    // Latency of a slow service: six sequential calls would take six times as long.
    handler: ({ city }) => Effect.delay(Effect.succeed(prices[city] ?? 0), 100)
  })

const total = Tool.make("total", {
  description: "Flight and a number of nights together",
  idempotent: true,
  parameters: { flight: Schema.Number, night: Schema.Number, nights: Schema.Number },
  success: Schema.Number,
  handler: ({ flight, night, nights }) => Effect.succeed(flight + night * nights)
})

export const sample: Sample = {
  why: "the calls can be foreseen, and most of them do not need each other",
  task: "Where are 2 nights cheapest, flight included: Lisbon, Oslo or Rome?",
  tools: [price("flight", "a flight to the city", flights), price("night", "one night in the city", nights), total],
  strategy: LlmCompiler.make({ format: "text" }),
  calls: "2 * plans",
  model: (request) => {
    const text = request.messages.map(({ content }) => String(content)).join("\n")
    const [, count, list] = /Where are (\d+) nights cheapest, flight included: (.*)\?/.exec(text) ?? []
    const cities = (list ?? "").split(/, | or /)
    const results = new Map(
      Array.from(text.matchAll(/^(\d+)\. .*\[completed\]\n {2}(.*)$/gm), ([, id, value]) => [Number(id), Number(value)])
    )
    if (results.size === 0) {
      const lines = cities.flatMap((city, index) => [
        `${3 * index + 1}. flight("${city}")`,
        `${3 * index + 2}. night("${city}")`,
        `${3 * index + 3}. total($${3 * index + 1}, $${3 * index + 2}, ${count})`
      ])
      return `Thought: Both prices of every city, then the totals.\n${lines.join("\n")}\n${lines.length + 1}. join()<END_OF_PLAN>`
    }
    const totals = cities.map((city, index) => ({ city, sum: results.get(3 * index + 3) ?? 0 }))
    const [best] = totals.sort((a, b) => a.sum - b.sum)
    return `Thought: ${totals.map(({ city, sum }) => `${city} ${sum}`).join(", ")}.\nAction: Finish(${best?.city}, for ${best?.sum} EUR.)`
  }
}

await main(import.meta.url, sample)
