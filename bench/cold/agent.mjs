/** The smallest agent, from the built package by its root entry: one tool, a model in the process, one run. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, LlmGateway, Tool } from "effect-lexigram"

const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Number,
  handler: ({ a, b }) => Effect.succeed(a + b)
})

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const call = { type: "tool-call", id: "call_0", name: "add", params: { a: 1, b: 2 } }
const model = LlmGateway.layer({
  provider: "bench",
  model: "bench",
  complete: ({ messages }) =>
    Effect.sync(() =>
      messages.at(-1)?.role === "tool"
        ? {
            content: [{ type: "text", text: `done ${messages.at(-1).content[0].result}` }],
            finishReason: "stop",
            usage
          }
        : { content: [call], finishReason: "tool-calls", usage }
    )
})

const runtime = ManagedRuntime.make(Layer.provide(Agents.layer(), model))
const { message } = await runtime.runPromise(AgentExecutor.run(Agent.make("adder", { tools: [add] }), "What is 1 + 2?"))
if (message !== "done 3") throw new Error(message)
await import("./used.mjs")
