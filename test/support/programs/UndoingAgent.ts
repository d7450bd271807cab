/**
 * Runs a durable agent in a SQLite file that books, fails, and undoes what it booked. It writes what it does to a file,
 * and says when it undoes a booking.
 */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schema from "effect/Schema"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as Durable from "../../../src/durable/Durable.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly file: string
  readonly effects: string
  readonly runId: string
  readonly bookings: number
}

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

Programs.main<Input>(({ input, say }) => {
  const did = (what: string) => Effect.sync(() => Fs.appendFileSync(input.effects, `${what}\n`))
  const book = Tool.make("book", {
    description: "Books a number; must not be repeated",
    parameters: { number: Schema.Number },
    handler: ({ number }) => Effect.as(did(`book ${number}`), `#${number}`),
    compensate: ({ number }, id) =>
      did(`undo ${number} ${id}`).pipe(Effect.zipRight(say("undoing")), Effect.zipRight(Effect.sleep("3 millis")))
  })
  const refuse = Tool.make("refuse", {
    description: "Ends the run",
    idempotent: true,
    fatal: true,
    failure: Refused,
    handler: () => new Refused({ message: "no" })
  })
  const model = Layer.succeed(LlmClient.LlmClient, {
    provider: "test",
    model: "m",
    complete: ({ messages }) => {
      const number = messages.filter(({ role }) => role === "tool").length
      const [name, params] = number < input.bookings ? ["book", { number }] : ["refuse", {}]
      return Effect.succeed({
        content: [{ type: "tool-call", id: `c${number}`, name, params }],
        finishReason: "tool-calls",
        usage
      } as LlmClient.LlmResponse)
    }
  } satisfies LlmClient.Service)
  const ports = Durable.layerSqlite({ file: input.file, driver: "libsql", lease: "300 millis", poll: "20 millis" })
  const runs = DurableRuns.layer({
    agents: [Agent.make("a", { system: "a", tools: [book, refuse] })],
    poll: "20 millis"
  }).pipe(
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
    Layer.provide(ports),
    Layer.provide(model)
  )
  return Effect.gen(function* () {
    yield* Runs.start({ agent: "a", input: "go", runId: input.runId })
    yield* Effect.flip(Runs.await(input.runId))
    const { records } = yield* Runs.list()
    const record = records.find(({ runId }) => runId === input.runId)
    yield* say({ error: record?.error?.tag, notUndone: record?.notUndone?.map(({ toolCallId }) => toolCallId) ?? [] })
  }).pipe(Effect.provide(Layer.provideMerge(runs, Logger.minimumLogLevel(LogLevel.None))))
})
