/**
 * An agent inside an application: it is part of a domain service, its tools use other services, the configuration comes
 * from `Config`, and everything is composed once, at the edge.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { OfflineModel } from "effect-lexigram/offline"

/** An existing service of the application. */
class Inventory extends Context.Tag("Inventory")<
  Inventory,
  { readonly count: (product: string) => Effect.Effect<number> }
>() {
  static readonly layer = Layer.effect(
    Inventory,
    Effect.map(Config.array(Config.string(), "PRODUCTS"), (lines) => {
      const counts = new Map(lines.map((line) => [line.split("=")[0], Number(line.split("=")[1])]))
      return { count: (product) => Effect.succeed(counts.get(product.toLowerCase()) ?? 0) }
    })
  )
}

const countStock = Tool.make("count_stock", {
  description: "Counts how many pieces of a product are in stock",
  parameters: { product: Schema.String.annotations({ description: "Name of the product" }) },
  success: Schema.Struct({ count: Schema.Number }),
  handler: ({ product }) =>
    Effect.flatMap(Inventory, (inventory) => Effect.map(inventory.count(product), (count) => ({ count })))
})

const agent = Agent.make("stock-clerk", { system: "You know the stock.", tools: [countStock] })

/** The interface for the rest of the application: no agent, no model, a service. */
class StockDesk extends Context.Tag("StockDesk")<
  StockDesk,
  { readonly ask: (question: string) => Effect.Effect<string, AgentExecutor.ExecutorError> }
>() {
  static readonly layer = Layer.effect(
    StockDesk,
    Effect.gen(function* () {
      const executor = yield* AgentExecutor.AgentExecutor
      const services = yield* Effect.context<Inventory>()
      return {
        ask: (question) =>
          executor.run(agent, question).pipe(
            Effect.map((response) => response.message),
            Effect.provide(services)
          )
      }
    })
  )
}

const main = Effect.gen(function* () {
  const desk = yield* StockDesk
  yield* Console.log(yield* desk.ask('Count the stock of "kettle".'))
})

// The executor reads LEX_AI_AGENTS__*, the inventory PRODUCTS; an application omits the provider and reads the
// environment.
const configuration = ConfigProvider.fromMap(
  new Map([
    ["PRODUCTS", "kettle=12,teapot=3"],
    ["LEX_AI_AGENTS__MAX_ITERATIONS", "4"]
  ])
)

const live = StockDesk.layer.pipe(
  Layer.provide(Inventory.layer),
  Layer.provide(Agents.layerConfig()),
  Layer.provide(OfflineModel.layer()),
  Layer.provide(Layer.setConfigProvider(configuration))
)

await Effect.runPromise(Effect.provide(main, live))
