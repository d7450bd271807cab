/** The run log: it keeps the events of a run, and every view of the run, complete or partial, is a fold of them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, AgentResponse, Agents, RunLog, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"

const dice = Tool.make("roll", { description: "Rolls a die", handler: () => Effect.succeed(4) })
const croupier = Agent.make("croupier", { tools: [dice] })

const model = TestModel.layer([{ text: "I roll.", calls: [{ name: "roll" }] }, "It is a four."])

// The executor and this program share the log: a layer is built once, however often it is used.
const log = RunLog.layerMemory()
const layer = Layer.merge(Agents.layerWith({ log }).pipe(Layer.provide(model)), log)

const program = Effect.gen(function* () {
  const { runId } = yield* AgentExecutor.run(croupier, "Roll, please")

  const runLog = yield* RunLog.RunLog
  const events = yield* runLog.read(runId)
  for (const { _tag, at, seq } of events) console.log(seq, new Date(at).toISOString(), _tag)

  const whole = AgentResponse.fromEvents(events)
  console.log("whole:   ", whole.message, whole.finishReason)

  // The same run just after its tool was called.
  const called = events.findIndex((event) => event._tag === "ToolCall")
  const partial = AgentResponse.fromEvents(events.slice(0, called + 1))
  console.log(
    "half-way:",
    partial.toolCalls.map((call) => call.name),
    partial.finishReason
  )

  // Events after a known one: how a reader catches up.
  const rest = yield* runLog.read(runId, { from: called + 1 })
  console.log("the rest:", rest.map((event) => event._tag).join(", "))
})

await Effect.runPromise(Effect.provide(program, layer))
