import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type { RunLimitExceededError } from "../../../src/agent/definition/AgentError.js"
import * as DefaultModelRouter from "../../../src/llm/DefaultModelRouter.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as ModelBinding from "../../../src/strategy/reasoning/ModelBinding.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})
const time = Tool.make("time", { description: "The time", handler: () => Effect.succeed("noon") })
const calls = (...texts: ReadonlyArray<string>): TestModel.Turn => ({
  calls: texts.map((text) => ({ name: "echo", params: { text } }))
})

/** The only request of a run that is answered at once. */
const asked = <O, E>(
  agent: Agent.Agent<O, E>,
  answer: string = "ok",
  request: Partial<AgentExecutor.AgentRequest> = {}
) =>
  Effect.gen(function* () {
    yield* AgentExecutor.run(agent, { input: "hi", ...request })
    return (yield* TestModel.requests)[0]!
  }).pipe(Effect.provide(Runs.layer([answer])))

describe("Agent.make and its combinators", () => {
  it.effect("system and tools reach the model, however they are given", () =>
    Effect.gen(function* () {
      for (const agent of [
        Agent.make("a", { system: "You help.", tools: [echo, time] }),
        Agent.make("a", { system: "You help.", tools: ToolSet.make(echo, time) }),
        Agent.make("a").pipe(Agent.withSystem("You help."), Agent.withTools(echo, ToolSet.make(time)))
      ]) {
        const request = yield* asked(agent)
        assert.include(Collaborators.said(request.messages)[0], "system: You help.")
        assert.deepStrictEqual(
          request.tools?.map((tool) => tool.name),
          ["echo", "time"]
        )
      }
    })
  )

  it.effect(
    "temperature and settings reach the request; the caller's win over the agent's, those over the defaults",
    () =>
      Effect.gen(function* () {
        const agent = Agent.make("a", { temperature: 0.1, settings: { temperature: 0.9, seed: 4, maxTokens: 7 } })
        assert.deepInclude((yield* asked(agent)).settings, { temperature: 0.1, seed: 4, maxTokens: 7 })
        const changed = agent.pipe(Agent.withTemperature(0.3), Agent.withSettings({ seed: 5 }))
        assert.deepInclude((yield* asked(changed)).settings, { temperature: 0.3, seed: 5, maxTokens: 7 })
        const request = yield* asked(changed, "ok", { settings: { temperature: 1, model: "large" } })
        assert.deepInclude(request.settings, { temperature: 1, seed: 5, model: "large" })
        assert.deepInclude((yield* asked(Agent.make("a"))).settings, { temperature: 0.7, maxTokens: 2048 })
      })
  )

  it.effect("settings out of bounds are refused, by name and without quoting the others", () =>
    Effect.gen(function* () {
      const settings = { providerOptions: { token: "psst" } }
      for (const agent of [
        Agent.make("a", { temperature: 3, settings }),
        Agent.make("a", { settings }).pipe(Agent.withTemperature(-1))
      ]) {
        const error = yield* Effect.flip(asked(agent))
        assert.strictEqual(error._tag, "AgentConfigurationError")
        assert.include(error.message, "temperature")
        assert.notInclude(error.message, "psst")
      }
      const error = yield* Effect.flip(asked(Agent.make("a"), "ok", { settings: { maxTokens: 0 } }))
      assert.include(error.message, "maxTokens")
    })
  )

  it.effect("combinators leave the agent they are given as it was", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { system: "one", tools: [time], limits: { maxToolCalls: 3 } })
      const before = { ...agent.definition }
      const memory = Collaborators.memory().service
      const governance = Collaborators.governance().service
      const guard = Collaborators.guard("g", ["input"], () => undefined)
      const changed = [
        Agent.withSystem("two")(agent),
        Agent.withTools(echo)(agent),
        Agent.withStrategy("function_calling")(agent),
        Agent.withOutput(Schema.Number)(agent),
        Agent.withGuards(guard)(agent),
        Agent.withMemory(memory)(agent),
        Agent.withGovernance(governance)(agent),
        Agent.withTemperature(1)(agent),
        Agent.withSettings({ seed: 1 })(agent),
        Agent.withRole("thinking")(agent),
        Agent.withModule("m")(agent),
        Agent.withLimits({ maxTokens: 1 })(agent)
      ]
      assert.deepStrictEqual(agent.definition, before)
      for (const one of changed) {
        assert.strictEqual(one.name, "a")
        const differing = Object.keys(before).filter(
          (key) => one.definition[key as keyof Agent.Definition] !== before[key as keyof Agent.Definition]
        )
        assert.strictEqual(differing.length, 1, String(differing))
      }
      assert.deepStrictEqual(changed[11]?.definition.limits, { maxToolCalls: 3, maxTokens: 1 })
    })
  )

  it.effect("an agent without a name, a tool given twice and a tool without a description are refused", () =>
    Effect.gen(function* () {
      const nameless = Tool.make("", { description: "d", handler: () => Effect.void })
      for (const [agent, text] of [
        [Agent.make(" "), "name"],
        [Agent.make("a", { tools: [echo, echo] }), '"echo"'],
        [Agent.make("a", { tools: [echo] }).pipe(Agent.withTools(echo)), '"echo"'],
        [Agent.make("a", { tools: [nameless] }), "empty name"]
      ] as const) {
        const error = yield* Effect.flip(asked(agent as Agent.Agent))
        assert.strictEqual(error._tag, "AgentConfigurationError")
        assert.include(error.message, text)
      }
    })
  )
})

describe("Agent strategies", () => {
  const started = <E>(agent: Agent.Agent<string, E>) =>
    Effect.map(
      Runs.record(AgentExecutor.stream(agent, "hi")),
      ({ events }) => Runs.of(events, "Started")[0]?.strategy
    ).pipe(Effect.provide(Runs.layer(["ok"])))

  it.effect("a strategy is given as a value, by name, or by name with options", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* started(Agent.make("a")), "react")
      assert.strictEqual(yield* started(Agent.make("a", { strategy: "function_calling" })), "function_calling")
      assert.strictEqual(yield* started(Agent.make("a", { strategy: FunctionCalling.make() })), "function_calling")
      assert.strictEqual(
        yield* started(Agent.make("a").pipe(Agent.withStrategy("function_calling"))),
        "function_calling"
      )
      const once = { maxIterations: 1 }
      for (const agent of [
        Agent.make("a", { tools: [echo], strategy: { _tag: "Named", name: "react", options: once } }),
        Agent.make("a", { tools: [echo] }).pipe(Agent.withStrategy("react", once)),
        Agent.make("a", { tools: [echo] }).pipe(Agent.withStrategy(ReAct.make(once)))
      ]) {
        const error = yield* Effect.flip(AgentExecutor.run(agent, "hi")).pipe(Effect.provide(Runs.layer([calls("1")])))
        assert.strictEqual(error._tag, "MaxIterationsExceededError")
      }
    })
  )

  it.effect("an unknown strategy is refused with the known names and the nearest, before any model call", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { strategy: "raect" }), "hi"))
      assert.strictEqual(error._tag, "AgentConfigurationError")
      assert.include(error.message, '"raect"')
      assert.include(error.message, 'did you mean "react"')
      assert.include(error.message, "function_calling")
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(Effect.provide(Runs.layer([])))
  )

  it.effect("a limit of iterations brings what was reached until then", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo], strategy: ReAct.make({ maxIterations: 2 }) })
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(error._tag, "MaxIterationsExceededError")
      if (error._tag !== "MaxIterationsExceededError") return
      assert.deepInclude(error, { maxIterations: 2, currentIteration: 2, strategyName: "react" })
      assert.include(error.message, "2 iterations")
      assert.include(error.hint, "onLimit")
      assert.deepStrictEqual(
        error.partial?.toolCalls.map((call) => call.result),
        ["1", "2"]
      )
      assert.strictEqual(error.partial?.usage.totalTokens, 30)
    }).pipe(Effect.provide(Runs.layer([calls("1"), calls("2")])))
  )

  it.effect("going in circles brings what was reached until then", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi"))
      assert.strictEqual(error._tag, "NoProgressError")
      if (error._tag !== "NoProgressError") return
      assert.include(error.message, "echo")
      assert.strictEqual(error.partial?.toolCalls.length, 3)
    }).pipe(Effect.provide(Runs.layer(() => calls("1"))))
  )
})

class Order extends Schema.Class<Order>("shop/Order line")({
  id: Schema.NumberFromString,
  note: Schema.optional(Schema.String)
}) {}

interface Tree {
  readonly kids: ReadonlyArray<Tree>
}
const Tree: Schema.Schema<Tree> = Schema.Struct({
  kids: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
}).annotations({ identifier: "Tree" })

describe("Agent output", () => {
  const shaped = <A, I>(schema: Schema.Schema<A, I>, ...answers: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a", { output: schema }), "hi")
      return { output: response.output, requests: yield* TestModel.requests }
    }).pipe(Effect.provide(Runs.layer(answers)))

  it.effect("the request carries the schema, the answer is decoded", () =>
    Effect.gen(function* () {
      const { output, requests } = yield* shaped(Order, '{"id": "12"}')
      assert.instanceOf(output, Order)
      assert.strictEqual(output.id, 12)
      assert.isUndefined(output.note)
      const format = Collaborators.formatOf(requests[0]!)
      assert.strictEqual(format.name, "shop_Order_line")
      assert.deepNestedInclude(format.schema, { "properties.id.type": "string", type: "object" })
      assert.deepStrictEqual(format.schema["required"], ["id"])
    })
  )

  it.effect("what is no object travels as the only field of one, its references intact", () =>
    Effect.gen(function* () {
      const { output } = yield* shaped(Schema.Array(Order), '{"value": [{"id": "1"}, {"id": "2", "note": "x"}]}')
      assert.deepStrictEqual(
        output.map((order) => [order.id, order.note]),
        [
          [1, undefined],
          [2, "x"]
        ]
      )
      const trees = yield* shaped(Schema.Array(Tree), '{"value": [{"kids": []}]}')
      assert.deepStrictEqual(trees.output, [{ kids: [] }])
      const { schema } = Collaborators.formatOf(trees.requests[0]!)
      assert.strictEqual(schema["type"], "object")
      assert.include(JSON.stringify(schema), '"$ref"')
      assert.deepStrictEqual(Collaborators.danglingReferences(schema), [])
      assert.strictEqual((yield* shaped(Schema.NonEmptyString, '{"value": "yes"}')).output, "yes")
      assert.strictEqual((yield* shaped(Schema.Literal("a", "b"), '{"value": "b"}')).output, "b")
      assert.strictEqual((yield* shaped(Schema.Number, "7")).output, 7)
      const either = Schema.Union(Schema.Struct({ a: Schema.String }), Schema.Struct({ b: Schema.Number }))
      assert.deepStrictEqual((yield* shaped(either, '{"value": {"b": 1}}')).output, { b: 1 })
    })
  )

  it.effect("recursive schemas are objects whose references hold", () =>
    Effect.gen(function* () {
      const { output, requests } = yield* shaped(Tree, '{"kids": [{"kids": []}]}')
      assert.deepStrictEqual(output, { kids: [{ kids: [] }] })
      const { schema } = Collaborators.formatOf(requests[0]!)
      assert.strictEqual(schema["type"], "object")
      assert.deepStrictEqual(Collaborators.danglingReferences(schema), [])
    })
  )

  it.effect("an answer that does not fit goes back with what is wrong, and counts as a call", () =>
    Effect.gen(function* () {
      const { output, requests } = yield* shaped(Order, "no", '{"note": 1}', '{"id": "3"}')
      assert.strictEqual(output.id, 3)
      assert.strictEqual(requests.length, 3)
      assert.include(Collaborators.said(requests[1]!.messages).at(-1), "not JSON")
      const told = Collaborators.said(requests[2]!.messages)
      assert.include(told.at(-1), "id")
      assert.strictEqual(told.at(-2), 'assistant: {"note": 1}')
      assert.strictEqual(Collaborators.formatOf(requests[2]!).name, "shop_Order_line")
    })
  )

  it.effect("after its retries the run fails with the last answer and its issues", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { output: Order, outputRetries: 1 })
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.deepInclude(error, { _tag: "OutputValidationError", attempts: 2, text: "still no" })
      assert.strictEqual((yield* TestModel.requests).length, 2)
    }).pipe(Effect.provide(Runs.layer(["no", "still no"])))
  )

  it.effect("retries are given with the schema, and odd numbers of them are none", () =>
    Effect.gen(function* () {
      for (const retries of [0, -1, Number.NaN]) {
        for (const agent of [
          Agent.make("a", { output: Order, outputRetries: retries }),
          Agent.make("a").pipe(Agent.withOutput(Order, { retries }))
        ]) {
          const error = yield* Effect.flip(AgentExecutor.run(agent, "hi")).pipe(Effect.provide(Runs.layer(["no"])))
          assert.strictEqual(error._tag, "OutputValidationError")
        }
      }
    })
  )

  it.effect("a schema without a JSON form is refused before any model call", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { output: Schema.DateFromSelf }), "hi"))
      assert.strictEqual(error._tag, "AgentConfigurationError")
      assert.include(error.message, "JSON Schema")
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(Effect.provide(Runs.layer([])))
  )

  it.effect("a strategy that knows nothing of outputs has its answer brought into shape", () =>
    Effect.gen(function* () {
      const plain = Strategy.make("plain", (task) =>
        Effect.gen(function* () {
          const model = yield* ModelBinding.bind(task)
          yield* model.call({ messages: Strategy.openingMessages(task) }, { step: 1 })
          return { text: "three", reason: "completed" as const, messages: [] }
        })
      )
      const response = yield* AgentExecutor.run(Agent.make("a", { output: Order, strategy: plain }), "hi")
      assert.strictEqual(response.output.id, 3)
      assert.deepStrictEqual(Collaborators.said((yield* TestModel.requests)[1]!.messages).slice(0, 2), [
        "user: hi",
        "assistant: three"
      ])
    }).pipe(Effect.provide(Runs.layer(["three", '{"id": "3"}'])))
  )

  it.effect("what such a strategy ends with at a limit is taken as it is or not at all: no further call", () =>
    Effect.gen(function* () {
      const saying = (text: string) =>
        Strategy.make("plain", () => Effect.succeed({ text, reason: "limit" as const, messages: [] }))
      const fits = yield* AgentExecutor.run(Agent.make("a", { output: Order, strategy: saying('{"id": "4"}') }), "hi")
      assert.strictEqual(fits.output.id, 4)
      const error = yield* Effect.flip(
        AgentExecutor.run(Agent.make("a", { output: Order, strategy: saying("four") }), "hi")
      )
      assert.deepInclude(error, { _tag: "OutputValidationError", attempts: 1, strategyName: "plain" })
      assert.strictEqual((yield* TestModel.requests).length, 0)
    }).pipe(Effect.provide(Runs.layer([])))
  )
})

describe("Agent roles and modules", () => {
  it.effect("the client of the agent's role gets the call, with the role's settings", () =>
    Effect.gen(function* () {
      const thinker = TestModel.make(["deep"], { model: "thinker" })
      const router = DefaultModelRouter.layer({
        roles: { thinking: { client: thinker, settings: { temperature: 0 } } }
      })
      for (const agent of [Agent.make("a", { role: "thinking" }), Agent.make("a").pipe(Agent.withRole("thinking"))]) {
        const own = TestModel.make(["deep"], { model: "thinker" })
        const layer = Runs.layer([], {
          router: DefaultModelRouter.layer({ roles: { thinking: { client: own, settings: { temperature: 0 } } } })
        })
        const response = yield* AgentExecutor.run(agent, "hi").pipe(Effect.provide(layer))
        assert.strictEqual(response.message, "deep")
        const requests = yield* own.observer.requests
        assert.deepInclude(requests[0]?.settings, { model: "thinker", temperature: 0 })
      }
      const other = yield* AgentExecutor.run(Agent.make("a", { role: "planning" }), "hi").pipe(
        Effect.provide(Runs.layer(["default"], { router }))
      )
      assert.strictEqual(other.message, "default")
    })
  )

  it.effect("a tool of a module that the agent's may not see is denied, as an observation", () =>
    Effect.gen(function* () {
      const modules = Layer.succeed(ModuleGraph.ModuleGraph, {
        isVisible: ({ caller, owner }) => Effect.succeed(caller === owner)
      })
      const owned = Tool.annotate(echo, { owner: "billing" })
      const run = (agent: Agent.Agent) =>
        AgentExecutor.run(agent, "hi").pipe(
          Effect.map((response) => response.toolCalls[0]?.error?.tag),
          Effect.provide(Runs.layer([calls("x"), "done"], { modules }))
        )
      assert.strictEqual(yield* run(Agent.make("a", { tools: [owned], module: "shop" })), "ToolAccessDeniedError")
      assert.strictEqual(yield* run(Agent.make("a", { tools: [owned], module: "billing" })), undefined)
      const moved = Agent.make("a", { tools: [owned], module: "billing" }).pipe(Agent.withModule("shop"))
      assert.strictEqual(yield* run(moved), "ToolAccessDeniedError")
    })
  )
})

describe("Agent limits", () => {
  const limited = (error: { readonly _tag: string }): RunLimitExceededError => {
    assert.strictEqual(error._tag, "RunLimitExceededError")
    return error as RunLimitExceededError
  }

  it.effect("time", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo], limits: { timeout: "1 minute" } })
      const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, "hi")))
      yield* TestClock.adjust("59 seconds")
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust("1 second")
      const error = limited(yield* Fiber.join(fiber))
      assert.deepInclude(error, { limitType: "time", limit: 60_000 })
      assert.deepStrictEqual(
        error.partial?.toolCalls.map((call) => call.result),
        ["1"]
      )
      assert.strictEqual(yield* Effect.flatMap(TestModel.TestModel, (model) => model.active), 0)
    }).pipe(Effect.provide(Runs.layer([calls("1"), { text: "late", delay: "1 hour" }])))
  )

  it.effect("time counts everything: a memory that hangs, a guard that hangs", () =>
    Effect.gen(function* () {
      const memory = Collaborators.memory({ assemble: () => Effect.never })
      const guard = { name: "slow", stages: ["input"], check: () => Effect.never } as const
      for (const agent of [
        Agent.make("a", { memory: memory.service, limits: { timeout: "1 minute" } }),
        Agent.make("a", { guards: [guard], limits: { timeout: "1 minute" } })
      ]) {
        const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, { input: "hi", userId: "ada" })))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(limited(yield* Fiber.join(fiber)).limitType, "time")
      }
    }).pipe(Effect.provide(Runs.layer([])))
  )

  it.effect("tokens: what a call may use is set aside before it, so that the limit is never passed", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo] }).pipe(Agent.withLimits({ maxTokens: 1000 }))
      const error = limited(yield* Effect.flip(AgentExecutor.run(agent, "hi")))
      assert.deepInclude(error, { limitType: "tokens", limit: 1000, used: 800 })
      const requests = yield* TestModel.requests
      assert.strictEqual(requests.length, 2)
      // A shorter answer was asked for, the one that still fitted.
      const asked = requests.map(({ settings }) => settings?.maxTokens ?? 0)
      assert.isBelow(asked[0] ?? 0, 1000)
      assert.isBelow(asked[1] ?? 0, (asked[0] ?? 0) - 300)
      assert.strictEqual(error.partial?.toolCalls.length, 2)
    }).pipe(
      Effect.provide(
        Runs.layer([
          { ...calls("1"), usage: { inputTokens: 300, outputTokens: 100, totalTokens: 400 } },
          { ...calls("2"), usage: { inputTokens: 300, outputTokens: 100, totalTokens: 400 } }
        ])
      )
    )
  )

  it.effect("dollars: reserved by the price of the model, and an unknown price is refused", () =>
    Effect.gen(function* () {
      const prices = CostEstimator.layerPrices({ "test-model": { input: 1000, output: 1000 } })
      const usage = { inputTokens: 300, outputTokens: 100, totalTokens: 400 }
      const run = (prices: Layer.Layer<CostEstimator.CostEstimator>) =>
        AgentExecutor.run(Agent.make("a", { tools: [echo], limits: { maxCostUsd: 1 } }), "hi").pipe(
          Effect.provide(
            Layer.merge(
              Runs.layer(
                [
                  { ...calls("1"), usage },
                  { ...calls("2"), usage }
                ],
                { prices }
              ),
              prices
            )
          )
        )
      const error = limited(yield* Effect.flip(run(prices)))
      assert.deepInclude(error, { limitType: "cost", limit: 1 })
      assert.closeTo(error.used, 0.8, 1e-9)
      assert.closeTo(error.partial?.costUsd ?? 0, 0.8, 1e-9)
      const unknown = limited(yield* Effect.flip(run(CostEstimator.layerPrices({}))))
      assert.include(unknown.message, "price of test-model is unknown")
      assert.strictEqual(unknown.partial?.modelCalls, 0)
    })
  )

  it.effect("tokens of the agent win over those of the configuration", () =>
    Effect.gen(function* () {
      const run = (agent: Agent.Agent) =>
        Effect.exit(AgentExecutor.run(agent, "hi")).pipe(
          Effect.map(Exit.isSuccess),
          Effect.provide(Runs.layer([calls("1"), "done"], { config: { maxRunTokens: 15 } }, { exhausted: false }))
        )
      assert.isFalse(yield* run(Agent.make("a", { tools: [echo] })))
      assert.isTrue(yield* run(Agent.make("a", { tools: [echo], limits: { maxTokens: 1000 } })))
    })
  )

  it.effect("model calls", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo], limits: { maxModelCalls: 1 } })
      const error = limited(yield* Effect.flip(AgentExecutor.run(agent, "hi")))
      assert.deepInclude(error, { limitType: "model-calls", limit: 1, used: 1 })
      assert.strictEqual((yield* TestModel.requests).length, 1)
    }).pipe(Effect.provide(Runs.layer([calls("1")])))
  )

  it.effect("model calls made side by side are all counted", () =>
    Effect.gen(function* () {
      const side = Strategy.make("side by side", (task) =>
        Effect.gen(function* () {
          const model = yield* ModelBinding.bind(task)
          const ask = model.call({ messages: Strategy.openingMessages(task) }, { step: 1 })
          yield* Effect.all([ask, ask, ask], { concurrency: "unbounded" })
          return { text: "done", reason: "completed" as const, messages: [] }
        })
      )
      const agent = Agent.make("a", { strategy: side, limits: { maxModelCalls: 2 } })
      const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, "hi")))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(limited(yield* Fiber.join(fiber)).limitType, "model-calls")
      assert.strictEqual((yield* TestModel.requests).length, 2)
    }).pipe(Effect.provide(Runs.layer(() => ({ text: "x", delay: "1 second" }))))
  )

  it.effect("tool calls", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo], limits: { maxToolCalls: 2 } })
      const error = limited(yield* Effect.flip(AgentExecutor.run(agent, "hi")))
      assert.deepInclude(error, { limitType: "tool-calls", limit: 2 })
      const results = error.partial?.toolCalls.map((call) => call.result)
      assert.deepStrictEqual(results?.slice(0, 2), ["1", "2"])
      assert.strictEqual((yield* TestModel.requests).length, 2)
    }).pipe(Effect.provide(Runs.layer([calls("1", "2"), calls("3")])))
  )
})
