import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as GuardPresets from "../../src/guard/GuardPresets.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as WindowGuard from "../../src/guard/pipeline/WindowGuard.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Lexigram from "../../src/persistence/Lexigram.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

/** A model that makes one call a step for some steps, and keeps the lists of tools that it was offered. */
const model = (steps: number, offered: Set<unknown> = new Set()): LlmClient.Service => {
  let asked = 0
  return {
    provider: "test",
    model: "test",
    complete: ({ tools }) =>
      Effect.sync((): LlmClient.LlmResponse => {
        offered.add(tools)
        const n = asked++ % (steps + 1)
        return n < steps
          ? {
              content: [{ type: "tool-call", id: `call_${n}`, name: "add", params: { a: n, b: 1 } }],
              finishReason: "tool-calls",
              usage: { inputTokens: 10, outputTokens: 5 }
            }
          : {
              content: [{ type: "text", text: "done" }],
              finishReason: "stop",
              usage: { inputTokens: 10, outputTokens: 5 }
            }
      })
  }
}

const add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: { a: Schema.Number, b: Schema.Number },
  success: Schema.Number,
  handler: ({ a, b }) => Effect.succeed(a + b)
})
const others = Array.from({ length: 19 }, (_, index) =>
  Tool.make(`other_${index}`, {
    description: `Another tool ${index}`,
    parameters: { text: Schema.String },
    handler: () => Effect.succeed("unused")
  })
)

const maxIterations = 500
const strategies = [FunctionCalling.make({ maxIterations }), ReAct.make({ maxIterations })] as const
const [functionCalling, react] = strategies

type Request = Parameters<typeof AgentExecutor.run>[1]

interface Given {
  readonly request?: Request | undefined
  readonly executor?: Layer.Layer<AgentExecutor.AgentExecutor, unknown, LlmClient.LlmClient> | undefined
}

const run = (strategy: typeof functionCalling, client: LlmClient.Service, given: Given = {}) =>
  AgentExecutor.run(Agent.make("a", { tools: [add, ...others], strategy }), given.request ?? "go").pipe(
    Effect.provide(Layer.provide(given.executor ?? Agents.layer(), LlmGateway.layer(client)))
  )

/** The operations of Effect in an effect. */
const counted = <E, R>(effect: Effect.Effect<unknown, E, R>): Effect.Effect<number, never, R> =>
  Effect.suspend(() => {
    let count = 0
    const counting: Scheduler.Scheduler = {
      shouldYield: () => {
        count++
        return false
      },
      scheduleTask: (task, priority) => Scheduler.defaultScheduler.scheduleTask(task, priority)
    }
    return Effect.map(Effect.withScheduler(Effect.orDie(effect), counting), () => count)
  })

/** The operations of Effect in a run with this many calls. */
const operations = (strategy: typeof functionCalling, steps: number, given?: Given): Effect.Effect<number> =>
  Effect.suspend(() => counted(run(strategy, model(steps), given)))

const ofStep = (strategy: typeof functionCalling, from: number, given?: Given): Effect.Effect<number> =>
  Effect.gen(function* () {
    // The first run of a process loads what later ones share.
    yield* operations(strategy, 1, given)
    return ((yield* operations(strategy, from + 10, given)) - (yield* operations(strategy, from, given))) / 10
  })

/** How often the library reads a message of the history in a run with this many calls. */
const readsOfHistory = (strategy: typeof functionCalling, steps: number) =>
  Effect.suspend(() => {
    let reads = 0
    const message: LlmClient.Message = new Proxy(
      { role: "user", content: "hello" },
      {
        get: (target, key) => {
          reads++
          return Reflect.get(target, key)
        }
      }
    )
    return Effect.map(run(strategy, model(steps), { request: { input: "go", history: [message] } }), () => reads)
  })

describe("a step", () => {
  it.effect("takes at most 56 operations of Effect, and a tenth more in react", () =>
    Effect.gen(function* () {
      const calling = yield* ofStep(functionCalling, 10)
      assert.isAtMost(calling, 56)
      assert.isAtMost(yield* ofStep(react, 10), 1.1 * calling)
    })
  )

  it.effect("takes at most twice as many operations under the default guards", () =>
    Effect.gen(function* () {
      const executor = Agents.layerWith({ guards: GuardPresets.layer() })
      const guarded = yield* ofStep(functionCalling, 10, { executor })
      const plain = yield* ofStep(functionCalling, 10)
      assert.isAbove(guarded, plain)
      assert.isAtMost(guarded, 2 * plain)
    })
  )

  it.effect("takes at most 190 operations with memory, sessions and governance in this process", () =>
    Effect.gen(function* () {
      const executor = Lexigram.layerMemory()
      const request = { input: "go", userId: UserId.make("u"), sessionId: SessionId.make("s") }
      assert.isAtMost(yield* ofStep(functionCalling, 10, { executor, request }), 190)
    })
  )

  for (const strategy of strategies) {
    it.effect(`takes as many operations after 390 steps as after 10 (${strategy.name})`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* ofStep(strategy, 390), yield* ofStep(strategy, 10))
      })
    )

    it.effect(`reads earlier messages once a run (${strategy.name})`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* readsOfHistory(strategy, 40), yield* readsOfHistory(strategy, 10))
      })
    )

    it.effect(`offers the tools of the run as one list (${strategy.name})`, () =>
      Effect.gen(function* () {
        const offered = new Set<unknown>()
        yield* run(strategy, model(10, offered))
        assert.strictEqual(offered.size, 1)
      })
    )
  }

  for (const [how, reads] of [
    ["screens no event that nobody reads", false],
    ["screens the events of a run that is read", true]
  ] as const) {
    it.effect(how, () =>
      Effect.gen(function* () {
        let found = 0
        const guard = WindowGuard.make({
          name: "counting",
          stages: ["output"],
          window: {
            reach: 4,
            find: () => {
              found++
              return []
            }
          }
        })
        const agent = Agent.make("a", { tools: [add], strategy: functionCalling })
        const guards = DefaultGuardPipeline.layer({ guards: [guard] })
        const layer = Layer.provide(Agents.layerWith({ guards }), LlmGateway.layer(model(5)))
        const ran = reads
          ? Effect.asVoid(Runs.record(AgentExecutor.stream(agent, "go")))
          : Effect.asVoid(AgentExecutor.run(agent, "go"))
        yield* Effect.provide(ran, layer)
        // The answer itself is checked once.
        if (reads) assert.isAbove(found, 5)
        else assert.strictEqual(found, 1)
      })
    )
  }
})

describe("a run with memory, sessions and governance in this process", () => {
  it.scoped("takes at most 1,740 operations of Effect with one step, also after other runs of its session", () =>
    Effect.gen(function* () {
      const layer = Layer.provide(Lexigram.layerMemory(), LlmGateway.layer(model(1)))
      const context = yield* Layer.build(layer)
      const agent = Agent.make("a", { tools: [add, ...others], strategy: functionCalling })
      const request = { input: "go", userId: UserId.make("u"), sessionId: SessionId.make("s") }
      const ran = Effect.provide(AgentExecutor.run(agent, request), context)
      yield* ran
      assert.isAtMost(yield* counted(ran), 1_740)
      for (let n = 0; n < 10; n++) yield* ran
      assert.isAtMost(yield* counted(ran), 1_740)
    })
  )
})
