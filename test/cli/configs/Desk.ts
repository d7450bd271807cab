/** A desk whose model is scripted by what it is asked. Everything is kept in `desk.db` of the folder. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"
import { Application } from "effect-lexigram/application"
import { CliConfig } from "effect-lexigram/cli"
import { TestModel } from "effect-lexigram/testing"

const lookUp = Tool.make("look_up", {
  description: "Looks up an order",
  parameters: { order: Schema.String },
  handler: ({ order }) => Effect.succeed(`order ${order} is on its way`)
})

const refund = Tool.make("refund", {
  description: "Refunds an amount in euros",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount} euros`)
})

const agents = [
  Agent.make("clerk", { system: "You help at the desk.", tools: [lookUp, refund] }),
  Agent.make("parrot", { system: "You repeat.", description: "Repeats what it hears" })
]

const model = TestModel.layer(({ messages }) => {
  const last = messages.at(-1)
  const said = (typeof last?.content === "string" ? last.content : JSON.stringify(last?.content)).replace(/\n/g, "|")
  if (last?.role === "tool") return { text: ["The desk says: ", /"result":"([^"]*)"/.exec(said)?.[1] ?? said] }
  if (said.includes("order")) return { text: "I look.", calls: [{ name: "look_up", params: { order: "17" } }] }
  if (said.includes("refund")) return { calls: [{ name: "refund", params: { amount: 500 } }] }
  if (said.includes("wait")) return { text: "too late", delay: "1 hour" }
  if (said.includes("hostile")) return "a\u001b[2Jb\u202ec\u0007d"
  const users = messages.filter(({ role }) => role === "user").length
  return `heard ${users}: ${said}`
})

export default CliConfig.make({
  agents,
  userId: "ann",
  layer: Layer.provide(Application.layerSqlite(agents, { file: "desk.db" }), model)
})
