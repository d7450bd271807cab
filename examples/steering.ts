/**
 * Steering a run: the message is read at the next step. Runs of one session are queued.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, Steering, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

const search = Tool.make("search", {
  description: "Searches",
  handler: () => Effect.as(Effect.sleep("50 millis"), "three hotels")
})
const guide = Agent.make("guide", { tools: [search] })

const steering = Steering.layer()
const executor = Agents.layerWith({ steering }).pipe(
  Layer.provide(TestModel.layer([{ calls: [{ name: "search" }] }, "Under 80 euro there is the Lion."]))
)

const program = AgentExecutor.stream(guide, { input: "A hotel in Delft", runId: "trip-1" }).pipe(
  Stream.runForEach((event) => {
    switch (event._tag) {
      case "ToolCall":
        // The user changes their mind while the tool runs.
        return Steering.steer({ runId: "trip-1" }, "Not above 80 euro, please")
      case "Steered":
        return Console.log(`put before the model: ${event.text}`)
      case "Message":
        return Console.log(event.text)
      default:
        return Effect.void
    }
  })
)

await Effect.runPromise(Effect.provide(program, Layer.merge(executor, steering)))
