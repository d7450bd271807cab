/**
 * A configuration of the command line: `cd examples/command-line`, then `npx lexigram run "What time is it in Rome?"`, or
 * `npx lexigram chat`. Runs, conversations and memory are kept in a SQLite file.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"
import { CliConfig, ModelName } from "effect-lexigram/cli"
import { Application } from "effect-lexigram/durable"

const orderStatus = Tool.make("order_status", {
  description: "Looks up where an order is",
  parameters: { order: Schema.String.annotations({ description: "The number of the order" }) },
  handler: ({ order }) => Effect.succeed(`order ${order}: handed to the carrier`)
})

const cancelOrder = Tool.make("cancel_order", {
  description: "Cancels an order",
  parameters: { order: Schema.String.annotations({ description: "The number of the order" }) },
  requiresApproval: true,
  handler: ({ order }) => Effect.succeed(`order ${order} is cancelled`)
})

const agents = [Agent.make("clerk", { system: "You help with orders.", tools: [orderStatus, cancelOrder] })]

export default CliConfig.make({
  agents,
  userId: "me",
  layer: ({ model = "offline" }) =>
    Application.layerSqlite(agents, { file: ".lexigram/agents.db", createDirectories: true }).pipe(
      Layer.provide(ModelName.layer(model))
    )
})
