/**
 * A process with a queue of runs and schedules, on Postgres as one of a cluster or on a SQLite file alone, until it is
 * killed. Its model is a server; its tools write what they do to a file. The clock of its schedules is fast.
 */
import * as Fs from "node:fs"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as QueueRunner from "../../../src/agent/dispatch/QueueRunner.js"
import * as RunQueue from "../../../src/agent/dispatch/RunQueue.js"
import * as RunSchedules from "../../../src/agent/dispatch/RunSchedules.js"
import * as Scheduler from "../../../src/agent/dispatch/Scheduler.js"
import * as ScheduleStore from "../../../src/agent/record/ScheduleStore.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../../src/cluster/DurableCluster.js"
import * as Durable from "../../../src/durable/Durable.js"
import * as DurableRuns from "../../../src/durable/DurableRuns.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmConnectionError } from "../../../src/llm/model/LlmError.js"
import * as Run from "../../../src/observability/Run.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as SqlQueueStore from "../../../src/persistence/run/SqlQueueStore.js"
import * as SqlScheduleStore from "../../../src/persistence/run/SqlScheduleStore.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Programs from "../Programs.js"

export interface Input {
  /** Names the process in the files and in the database. */
  readonly name: string
  readonly database:
    | { readonly url: string; readonly port: number; readonly settings: DurableCluster.Settings }
    | { readonly file: string }
  /** What the tools do. */
  readonly effects: string
  /** The address of the model. */
  readonly model: string
  readonly queue: Omit<QueueRunner.Options, "agents">
  readonly schedules: Omit<Scheduler.Options, "agents">
  /** The clock of the schedules: it shows the time `from` as that time, and goes so many times faster. */
  readonly clock: { readonly from: number; readonly factor: number }
}

export type Call =
  | { readonly op: "enqueue"; readonly request: RunQueue.EnqueueRequest }
  | { readonly op: "create"; readonly request: RunSchedules.CreateRequest }
  | { readonly op: "pause" | "resume"; readonly id: string; readonly userId: string }
  | { readonly op: "sql"; readonly text: string }

/** What the model answers: the tool to call, or nothing to end. */
export interface Answer {
  readonly tool?: string
}

/** The database was busy, or away: the caller asks again. */
const isPassing = (cause: Cause.Cause<unknown>): boolean =>
  Option.exists(
    Cause.failureOption(cause),
    (error) => Predicate.hasProperty(error, "reason") && error.reason === "storage"
  )

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

const faster = ({ factor, from }: Input["clock"]): Clock.Clock => {
  const clock = Clock.make()
  const now = () => Math.floor(from + (clock.unsafeCurrentTimeMillis() - from) * factor)
  return {
    ...clock,
    [Clock.ClockTypeId]: clock[Clock.ClockTypeId],
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    sleep: (duration) => clock.sleep(Duration.unsafeDivide(duration, factor))
  }
}

/** The schedules on their clock, whose runs and writes keep to the one of the process. */
const scheduler = (options: Scheduler.Options, fast: Clock.Clock) =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const own = <A, E>(effect: Effect.Effect<A, E>) => Effect.withClock(effect, clock)
      const runs = yield* Runs.Runs
      const store = yield* SqlScheduleStore.make
      const layer = Scheduler.layer(options).pipe(
        Layer.provide([
          Layer.succeed(Runs.Runs, {
            ...runs,
            start: (request) => own(runs.start(request)),
            poll: (runId, access) => own(runs.poll(runId, access))
          }),
          Layer.succeed(ScheduleStore.ScheduleStore, {
            ...store,
            due: (given) => own(store.due(given)),
            nextDue: (agents) => own(store.nextDue(agents)),
            replace: (schedule) => own(store.replace(schedule))
          })
        ])
      )
      return yield* Effect.withClock(Layer.build(layer), fast)
    })
  )

const toolsOf = ({ effects, name }: Input) => {
  const did = (tool: string) =>
    Effect.flatMap(Run.Run, ({ runId }) => Effect.sync(() => Fs.appendFileSync(effects, `${name} ${tool} ${runId}\n`)))
  const make = (tool: string) =>
    Tool.make(tool, {
      description: "May be repeated",
      parameters: {},
      idempotent: true,
      handler: () => Effect.zipRight(did(tool), Effect.as(Effect.sleep("20 millis"), "done"))
    })
  const pay = Tool.make("pay", {
    description: "Must not be repeated",
    parameters: {},
    handler: () => Effect.zipRight(did("pay"), Effect.as(Effect.sleep("5 millis"), "paid")),
    // What is paid is in the file, whichever process did it.
    outcome: () =>
      Effect.map(Run.Run, ({ runId }) =>
        Fs.readFileSync(effects, "utf8").includes(` pay ${runId}\n`) ? Option.some("paid") : Option.none()
      )
  })
  return [make("begin"), pay, make("finish")]
}

const modelOf = ({ model, name }: Input) =>
  Layer.succeed(LlmClient.LlmClient, {
    provider: "loopback",
    model: "m",
    complete: ({ messages }) =>
      Effect.flatMap(Run.Run, ({ agent, runId }) =>
        Effect.tryPromise({
          try: async (signal): Promise<LlmClient.LlmResponse> => {
            const step = messages.filter(({ role }) => role === "tool").length
            const body = JSON.stringify({ name, agent, runId, step })
            const answer = (await (await fetch(model, { method: "POST", body, signal })).json()) as Answer
            return answer.tool === undefined
              ? { content: [{ type: "text", text: "done" }], finishReason: "stop", usage }
              : {
                  content: [{ type: "tool-call", id: `c${step}`, name: answer.tool, params: {} }],
                  finishReason: "tool-calls",
                  usage
                }
          },
          catch: () => new LlmConnectionError({ provider: "loopback", message: "no connection" })
        })
      )
  } satisfies LlmClient.Service)

const portsOf = ({ database, name }: Input) =>
  "url" in database
    ? DurableCluster.layer({ host: "127.0.0.1", port: database.port, ...database.settings }).pipe(
        Layer.provideMerge(
          PostgresClient.layer({ url: Redacted.make(database.url), maxConnections: 8, applicationName: name })
        )
      )
    : Durable.layerSqlite({ file: database.file, driver: "libsql", lease: "300 millis", poll: "20 millis" })

const layerOf = (input: Input, fast: Clock.Clock) => {
  const tools = toolsOf(input)
  const [writer, critic, reporter] = ["writer", "critic", "reporter"].map((name) => Agent.make(name, { tools }))
  const ports = portsOf(input) as Layer.Layer<Durable.Ports | SqlClient.SqlClient>
  const runs = DurableRuns.layer({ agents: [writer!, critic!, reporter!], poll: "100 millis" }).pipe(
    Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
    Layer.provide(modelOf(input))
  )
  return Layer.mergeAll(
    Layer.provide(QueueRunner.layer({ ...input.queue, agents: [writer!, critic!] }), SqlQueueStore.layer),
    scheduler({ ...input.schedules, agents: [reporter!] }, fast)
  ).pipe(Layer.provide(runs), Layer.provideMerge(ports))
}

Programs.main<Input>(({ hear, input, say }) => {
  const fast = faster(input.clock)
  return Effect.gen(function* () {
    const context = yield* Layer.build(layerOf(input, fast))
    const queue = Context.get(context, RunQueue.RunQueue)
    const schedules = Context.get(context, RunSchedules.RunSchedules)
    const sql = Context.get(context, SqlClient.SqlClient)
    const answer = (call: Call): Effect.Effect<unknown, unknown> => {
      switch (call.op) {
        case "enqueue":
          return queue.enqueue(call.request)
        case "create":
          return Effect.withClock(schedules.create(call.request), fast)
        case "pause":
        case "resume":
          return Effect.withClock(schedules[call.op](call.id, { userId: call.userId }), fast)
        case "sql":
          return sql.unsafe(call.text)
      }
    }
    yield* say("ready")
    return yield* Effect.forever(
      Effect.flatMap(hear, (call: Call & { readonly number: number }) =>
        Effect.fork(
          Effect.matchCauseEffect(answer(call), {
            onFailure: (cause) =>
              isPassing(cause)
                ? say({ number: call.number })
                : say({ number: call.number, failed: Cause.pretty(cause) }),
            onSuccess: (value) => say({ number: call.number, value: value ?? null })
          })
        )
      )
    )
  }).pipe(
    Effect.scoped,
    // Messages are lines of the standard output.
    Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)))
  )
})
