/**
 * A process of a cluster, until it gets a signal. Its model answers by itself; its tools write what they do to a file.
 * It starts the runs that it hears of.
 */
import * as Fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../../src/cluster/DurableCluster.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as Sessions from "../../../src/session/Sessions.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Programs from "../Programs.js"

export interface Input {
  /** Names the process in the files and in the database. */
  readonly name: string
  readonly url: string
  readonly port: number
  /** What the tools do, and what the model is asked. */
  readonly effects: string
  /** Milliseconds of each call of the model. */
  readonly thinking: number
  readonly settings: DurableCluster.Settings
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

const runOf = (messages: ReadonlyArray<LlmClient.Message>): string =>
  /run-\d+/.exec(JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? ""))?.[0] ?? "?"

/** Pays, notes, pays, and says so. */
const STEPS = 3

Programs.main<Input>(({ hear, input, say }) => {
  const did = (what: string) => Effect.sync(() => Fs.appendFileSync(input.effects, `${input.name} ${what}\n`))
  const parameters = { run: Schema.String, step: Schema.Number }
  const note = Tool.make("note", {
    description: "Notes a number; may be repeated",
    parameters,
    idempotent: true,
    handler: ({ run, step }) => Effect.as(did(`note ${run} ${step}`), `noted ${step}`)
  })
  const pay = Tool.make("pay", {
    description: "Pays a number; must not be repeated",
    parameters,
    handler: ({ run, step }) =>
      did(`pay ${run} ${step}`).pipe(Effect.zipRight(Effect.sleep("5 millis")), Effect.as(`paid ${step}`)),
    // What is paid is in the file, whichever process did it.
    outcome: ({ run, step }) =>
      Effect.sync(() =>
        Fs.readFileSync(input.effects, "utf8").includes(` pay ${run} ${step}\n`)
          ? Option.some(`paid ${step}`)
          : Option.none()
      )
  })
  const model = Layer.succeed(LlmClient.LlmClient, {
    provider: "test",
    model: "m",
    complete: ({ messages }) =>
      Effect.suspend(() => {
        const step = messages.filter(({ role }) => role === "tool").length
        const run = runOf(messages)
        const name = step % 2 === 0 ? "pay" : "note"
        const content: LlmClient.LlmResponse["content"] =
          step === STEPS
            ? [{ type: "text", text: `done ${run}` }]
            : [{ type: "tool-call", id: `c${step}`, name, params: { run, step } }]
        return did(`ask ${run} ${step}`).pipe(
          Effect.zipRight(Effect.sleep(input.thinking)),
          Effect.as({ content, finishReason: step === STEPS ? "stop" : "tool-calls", usage } as const)
        )
      })
  } satisfies LlmClient.Service)
  const worker = Agent.make("worker", { system: "worker", tools: [note, pay] })
  const ports = DurableCluster.layer({ host: "127.0.0.1", port: input.port, ...input.settings })
  const sessions = Sessions.layer({ store: SqlSessionStore.layerMigrated, cleanup: false })
  const app = DurableRuns.layer({ agents: [worker], poll: "1 second" }).pipe(
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports, sessions })),
    Layer.provide(ports),
    Layer.provide(model),
    Layer.provide(
      PostgresClient.layer({ url: Redacted.make(input.url), maxConnections: 8, applicationName: input.name })
    )
  )
  const signal = Effect.async<void>((resume) => {
    process.once("SIGTERM", () => resume(Effect.void))
  })
  const start = (runId: string) =>
    Effect.retry(
      Runs.start({ agent: "worker", input: runId, runId, sessionId: `session-${runId}`, userId: `user-${runId}` }),
      {
        times: 20
      }
    )
  const listening = Effect.forever(
    Effect.flatMap(hear, (runs: ReadonlyArray<string>) =>
      Effect.zipRight(Effect.forEach(runs, start, { discard: true }), say("started"))
    )
  )
  return Effect.zipRight(say("ready"), Effect.raceFirst(signal, listening)).pipe(
    Effect.provide(app),
    Effect.zipRight(say("drained")),
    // Messages are lines of the standard output.
    Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
  )
})
