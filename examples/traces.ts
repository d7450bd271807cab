/**
 * Traces: what a run and the run inside of it did, for a terminal, as a diagram, and as a page that needs nothing else.
 * By default none of them shows what people, models or tools wrote.
 */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, AgentExecutor, Agents, AgentTool, RunLog, Tool } from "effect-lexigram"
import { TestModel } from "effect-lexigram/testing"
import { Trace } from "effect-lexigram/trace"

class NoPriceError extends Data.TaggedError("NoPriceError")<{ readonly message: string }> {}

const lookUp = Tool.make("look_up", {
  description: "Looks up what a thing costs",
  parameters: { thing: Schema.String },
  handler: ({ thing }) =>
    thing === "tea" ? Effect.succeed("12 euros") : Effect.fail(new NoPriceError({ message: `No price of ${thing}` }))
})

const clerk = Agent.make("clerk", { system: "You know prices.", tools: [lookUp] })
const chief = Agent.make("chief", { system: "You run the office.", tools: [AgentTool.make(clerk)] })

const model = TestModel.layer([
  { calls: [{ name: "delegate_to_clerk", params: { message: "What do tea and chairs cost?" } }] },
  {
    calls: [
      { name: "look_up", params: { thing: "tea" } },
      { name: "look_up", params: { thing: "chairs" } }
    ]
  },
  "Tea costs 12 euros; chairs have no price.",
  "12 euros for tea. Ask again about chairs."
])

const log = RunLog.layerMemory()
const layer = Layer.merge(Agents.layerWith({ log }).pipe(Layer.provide(model)), log)

const program = Effect.gen(function* () {
  const { runId } = yield* AgentExecutor.run(chief, "What do we need for tea and chairs?")

  const trace = yield* Trace.fromRun(runId)
  console.log(Trace.toText(trace, { width: 80 }))

  console.log("\nWith what the tools returned:\n")
  console.log(Trace.toText(trace, { width: 80, content: ["results", "errors"] }))

  console.log("\nAs a diagram:\n")
  console.log(Trace.toMermaid(trace))

  const folder = Fs.mkdtempSync(Path.join(Os.tmpdir(), "trace-"))
  const file = Path.join(folder, "trace.html")
  Fs.writeFileSync(file, Trace.toHtml(trace, { content: true }))
  console.log("The page has", Math.round(Fs.statSync(file).size / 1024), "kB")
  Fs.rmSync(folder, { recursive: true })
})

await Effect.runPromise(Effect.provide(program, layer))
