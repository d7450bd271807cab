import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { ChatCompletions, FetchTransport } from "effect-lexigram/provider/chat"

const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Number,
  handler: ({ a, b }) => Effect.succeed(a + b)
})
const model = ChatCompletions.layer({ baseUrl: process.env.URL, model: "m" })
const layer = Agents.layer().pipe(Layer.provide(model), Layer.provide(FetchTransport.layer))
const run = AgentExecutor.run(Agent.make("bench", { tools: [add] }), "go")
Effect.runPromise(Effect.provide(run, layer)).then(({ message }) => console.log(message))
