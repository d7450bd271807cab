/**
 * An agent with one tool, asked once. Runs offline on the embedded model; any other model is another layer.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { OfflineModel } from "effect-lexigram/offline"

class UnknownCurrency extends Schema.TaggedError<UnknownCurrency>()("UnknownCurrency", {}) {
  override readonly message = "There is no rate for one of these currencies"
}

const rates: Record<string, number> = { EUR: 1, USD: 1.08, GBP: 0.85, JPY: 169 }

const convert = Tool.make("convert_currency", {
  description: "Converts an amount of money from one currency to another",
  parameters: {
    amount: Schema.Number.annotations({ description: "How much money" }),
    from: Schema.String.annotations({ description: "Currency code of the amount" }),
    to: Schema.String.annotations({ description: "Currency code to convert to" })
  },
  success: Schema.Struct({ amount: Schema.Number, currency: Schema.String }),
  handler: ({ amount, from, to }) =>
    Effect.gen(function* () {
      const [source, target] = [rates[from], rates[to]]
      // A failure does not end the run: the model reads it and may try something else.
      if (source === undefined || target === undefined) return yield* new UnknownCurrency()
      return { amount: Math.round((amount / source) * target * 100) / 100, currency: to }
    })
})

const teller = Agent.make("teller", { system: "You change money. Answer in one sentence.", tools: [convert] })

const program = Effect.gen(function* () {
  const response = yield* AgentExecutor.run(teller, "Convert 200 USD to JPY, please.")
  yield* Effect.sync(() => {
    for (const call of response.toolCalls) console.log(call.name, call.params, "->", call.result)
    console.log(response.message)
    console.log(`${response.modelCalls} model calls, ${response.usage.totalTokens} tokens`)
  })
})

const layer = Agents.layer().pipe(Layer.provide(OfflineModel.layer()))

await Effect.runPromise(Effect.provide(program, layer))
