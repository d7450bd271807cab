import { assert, describe, it } from "@effect/vitest"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import * as Supervisor from "effect/Supervisor"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SteppedClock from "../support/SteppedClock.js"

/** A model that waits for each answer: `steps` calls of the tool, then the text. */
const waitingModel = (steps: number): LlmClient.Service => ({
  provider: "test",
  model: "test",
  complete: ({ messages }) => {
    const n = messages.filter(({ role }) => role === "tool").length
    return Effect.delay(
      Effect.succeed<LlmClient.LlmResponse>({
        content:
          n < steps
            ? [{ type: "tool-call", id: `call_${n}`, name: "add", params: { a: n, b: 1 } }]
            : [{ type: "text", text: "done" }],
        finishReason: n < steps ? "tool-calls" : "stop",
        usage: { inputTokens: 10, outputTokens: 5 }
      }),
      10
    )
  }
})

const add = (wait: Effect.Effect<void>) =>
  Tool.make("add", {
    description: "Adds two numbers",
    parameters: { a: Schema.Number, b: Schema.Number },
    success: Schema.Number,
    handler: ({ a, b }) => Effect.as(wait, a + b)
  })

interface Costs {
  fibers: number
  tasks: number
  timers: number
}

/** Counts the fibers that an effect starts, the tasks of its scheduler and the timers that it sets. */
const counting = (stepped: SteppedClock.SteppedClock) => {
  const costs: Costs = { fibers: 0, tasks: 0, timers: 0 }
  class Counter extends Supervisor.AbstractSupervisor<void> {
    readonly value = Effect.void
    override onStart(): void {
      costs.fibers++
    }
  }
  const scheduler: Scheduler.Scheduler = {
    shouldYield: () => false,
    scheduleTask: (task, priority) => {
      costs.tasks++
      Scheduler.defaultScheduler.scheduleTask(task, priority)
    }
  }
  const clock: Clock.Clock = {
    ...stepped.clock,
    sleep: (duration) =>
      Effect.suspend(() => {
        costs.timers++
        return stepped.clock.sleep(duration)
      })
  }
  const around = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.supervised(new Counter()), Effect.withClock(clock), Effect.withScheduler(scheduler))
  return { costs, around }
}

/** What the second run of an executor costs: the first one loads what later ones share. */
const costsOf = (steps: number, wait: Effect.Effect<void> = Effect.void) =>
  Effect.gen(function* () {
    const stepped = SteppedClock.make()
    const layer = yield* Layer.build(Layer.provide(Agents.layer(), LlmGateway.layer(waitingModel(steps))))
    const run = Effect.provide(AgentExecutor.run(Agent.make("a", { tools: [add(wait)] }), "go"), layer)
    const once = ({ around, costs }: ReturnType<typeof counting>) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(around(run))
        yield* stepped.advance(20 * (steps + 1))
        assert.strictEqual((yield* Fiber.join(fiber)).output, "done")
        assert.strictEqual(stepped.timers(), 0)
        return costs
      })
    yield* once(counting(stepped))
    return yield* once(counting(stepped))
  }).pipe(Effect.scoped)

const assertAtMost = (costs: Costs, bounds: Costs) => {
  assert.isAtMost(costs.fibers, bounds.fibers)
  assert.isAtMost(costs.tasks, bounds.tasks)
  assert.isAtMost(costs.timers, bounds.timers)
}

describe("a run that waits", () => {
  it.live("for its model takes one fiber and two tasks a call, and one timer for the limits of all calls", () =>
    Effect.gen(function* () {
      assertAtMost(yield* costsOf(3), { fibers: 8, tasks: 9, timers: 5 })
      assertAtMost(yield* costsOf(6), { fibers: 14, tasks: 15, timers: 8 })
    })
  )

  it.live("for its tools, too, takes two tasks a call more, and that timer again for their earlier limit", () =>
    Effect.gen(function* () {
      assertAtMost(yield* costsOf(3, Effect.sleep(10)), { fibers: 9, tasks: 16, timers: 9 })
    })
  )
})
