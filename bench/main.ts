/**
 * `npm run bench`: cost of the library, compared with a bare Effect loop with the same telemetry in the same process.
 *
 * `--json` prints one array of rows, `--quick` does fewer runs,
 * `--only=step|delta|concurrent|held|fiber|skill|memory|working|recall|vectors|session|http|persistence` selects a group of rows;
 * `--strict` makes the bench fail if a row of `persistence` exceeds its limit, and `--match=append` selects its
 * operations by name.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as AgentExecutor from "../src/agent/AgentExecutor.js"
import * as Agents from "../src/agent/Agents.js"
import * as Agent from "../src/agent/definition/Agent.js"
import type * as LlmClient from "../src/llm/model/LlmClient.js"
import * as LlmGateway from "../src/llm/model/LlmGateway.js"
import * as FunctionCalling from "../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../src/strategy/loop/ReAct.js"
import * as Tool from "../src/tool/definition/Tool.js"
import * as Fibers from "./Fibers.js"
import * as Floor from "./Floor.js"
import { cpuMicros, interleave, makeRow, type Row, type Sample } from "./Harness.js"

import * as Http from "./Http.js"
import * as Memory from "./Memory.js"
import * as Persistence from "./Persistence.js"
import * as Recall from "./Recall.js"
import * as Sessions from "./Sessions.js"
import * as Skills from "./Skills.js"
import * as Telemetry from "./Telemetry.js"
import * as Vectors from "./Vectors.js"
import * as WorkingMemory from "./WorkingMemory.js"

const json = process.argv.includes("--json")
const quick = process.argv.includes("--quick")
const runs = quick ? 3 : 9
const warmup = quick ? 1 : 3
const rows: Array<Row> = []
const argument = (name: string): string | undefined =>
  process.argv.find((given) => given.startsWith(`--${name}=`))?.slice(name.length + 3)

/**
 * A model that calls `add` until the conversation has `steps` calls, then answers; stateless, so that runs can share
 * it.
 */
const makeModel = (steps: number, counts: { model: number }, sleep?: number): LlmClient.Service => {
  const call = (n: number): LlmClient.LlmResponse => ({
    content: [{ type: "tool-call", id: "c", name: "add", params: { a: n, b: 2 } }],
    finishReason: "tool-calls",
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
  })
  const answer: LlmClient.LlmResponse = {
    content: [{ type: "text", text: "done" }],
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
  }
  const reply = (request: LlmClient.LlmRequest): LlmClient.LlmResponse => {
    counts.model++
    const asked = request.messages.length - (request.messages[0]?.role === "system" ? 2 : 1)
    return asked >= steps * 2 ? answer : call(asked)
  }
  return {
    provider: "bench",
    model: "bench",
    complete: (request) =>
      sleep === undefined
        ? Effect.sync(() => reply(request))
        : Effect.delay(
            Effect.sync(() => reply(request)),
            sleep
          )
  }
}

const counts = { model: 0, tool: 0 }
const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Number,
  handler: ({ a, b }) =>
    Effect.sync(() => {
      counts.tool++
      return a + b
    })
})
const others = Array.from({ length: 19 }, (_, index) =>
  Tool.make(`other_${index}`, {
    description: `Another tool ${index}`,
    parameters: { text: Schema.String, count: Schema.optional(Schema.Number) },
    handler: () => Effect.succeed("unused")
  })
)

const stepsPerRun = 10
const runsPerSample = quick ? 100 : 400
const strategy = FunctionCalling.make({ maxIterations: stepsPerRun + 1 })
const one = Agent.make("bench", { tools: [add], strategy })
const react = Agent.make("bench", {
  tools: [add],
  strategy: ReAct.make({ maxIterations: stepsPerRun + 1 })
})
const twenty = Agent.make("bench", { tools: [add, ...others], strategy })

const spans: Telemetry.SpanCount = { ended: 0 }
/** Built once, as in an application. */
const executor = (client: LlmClient.Service) =>
  ManagedRuntime.make(Agents.layer().pipe(Layer.provide(LlmGateway.layer(client)), Layer.merge(Telemetry.layer(spans))))

const measure = async (
  program: () => Promise<{ readonly text: string; readonly events: number }>,
  per: number,
  metrics: string,
  repeat = 1
): Promise<Sample> => {
  counts.model = 0
  counts.tool = 0
  spans.ended = 0
  const before = Telemetry.metricUpdates(metrics)
  const started = cpuMicros()
  let events = 0
  let text = ""
  for (let i = 0; i < repeat; i++) {
    const result = await program()
    events += result.events
    text = result.text
  }
  const value = (cpuMicros() - started) / per / repeat
  return {
    value,
    counts: {
      model: counts.model,
      tool: counts.tool,
      spans: spans.ended,
      metrics: Telemetry.metricUpdates(metrics) - before,
      events,
      text
    }
  }
}

const stepRow = async () => {
  const model = makeModel(stepsPerRun, counts)
  const runtime = executor(model)
  const library = (agent: Agent.Agent<string, unknown, never>) => () =>
    measure(
      () =>
        runtime.runPromise(
          AgentExecutor.run(agent as Agent.Agent<string>, "go").pipe(
            Effect.map((response) => ({ text: response.message, events: response.toolCalls.length }))
          )
        ),
      stepsPerRun,
      "agent.",
      runsPerSample
    )
  const floor = () =>
    measure(
      () =>
        runtime.runPromise(
          Floor.run(model, "go", one.definition.tools.definitions).pipe(
            Effect.map((result) => {
              counts.tool += stepsPerRun
              return { text: result.text, events: result.events.filter((event) => event._tag === "ToolResult").length }
            })
          )
        ),
      stepsPerRun,
      "floor.",
      runsPerSample
    )
  const samples = await interleave(
    { floor, one: library(one), twenty: library(twenty), react: library(react) },
    { warmup, runs }
  )
  const all = stepsPerRun * runsPerSample
  const expected = { model: all + runsPerSample, tool: all, events: all, text: "done" }
  const spanCount = 2 * all + 2 * runsPerSample
  rows.push(
    makeRow("step", "bare Effect floor", "µs CPU", samples["floor"]!, {
      ...expected,
      spans: spanCount,
      metrics: 5 * runsPerSample + 3 * all
    }),
    makeRow("step", "effect-lexigram, 1 tool", "µs CPU", samples["one"]!, {
      ...expected,
      spans: spanCount,
      metrics: 5 * runsPerSample + 3 * all
    }),
    makeRow("step", "effect-lexigram, 20 tools", "µs CPU", samples["twenty"]!, {
      ...expected,
      spans: spanCount,
      metrics: 5 * runsPerSample + 3 * all
    }),
    makeRow("step", "effect-lexigram, 1 tool, react", "µs CPU", samples["react"]!, {
      ...expected,
      spans: spanCount,
      metrics: 5 * runsPerSample + 3 * all
    })
  )
}

/** Parts as a socket delivers them: a chunk, a turn of the event loop, the next chunk. */
const streamModel = (deltas: number, perChunk: number, counts: { model: number }): LlmClient.Service => ({
  provider: "bench",
  complete: (_request, options) =>
    Effect.gen(function* () {
      counts.model++
      let text = ""
      for (let sent = 0; sent < deltas; sent += perChunk) {
        yield* Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))
        const parts: Array<LlmClient.LlmPart> = []
        for (let i = 0; i < perChunk; i++) {
          parts.push({ type: "text-delta", id: "t", delta: "word " })
          text += "word "
        }
        if (options?.onParts !== undefined) yield* options.onParts(parts)
      }
      return { content: [{ type: "text", text }], finishReason: "stop", usage: {} }
    })
})

const deltaRows = async () => {
  for (const perChunk of [8, 32]) await deltaRow(perChunk)
}

const deltaRow = async (perChunk: number) => {
  const deltas = quick ? 25_600 : 128_000
  const model = streamModel(deltas, perChunk, counts)
  const quiet = Agent.make("bench", { strategy: FunctionCalling.make() })
  const runtime = executor(model)
  const source = () =>
    measure(
      async () => {
        let seen = 0
        await Effect.runPromise(
          model.complete(
            { messages: [] },
            {
              onParts: (parts) =>
                Effect.sync(() => {
                  seen += parts.length
                })
            }
          )
        )
        return { text: "", events: seen }
      },
      deltas,
      "agent."
    )
  const library = () =>
    measure(
      () =>
        runtime.runPromise(
          Stream.runFold(AgentExecutor.stream(quiet, "go"), { events: 0, text: "" }, (state, event) =>
            event._tag === "TextDelta"
              ? { events: state.events + 1, text: state.text }
              : event._tag === "Message"
                ? { events: state.events, text: String(event.text.length) }
                : state
          )
        ),
      deltas,
      "agent."
    )
  const samples = await interleave({ source, library }, { warmup, runs })
  rows.push(
    makeRow(`streamed delta, ${perChunk} a chunk`, "the socket alone", "µs CPU", samples["source"]!, {
      model: 1,
      events: deltas
    }),
    makeRow(`streamed delta, ${perChunk} a chunk`, "effect-lexigram, end to end", "µs CPU", samples["library"]!, {
      model: 1,
      events: deltas,
      text: String(deltas * 5)
    })
  )
}

const concurrentRow = async () => {
  const total = quick ? 2_000 : 10_000
  const steps = 2
  const model = makeModel(steps, counts, 10)
  const runtime = executor(model)
  const agent = Agent.make("bench", { tools: [add], strategy: FunctionCalling.make() })
  const sample = async (
    all: Effect.Effect<ReadonlyArray<string>, unknown, AgentExecutor.AgentExecutor>,
    metrics: string
  ): Promise<{ readonly wall: Sample; readonly memory: Sample }> => {
    counts.model = 0
    counts.tool = 0
    spans.ended = 0
    globalThis.gc?.()
    const heap = process.memoryUsage().heapUsed
    let peak = heap
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().heapUsed)
    }, 20)
    const before = Telemetry.metricUpdates(metrics)
    const started = performance.now()
    const texts = await runtime.runPromise(all)
    const wall = performance.now() - started
    clearInterval(watch)
    const seen = {
      model: counts.model,
      tool: counts.tool,
      spans: spans.ended,
      metrics: Telemetry.metricUpdates(metrics) - before,
      text: texts.every((text) => text === "done") ? "done" : "other",
      runs: texts.length
    }
    return { wall: { value: wall / 1000, counts: seen }, memory: { value: (peak - heap) / total / 1000, counts: seen } }
  }
  const indices = Array.from({ length: total }, (_, index) => index)
  const library = Effect.forEach(indices, () => Effect.map(AgentExecutor.run(agent, "go"), (r) => r.message), {
    concurrency: "unbounded"
  })
  const floor = Effect.forEach(
    indices,
    () =>
      Effect.map(Floor.run(model, "go", agent.definition.tools.definitions), (r) => {
        counts.tool += steps
        return r.text
      }),
    { concurrency: "unbounded" }
  )
  const kinds = {
    floor: { wall: [] as Array<Sample>, memory: [] as Array<Sample> },
    library: { wall: [] as Array<Sample>, memory: [] as Array<Sample> }
  }
  for (let round = 0; round < (quick ? 2 : 6); round++) {
    for (const [name, program, metrics] of [
      ["floor", floor, "floor."],
      ["library", library, "agent."]
    ] as const) {
      const result = await sample(program, metrics)
      if (round === 0) continue
      kinds[name].wall.push(result.wall)
      kinds[name].memory.push(result.memory)
    }
  }
  const expected = {
    model: total * (steps + 1),
    tool: total * steps,
    spans: total * (1 + 2 * steps + 1),
    text: "done",
    runs: total
  }
  const label = `${total} concurrent runs of 3 steps, model sleeps 10 ms`
  rows.push(
    makeRow(label, "bare Effect floor", "s wall", kinds.floor.wall, { ...expected, metrics: total * (5 + 3 * steps) }),
    makeRow(label, "effect-lexigram", "s wall", kinds.library.wall, { ...expected, metrics: total * (5 + 3 * steps) }),
    makeRow(label, "bare Effect floor", "kB peak heap a run", kinds.floor.memory, expected),
    makeRow(label, "effect-lexigram", "kB peak heap a run", kinds.library.memory, expected)
  )
}

/** Memory held by a run while its model thinks: live heap after a collection, with all runs waiting. */
const heldRow = async () => {
  const total = quick ? 2_000 : 10_000
  const agent = Agent.make("bench", { tools: [add], strategy: FunctionCalling.make() })
  const held = (subject: "floor" | "library") => async (): Promise<Sample> => {
    let waiting = 0
    const latch = Deferred.unsafeMake<void>(FiberId.none)
    const client: LlmClient.Service = {
      provider: "bench",
      model: "bench",
      complete: () =>
        Effect.suspend(() => {
          waiting++
          return Effect.as(Deferred.await(latch), {
            content: [{ type: "text", text: "done" }],
            finishReason: "stop",
            usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
          } satisfies LlmClient.LlmResponse)
        })
    }
    const runtime = executor(client)
    const one =
      subject === "floor"
        ? Effect.asVoid(Floor.run(client, "go", agent.definition.tools.definitions))
        : Effect.asVoid(AgentExecutor.run(agent, "go"))
    await runtime.runPromise(Effect.void)
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const all = runtime.runPromise(
      Effect.forEach(
        Array.from({ length: total }, (_, index) => index),
        () => one as Effect.Effect<void, unknown, AgentExecutor.AgentExecutor>,
        { concurrency: "unbounded", discard: true }
      )
    )
    while (waiting < total) await new Promise((resolve) => setTimeout(resolve, 5))
    globalThis.gc?.()
    const value = (process.memoryUsage().heapUsed - before) / total / 1000
    Deferred.unsafeDone(latch, Effect.void)
    await all
    await runtime.dispose()
    return { value, counts: { waiting } }
  }
  const samples = await interleave({ floor: held("floor"), library: held("library") }, { warmup: 1, runs: 3 })
  const label = `${total} runs waiting for their model`
  rows.push(
    makeRow(label, "bare Effect floor", "kB held a run", samples["floor"]!, { waiting: total }),
    makeRow(label, "effect-lexigram", "kB held a run", samples["library"]!, { waiting: total })
  )
}

const skillRow = async () => {
  rows.push(...(await Skills.rows({ warmup, runs, quick })))
}

const fiberRows = async () => {
  rows.push(...(await Fibers.rows({ warmup, runs, quick })))
}

const recallRows = async () => {
  rows.push(...(await Recall.rows({ quick })))
}

const workingRows = async () => {
  rows.push(...(await WorkingMemory.rows({ warmup, runs, quick })))
}

const memoryRows = async () => {
  rows.push(...(await Memory.rows({ warmup, runs, quick })))
}

const vectorRows = async () => {
  rows.push(...(await Vectors.rows({ warmup, runs, quick })))
}

const sessionRows = async () => {
  rows.push(...(await Sessions.rows({ warmup, runs, quick })))
}

const httpRows = async () => {
  rows.push(...(await Http.rows({ warmup, runs, quick })))
}

const persistenceRows = async () => {
  rows.push(...(await Persistence.rows({ quick, strict: process.argv.includes("--strict"), match: argument("match") })))
}

const print = () => {
  if (json) {
    console.log(JSON.stringify(rows))
    return
  }
  for (const row of rows) {
    console.log(
      `${row.row.padEnd(58)} ${row.subject.padEnd(30)} ${String(row.median).padStart(9)} ${row.unit.padEnd(14)} (${row.min} to ${row.max}, ${row.runs} runs)`
    )
  }
}

const only = argument("only")
for (const [name, measureRow] of Object.entries({
  step: stepRow,
  delta: deltaRows,
  concurrent: concurrentRow,
  held: heldRow,
  fiber: fiberRows,
  skill: skillRow,
  memory: memoryRows,
  working: workingRows,
  recall: recallRows,
  vectors: vectorRows,
  session: sessionRows,
  http: httpRows,
  persistence: persistenceRows
})) {
  if (only === undefined || only === name) await measureRow()
}
print()
