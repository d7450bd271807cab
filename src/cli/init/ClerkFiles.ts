/**
 * The agent that every new project begins with, and its test.
 *
 * @private
 * @since 0.1.0
 */
import type * as Project from "./Project.js"

const agent = `/** An agent that helps with orders. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agent, Tool } from "effect-lexigram"

const findOrder = Tool.make("find_order", {
  description: "Looks up where an order is",
  parameters: { order: Schema.Int.annotations({ description: "The number of the order" }) },
  handler: ({ order }) => Effect.succeed("Order " + order + " is on its way")
})

const cancelOrder = Tool.make("cancel_order", {
  description: "Cancels an order",
  parameters: { order: Schema.Int.annotations({ description: "The number of the order" }) },
  requiresApproval: true,
  handler: ({ order }) => Effect.succeed("Order " + order + " is cancelled")
})

export const clerk = Agent.make("clerk", {
  system: "You help customers with their orders.",
  tools: [findOrder, cancelOrder]
})
`

const test = `import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { AgentExecutor, Agents } from "effect-lexigram"
import { TestModel, Trajectory } from "effect-lexigram/testing"
import { clerk } from "../src/Clerk.js"

describe("clerk", () => {
  it.effect("looks the order up before it answers", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(clerk, "Where is order 17?")
      assert.strictEqual(response.message, "It is on its way.")
      Trajectory.assert(response, Trajectory.calledOnly(["find_order", { order: 17 }]))
    }).pipe(
      Effect.provide(Agents.layer()),
      Effect.provide(TestModel.layer([{ calls: [{ name: "find_order", params: { order: 17 } }] }, "It is on its way."]))
    )
  )
})
`

/**
 * @category constants
 */
export const files: Project.Files = { "src/Clerk.ts": agent, "test/Clerk.test.ts": test }

/**
 * The application of the agent on SQLite.
 *
 * @category constants
 */
export const sqlite = `/** The agents, and what they run on: runs and conversations are kept in a SQLite file. */
import * as Layer from "effect/Layer"
import { ModelName } from "effect-lexigram/cli"
import { Application } from "effect-lexigram/application"
import { clerk } from "./Clerk.js"

export const agents = [clerk]

export const layer = (model = "offline") =>
  Application.layerSqlite(agents, { file: ".lexigram/agents.db", createDirectories: true }).pipe(
    Layer.provide(ModelName.layer(model))
  )
`
