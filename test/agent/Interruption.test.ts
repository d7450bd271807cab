import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Crew from "../../src/agent/crew/Crew.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import type { MemoryEntry } from "../../src/memory/entry/MemoryEntry.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import type * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as ChatServer from "../support/ChatServer.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"

/** Everything a run may leave behind. */
interface Traces {
  acquired: number
  released: number
  readonly events: Array<AgentEvent>
  readonly kept: Array<MemoryEntry>
}

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

/** Answers by what stands in the conversation, so that any number of runs can share the model. */
const answer = (request: LlmClient.LlmRequest): Effect.Effect<TestModel.Turn> => {
  const asked = request.messages.findLast((message) => message.role === "user")
  const text = typeof asked?.content === "string" ? asked.content : ""
  const results = request.messages.filter((message) => message.role === "tool").length
  const turn = (): TestModel.Turn => {
    if (text !== "handoff" && (results > 0 || text === "sub")) return { text: ["all ", "done"], usage }
    switch (text) {
      case "parallel":
        return { calls: [{ name: "held" }, { name: "quick" }, { name: "failing" }, { name: "held" }], usage }
      case "handoff":
        // Offered to the first agent alone: the second one can only hand back.
        return request.tools?.some(({ name }) => name === "transfer_to_other") === true
          ? { calls: [{ name: "transfer_to_other" }, { name: "held" }], usage }
          : { text: ["taken ", "over"], usage }
      case "nested":
        return {
          text: "I ask",
          calls: [{ name: "delegate_to_sub", params: { message: "sub" } }, { name: "held" }],
          usage
        }
      default:
        return { text: "first", calls: [{ name: "held" }], usage }
    }
  }
  return Effect.as(Effect.yieldNow(), turn())
}

type Main = Agent.Agent<string, never, AgentExecutor.AgentExecutor>

/** An agent and its executor, for one run after the other. */
interface Setting {
  readonly agent: Main
  readonly layer: Layer.Layer<AgentExecutor.AgentExecutor>
  readonly model: TestModel.Observer
  /** What is left behind from now on. */
  readonly watch: () => Traces
}

const make = (): Setting => {
  const model = TestModel.make(answer)
  let traces: Traces = { acquired: 0, released: 0, events: [], kept: [] }
  const held = Tool.make("held", {
    description: "Holds something for a while",
    handler: () =>
      Effect.acquireUseRelease(
        Effect.sync(() => void traces.acquired++),
        () => Effect.zipRight(Effect.yieldNow(), Effect.succeed("held")),
        () => Effect.sync(() => void traces.released++)
      )
  })
  const quick = Tool.make("quick", { description: "Is quick", handler: () => Effect.succeed("quick") })
  const failing = Tool.make("failing", {
    description: "Fails",
    parameters: { why: Schema.optional(Schema.String) },
    handler: () => Effect.zipRight(Effect.yieldNow(), Effect.fail("no"))
  })
  const sub = Agent.make("sub", { tools: [quick] })
  const other = Agent.make("other")
  const agent = Agent.make("main", { tools: [held, quick, failing, AgentTool.make(sub), Handoff.to(other)] })
  const memory = Layer.succeed(WorkingMemory.WorkingMemory, {
    assemble: () => Effect.succeed({ entries: [], facts: [], tools: [], tokens: 0, report: [] }),
    add: (entry) => Effect.sync(() => void traces.kept.push(entry)),
    addAll: (entries) => Effect.sync(() => void traces.kept.push(...entries)),
    getContextEntries: () => Effect.succeed([]),
    flush: () => Effect.void,
    learn: () => Effect.void,
    health: Effect.void
  })
  const log = Layer.succeed(RunLog.RunLog, {
    enabled: true,
    append: (events) =>
      Effect.sync(() => {
        for (const event of events) {
          const known = traces.events.some((other) => other.runId === event.runId && other.seq === event.seq)
          if (!known) traces.events.push(event)
        }
      }),
    read: () => Effect.succeed([])
  })
  return {
    agent,
    model: model.observer,
    watch: () => {
      traces = { acquired: 0, released: 0, events: [], kept: [] }
      return traces
    },
    layer: Agents.layerWith({ memory, log, config: { enableMetrics: false } }).pipe(
      Layer.provide(LlmGateway.layer(model))
    )
  }
}

/** Interrupts at the k-th yield; `undefined` runs to the end. */
const attempt = async (
  { agent, model, watch }: Setting,
  runtime: Runtime.Runtime<AgentExecutor.AgentExecutor>,
  program: (agent: Main) => Effect.Effect<unknown, unknown, AgentExecutor.AgentExecutor>,
  at: number | undefined
): Promise<{
  readonly yields: number
  readonly exit: Exit.Exit<unknown, unknown>
  readonly problems: ReadonlyArray<string>
}> => {
  const traces = watch()
  const supervisor = await Effect.runPromise(Supervisor.track)
  let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
  }, at)
  const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
    main = Runtime.runFork(runtime)(Effect.supervised(Effect.withScheduler(program(agent), scheduler), supervisor), {
      immediate: false
    })
    main.addObserver(resolve)
  })
  const problems: Array<string> = []
  const fibers = await Effect.runPromise(supervisor.value)
  const running = fibers.filter((fiber) => fiber.unsafePoll() === null)
  if (running.length > 0) problems.push(`${running.length} fibers run on`)
  if (traces.acquired !== traces.released) problems.push(`${traces.acquired} acquired, ${traces.released} released`)
  const active = await Effect.runPromise(model.active)
  if (active !== 0) problems.push(`${active} model calls are open`)
  problems.push(...EventRecorder.violations(traces.events, { log: true }))
  const last = traces.events.findLast((event) => event.agent === "main")
  if (Exit.isFailure(exit)) {
    if (!Cause.isInterrupted(exit.cause)) problems.push(`ended with ${Cause.pretty(exit.cause)}`)
    if (last !== undefined && !(last._tag === "Error" && last.interrupted) && last._tag !== "Finished") {
      problems.push(`the last event is ${last._tag}`)
    }
  }
  const roles = traces.kept.map((entry) => `${entry.role}${entry.metadata["unanswered"] === undefined ? "" : "!"}`)
  if (!["", "user,assistant", "user!"].includes(roles.join(","))) problems.push(`kept ${roles.join(",")}`)
  return { yields: scheduler.count(), exit, problems }
}

/** With a stride every so many points; the whole run is cut at each of them. */
const everywhere = async (program: Parameters<typeof attempt>[2], stride: number = 1): Promise<number> => {
  const setting = make()
  // One executor for all runs: what one of them breaks, the next ones feel.
  const managed = ManagedRuntime.make(setting.layer)
  try {
    const runtime = await managed.runtime()
    const whole = await attempt(setting, runtime, program, undefined)
    assert.isTrue(Exit.isSuccess(whole.exit), "the uninterrupted run succeeds")
    assert.deepStrictEqual(whole.problems, [])
    // The number of operations when fibers run as usual up to the point.
    const { yields } = await attempt(setting, runtime, program, Number.POSITIVE_INFINITY)
    let interrupted = 0
    for (let k = 1; ; k += stride) {
      const { exit, problems } = await attempt(setting, runtime, program, k)
      assert.deepStrictEqual(problems, [], `interrupted at yield ${k} of ${yields}`)
      if (Exit.isFailure(exit)) interrupted++
      else if (k > yields) break
    }
    assert.isAbove(interrupted, yields / stride / 2)
    return yields
  } finally {
    await managed.dispose()
  }
}

const request = (input: string) => ({ input, userId: "ada" })

describe("interruption at every point", () => {
  it("leaves nothing running after run", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("single")))
  )

  it("leaves nothing running after stream", { timeout: 300_000 }, () =>
    everywhere((agent) => Stream.runDrain(AgentExecutor.stream(agent, request("single"))), 3)
  )

  it("leaves nothing running after parallel tools", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("parallel")), 5)
  )

  it("leaves nothing running after a nested agent", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("nested")), 5)
  )

  it("leaves nothing running after a handoff", { timeout: 300_000 }, () =>
    everywhere((agent) => AgentExecutor.run(agent, request("handoff")), 5)
  )

  for (const process of ["parallel", "sequential"] as const) {
    // Many points, each of them far from the next: a crew takes many operations.
    it(`leaves nothing running after a ${process} crew`, { timeout: 300_000 }, () =>
      everywhere(
        (agent) =>
          Crew.run(
            Crew.make("crew", {
              process,
              agents: [agent, Agent.make("second", { tools: agent.definition.tools as typeof ToolSet.empty })],
              tasks: [
                Crew.task("one", { description: "x", agent: "main" }),
                Crew.task("two", { description: "y", agent: "second" }),
                Crew.task("three", { description: "z", agent: "main", context: ["one", "two"] })
              ]
            }),
            request("single")
          ),
        11
      )
    )
  }
})

describe("interruption of a pending request", () => {
  const caller = Agent.make("caller")

  const withServer = Effect.gen(function* () {
    const server = yield* ChatServer.make
    yield* server.script(ChatServer.silence)
    const layer = Agents.layer().pipe(
      Layer.provide(ChatCompletions.layer({ baseUrl: server.baseUrl, model: "m" })),
      Layer.provide(FetchHttpClient.layer)
    )
    return { server, layer }
  })

  it.scopedLive("closes it when the run's fiber is interrupted", () =>
    Effect.gen(function* () {
      const { layer, server } = yield* withServer
      const fiber = yield* Effect.fork(Effect.provide(AgentExecutor.run(caller, "hi"), layer))
      yield* server.received(1)
      yield* Fiber.interrupt(fiber)
      yield* server.left(1)
      assert.strictEqual(server.open(), 0)
    })
  )

  it.scopedLive("closes it when the reader of the stream stops", () =>
    Effect.gen(function* () {
      const { layer, server } = yield* withServer
      const events = yield* AgentExecutor.stream(caller, "hi").pipe(
        Stream.interruptWhen(server.received(1)),
        Stream.runCollect,
        Effect.provide(layer)
      )
      assert.strictEqual(Array.from(events)[0]?._tag, "Started")
      yield* server.left(1)
      assert.strictEqual(server.open(), 0)
    })
  )
})
