/**
 * Runs a durable agent in a SQLite file until it is killed or has ended. Its model is a server; its tools write what
 * they do to a file.
 */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../../src/agent/Agents.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as Durable from "../../../src/durable/Durable.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmConnectionError } from "../../../src/llm/model/LlmError.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly file: string
  readonly effects: string
  readonly model: string
  readonly runs: ReadonlyArray<string>
}

Programs.main<Input>(({ input, say }) => {
  const did = (what: string) => Effect.sync(() => Fs.appendFileSync(input.effects, `${what}\n`))
  const note = Tool.make("note", {
    description: "Notes a number; may be repeated",
    parameters: { run: Schema.String, step: Schema.Number },
    idempotent: true,
    handler: ({ run, step }) => Effect.as(Effect.zipLeft(did(`note ${run} ${step}`), say("working")), `noted ${step}`)
  })
  const pay = Tool.make("pay", {
    description: "Pays a number; must not be repeated",
    parameters: { run: Schema.String, step: Schema.Number },
    handler: ({ run, step }) =>
      did(`pay ${run} ${step}`).pipe(
        Effect.zipRight(say("working")),
        Effect.zipRight(Effect.sleep("2 millis")),
        Effect.as(`paid ${step}`)
      )
  })
  const helper = Agent.make("helper", { system: "helper", tools: [note] })
  const worker = Agent.make("worker", { system: "worker", tools: [note, pay, AgentTool.make(helper)] })
  const model = Layer.succeed(LlmClient.LlmClient, {
    provider: "loopback",
    model: "m",
    complete: (request) =>
      Effect.tryPromise({
        try: async (signal) => {
          const answer = await fetch(input.model, { method: "POST", body: JSON.stringify(request.messages), signal })
          return (await answer.json()) as LlmClient.LlmResponse
        },
        catch: () => new LlmConnectionError({ provider: "loopback", message: "no connection" })
      })
  } satisfies LlmClient.Service)
  const ports = Durable.layerSqlite({ file: input.file, driver: "libsql", lease: "300 millis", poll: "20 millis" })
  const runs = DurableRuns.layer({ agents: [worker], poll: "20 millis" }).pipe(
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
    Layer.provide(ports),
    Layer.provide(model)
  )
  return Effect.forEach(
    input.runs,
    (runId) =>
      Effect.gen(function* () {
        yield* Runs.start({ agent: "worker", input: runId, runId })
        const exit = yield* Effect.exit(Runs.await(runId))
        yield* say(`${runId}: ${Exit.isSuccess(exit) ? exit.value.message : String(exit.cause).slice(0, 300)}`)
      }),
    { discard: true }
  ).pipe(Effect.zipRight(say("ended")), Effect.provide(runs))
})
