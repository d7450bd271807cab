/**
 * A configuration of the command line: `cd examples/command-line`, then `npx lexigram run "Where is order 1017?"`,
 * or `npx lexigram chat`. Runs, conversations and memory are kept in a SQLite file.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig, ModelName } from "effect-lexigram/cli"

const findOrder = Tool.make("find_order", {
  description: "Finds where an order is",
  parameters: { orderId: Schema.String.annotations({ description: "The number of the order" }) },
  handler: ({ orderId }) => Effect.succeed(`order ${orderId}: handed to the carrier`)
})

const cancelOrder = Tool.make("cancel_order", {
  description: "Cancels an order",
  parameters: { orderId: Schema.String.annotations({ description: "The number of the order" }) },
  requiresApproval: true,
  handler: ({ orderId }) => Effect.succeed(`order ${orderId} is cancelled`)
})

const agents = [Agent.make("clerk", { system: "You help with orders.", tools: [findOrder, cancelOrder] })]

export default CliConfig.make({
  agents,
  userId: "me",
  layer: ({ model = "offline" }) =>
    Application.layerSqlite(agents, { file: ".lexigram/agents.db", createDirectories: true }).pipe(
      Layer.provide(ModelName.layer(model))
    )
})
