import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import * as Supervisor from "effect/Supervisor"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ToolRunner from "../../src/tool/ToolRunner.js"
import * as YieldingScheduler from "../support/YieldingScheduler.js"
import * as EveryStrategy from "./EveryStrategy.js"

type Mode = "run" | "stream"

const POINTS = 60

interface Attempt {
  readonly yields: number
  readonly exit: Exit.Exit<unknown, unknown>
  readonly problems: ReadonlyArray<string>
}

/** A strategy's agent and its executor, for one run after the other. */
interface Setting {
  readonly program: Effect.Effect<unknown, unknown, AgentExecutor.AgentExecutor>
  readonly layer: Layer.Layer<AgentExecutor.AgentExecutor>
  readonly model: TestModel.Observer
  /** The events of the run that begins now. */
  readonly watch: () => ReadonlyArray<AgentEvent>
}

const make = (given: EveryStrategy.Case, mode: Mode): Setting => {
  const model = TestModel.make((request) => Effect.as(Effect.yieldNow(), given.sample.model(request)))
  let events: Array<AgentEvent> = []
  let known = new Set<string>()
  const log = Layer.succeed(RunLog.RunLog, {
    enabled: true,
    append: (appended) =>
      Effect.sync(() => {
        for (const event of appended) {
          const key = `${event.runId} ${event.seq}`
          if (!known.has(key)) events.push(event)
          known.add(key)
        }
      }),
    read: () => Effect.succeed([])
  })
  const agent = EveryStrategy.agentOf(given)
  const { task } = given.sample
  return {
    program: mode === "run" ? AgentExecutor.run(agent, task) : Stream.runDrain(AgentExecutor.stream(agent, task)),
    layer: Agents.layerWith({ log, config: { enableMetrics: false } }).pipe(Layer.provide(LlmGateway.layer(model))),
    model: model.observer,
    watch: () => {
      known = new Set()
      events = []
      return events
    }
  }
}

/** Interrupts at the k-th yield; `undefined` runs to the end. */
const attempt = async (
  setting: Setting,
  runtime: Runtime.Runtime<AgentExecutor.AgentExecutor>,
  at: number | undefined
): Promise<Attempt> => {
  const events = setting.watch()
  const tools = EveryStrategy.toolWatch()
  const program = setting.program.pipe(
    Effect.provideService(ToolRunner.ToolInterceptors, [tools.watch]),
    Effect.withClock(EveryStrategy.hurried())
  )
  const supervisor = await Effect.runPromise(Supervisor.track)
  let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
  }, at)
  const exit = await new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
    main = Runtime.runFork(runtime)(Effect.supervised(Effect.withScheduler(program, scheduler), supervisor), {
      immediate: false
    })
    main.addObserver(resolve)
  })
  const problems: Array<string> = []
  const fibers = await Effect.runPromise(supervisor.value)
  const running = fibers.filter((fiber) => fiber.unsafePoll() === null)
  if (running.length > 0) problems.push(`${running.length} fibers run on`)
  if (tools.open() !== 0) problems.push(`${tools.open()} tools run on`)
  const active = await Effect.runPromise(setting.model.active)
  if (active !== 0) problems.push(`${active} model calls are open`)
  problems.push(...EventRecorder.violations(events, { log: true }))
  if (Exit.isFailure(exit)) {
    if (!Cause.isInterruptedOnly(exit.cause)) problems.push(`ended with ${Cause.pretty(exit.cause)}`)
    const last = events.findLast((event) => event.agent === "sample")
    if (last !== undefined && !(last._tag === "Error" && last.interrupted) && last._tag !== "Finished") {
      problems.push(`the last event is ${last._tag}`)
    }
  }
  return { yields: scheduler.count(), exit, problems }
}

/** Everywhere in a short run; in a long one at points spread over it, other ones for `run` than for `stream`. */
const everywhere = async (given: EveryStrategy.Case, mode: Mode): Promise<void> => {
  const setting = make(given, mode)
  // One executor for all runs: what one of them breaks, the next ones feel.
  const managed = ManagedRuntime.make(setting.layer)
  try {
    const runtime = await managed.runtime()
    const whole = await attempt(setting, runtime, undefined)
    assert.isTrue(Exit.isSuccess(whole.exit), "the uninterrupted run succeeds")
    assert.deepStrictEqual(whole.problems, [])
    // The number of operations when fibers run as usual up to the point.
    const { yields } = await attempt(setting, runtime, Number.POSITIVE_INFINITY)
    const stride = yields / Math.min(POINTS, yields)
    let interrupted = 0
    let attempts = 0
    for (let k = mode === "run" ? 1 : 1 + stride / 2; k < yields; k += stride) {
      const { exit, problems } = await attempt(setting, runtime, Math.floor(k))
      assert.deepStrictEqual(problems, [], `interrupted at yield ${Math.floor(k)} of ${yields}`)
      attempts++
      if (Exit.isFailure(exit)) interrupted++
    }
    assert.isAbove(interrupted, attempts * 0.9)
  } finally {
    await managed.dispose()
  }
}

describe("interruption of every strategy leaves nothing behind", () => {
  for (const given of EveryStrategy.samples) {
    for (const mode of ["run", "stream"] as const) {
      it(`${given.name}, ${mode}`, { timeout: 300_000 }, () => everywhere(given, mode))
    }
  }
})
