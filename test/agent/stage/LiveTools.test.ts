import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ModuleGraph from "../../../src/tool/ModuleGraph.js"
import { ToolRegistry } from "../../../src/tool/ToolRegistry.js"
import * as ToolSource from "../../../src/tool/ToolSource.js"
import * as ManyTools from "../../support/ManyTools.js"
import * as Runs from "../../support/Runs.js"

class Down extends Data.TaggedError("Down")<{}> {}

const named = (name: string, handler: () => Effect.Effect<unknown> = () => Effect.succeed(`${name} ran`)) =>
  Tool.make(name, { description: `Does ${name}`, handler })

const [a, b, c] = [named("a"), named("b"), named("c")]

/** A source that answers with these, one after another, and the last one again and again. */
const answering = (...answers: ReadonlyArray<Effect.Effect<ReadonlyArray<Tool.Tool<never, unknown>>, Down>>) => {
  let asked = 0
  const next = Effect.suspend(() => answers[Math.min(asked++, answers.length - 1)]!)
  return { source: ToolSource.make({ name: "plugins", tools: next }), asked: () => asked }
}

const has = (...tools: ReadonlyArray<Tool.Any>) =>
  Effect.succeed(tools as unknown as ReadonlyArray<Tool.Tool<never, unknown>>)

const call = (name: string, params: unknown = {}) => ({ calls: [{ name, params }] })

const ran = <O, E>(
  agent: Agent.Agent<O, E, never>,
  script: Parameters<typeof Runs.layer>[0],
  input = "go",
  given?: Parameters<typeof Runs.layer>[1]
) =>
  Effect.gen(function* () {
    const { events, exit } = yield* Runs.record(AgentExecutor.stream(agent, input))
    return { events, exit, requests: yield* TestModel.requests }
  }).pipe(Effect.provide(Runs.layer(script, given)))

const offered = ({ tools }: LlmClient.LlmRequest) => (tools ?? []).map(({ name }) => name)
const lastText = ({ messages }: LlmClient.LlmRequest): string => JSON.stringify(messages.at(-1)?.content)

const loops = [
  ["react", ReAct.make()],
  ["function calling", FunctionCalling.make()]
] as const

describe.each(loops)("withToolSource under %s", (_name, strategy) => {
  it.effect("asks the source before each step and offers what it has then", () =>
    Effect.gen(function* () {
      const { asked, source } = answering(has(a), has(a, b), has(b))
      const agent = Agent.make("x", { strategy, tools: [c] }).pipe(Agent.withToolSource(source))
      const { requests } = yield* ran(agent, [call("a"), call("b"), "done"])
      assert.deepStrictEqual(requests.map(offered), [
        ["c", "a"],
        ["c", "a", "b"],
        ["c", "b"]
      ])
      assert.strictEqual(asked(), 3)
    })
  )

  it.effect("says of a tool that is gone that it no longer exists", () =>
    Effect.gen(function* () {
      const { source } = answering(has(a, b), has(b))
      const agent = Agent.make("x", { strategy }).pipe(Agent.withToolSource(source))
      const { events, requests } = yield* ran(agent, [call("b"), call("a"), "done"])
      assert.include(lastText(requests[2]!), 'The tool \\"a\\" no longer exists')
      assert.deepStrictEqual(
        Runs.of(events, "ToolResult").map(({ isFailure }) => isFailure),
        [false, true]
      )
    })
  )

  it.effect("offers no tools after the last one left", () =>
    Effect.gen(function* () {
      const { source } = answering(has(a), has())
      const agent = Agent.make("x", { strategy }).pipe(Agent.withToolSource(source))
      const { requests } = yield* ran(agent, [call("a"), call("a"), "done"])
      assert.deepStrictEqual(requests.map(offered), [["a"], [], []])
    })
  )
})

const registryLayer = Layer.provide(
  DefaultToolRegistry.layer,
  DefaultToolRunner.layer().pipe(Layer.provide([ApprovalGate.layerDeny, ModuleGraph.layerNoop]))
)

describe("withToolSource", () => {
  it.effect("fails a run whose source fails when it begins", () =>
    Effect.gen(function* () {
      const agent = Agent.make("x").pipe(Agent.withToolSource(answering(Effect.fail(new Down())).source))
      const error = yield* AgentExecutor.run(agent, "go").pipe(Effect.flip, Effect.provide(Runs.layer([])))
      assert.strictEqual(error._tag, "Down")
    })
  )

  it.effect("keeps the last tools while the source fails, and reports each outage once", () =>
    Effect.gen(function* () {
      const down = Effect.fail(new Down())
      const { source } = answering(has(a, b, c), down, down, has(b), down)
      const agent = Agent.make("x").pipe(Agent.withToolSource(source))
      const { events, requests } = yield* ran(agent, [call("a"), call("b"), call("c"), call("b"), "done"])
      assert.deepStrictEqual(
        requests.map((request) => offered(request).length),
        [3, 3, 3, 1, 1]
      )
      assert.lengthOf(
        Runs.of(events, "Degraded").filter(({ error }) => error.tag === "Down"),
        2
      )
    })
  )

  it.effect("fails with a typed error when the source never answers", () =>
    Effect.gen(function* () {
      const source = ToolSource.make({ name: "slow", tools: Effect.never, timeout: "3 seconds" })
      const agent = Agent.make("x").pipe(Agent.withToolSource(source))
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "go").pipe(Effect.flip, Effect.provide(Runs.layer([]))))
      yield* TestClock.adjust("3 seconds")
      const error = yield* Fiber.join(fiber)
      assert.deepInclude(error, { _tag: "ToolSourceError", source: "slow", timeoutMs: 3000, code: "LEX_ERR_AGT_118" })
    })
  )

  it.effect("ends the run with the defect of a source", () =>
    Effect.gen(function* () {
      const broken = Effect.sync(() => {
        throw new Error("broken")
      })
      const agent = Agent.make("x").pipe(Agent.withToolSource(ToolSource.make({ name: "broken", tools: broken })))
      const exit = yield* Effect.exit(AgentExecutor.run(agent, "go").pipe(Effect.provide(Runs.layer([]))))
      assert.strictEqual(exit._tag === "Failure" && exit.cause._tag, "Die")
    })
  )

  it.effect("prefers the agent's tool and the first of two, and reports each clash once", () =>
    Effect.gen(function* () {
      const other = named("a", () => Effect.succeed("another"))
      const { source } = answering(has(other, b, named("b")))
      const second = ToolSource.make({ name: "second", tools: has(named("b"), c) })
      const agent = Agent.make("x", { tools: [a] }).pipe(Agent.withToolSource(ToolSource.merge(source, second)))
      const { events, requests } = yield* ran(agent, [call("a"), call("b"), "done"])
      assert.deepStrictEqual(offered(requests[2]!), ["a", "b", "c"])
      assert.include(lastText(requests[1]!), "a ran")
      assert.deepStrictEqual(
        Runs.of(events, "Degraded").map(({ error }) => error.tag),
        ["ToolShadowed", "ToolShadowed", "ToolShadowed"]
      )
    })
  )

  it.effect("leaves out unusable tools and those above the bound", () =>
    Effect.gen(function* () {
      const nameless = Tool.make("", { description: "No name", handler: () => Effect.void })
      const source = ToolSource.make({ name: "many", tools: has(nameless, ...ManyTools.office(400)), maxTools: 11 })
      const { events, requests } = yield* ran(Agent.make("x").pipe(Agent.withToolSource(source)), ["done"])
      assert.lengthOf(offered(requests[0]!), 10)
      assert.deepStrictEqual(
        Runs.of(events, "Degraded").map(({ error }) => error.tag),
        ["ToolsOmitted", "ToolOmitted"]
      )
    })
  )

  it.effect("keeps the definitions of tools that did not change", () =>
    Effect.gen(function* () {
      const { source } = answering(has(a), has(a), has(a, b))
      const agent = Agent.make("x").pipe(Agent.withToolSource(source))
      const { requests } = yield* ran(agent, [call("a"), call("a"), "done"])
      assert.strictEqual(requests[0]?.tools, requests[1]?.tools)
      assert.strictEqual(requests[0]?.tools?.[0], requests[2]?.tools?.[0])
    })
  )

  it.effect("finishes a call whose tool goes away meanwhile", () =>
    Effect.gen(function* () {
      let tools: ReadonlyArray<Tool.Tool<never, unknown>> = []
      const leaving = named("leaving", () =>
        Effect.sync(() => {
          tools = []
        })
      )
      tools = [leaving]
      const source = ToolSource.make({ name: "plugins", tools: Effect.sync(() => tools) })
      const { events, requests } = yield* ran(Agent.make("x").pipe(Agent.withToolSource(source)), [
        call("leaving"),
        "done"
      ])
      assert.isFalse(Runs.of(events, "ToolResult")[0]?.isFailure)
      assert.deepStrictEqual(requests.map(offered), [["leaving"], []])
    })
  )

  it.effect("asks again before an answer that a validator wants", () =>
    Effect.gen(function* () {
      const { source } = answering(has(a), has(b))
      const agent = Agent.make("x").pipe(
        Agent.withToolSource(source),
        Agent.withValidator((text) => (text === "good" ? Effect.void : Effect.fail(Agent.reject("no"))))
      )
      const { requests } = yield* ran(agent, ["bad", "good"])
      assert.deepStrictEqual(requests.map(offered), [["a"], ["b"]])
    })
  )

  it.effect("follows the registry of the application", () =>
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      const first = Tool.make("first", {
        description: "Registers another",
        handler: () => Effect.zipRight(Effect.orDie(registry.register(b)), registry.unregister("first"))
      })
      yield* registry.register(first)
      const agent = Agent.make("x").pipe(Agent.withToolSource(ToolSource.fromRegistry))
      yield* AgentExecutor.run(agent, "go")
      assert.deepStrictEqual((yield* TestModel.requests).map(offered), [["first"], ["b"]])
    }).pipe(Effect.provide(Layer.merge(Runs.layer([call("first"), "done"]), registryLayer)))
  )
})

describe("withToolSearch", () => {
  const tools = ManyTools.office(500)
  const many = (options?: Parameters<typeof Agent.withToolSearch>[0]) =>
    Agent.make("x").pipe(
      Agent.withToolSource(ToolSource.make({ name: "office", tools: has(...tools) })),
      Agent.withToolSearch(options)
    )

  it.effect("shows at most 40 definitions, with the fitting tool, at the first step", () =>
    Effect.gen(function* () {
      const { requests } = yield* ran(many(), ["done"], "Please approve the invoice 17 of last month")
      const names = offered(requests[0]!)
      assert.isAtMost(names.length, 40)
      assert.include(names, "search_tools")
      assert.include(names, "approve_invoice")
    })
  )

  it.effect("shows found tools from the next step on", () =>
    Effect.gen(function* () {
      const script = [
        call("search_tools", { query: "translate a patent" }),
        call("translate_patent", { patent_id: "1" }),
        "done"
      ]
      const { events, requests } = yield* ran(many({ maxDefinitions: 5, maxFound: 2 }), script, "good morning")
      assert.deepStrictEqual(offered(requests[0]!), ["search_tools"])
      assert.include(offered(requests[1]!), "translate_patent")
      assert.lengthOf(offered(requests[1]!), 3)
      assert.include(lastText(requests[1]!), "translate_patent: Translates the text of the patent")
      assert.isFalse(Runs.of(events, "ToolResult")[1]?.isFailure)
    })
  )

  it.effect("drops the least recently used tools first, and never pinned ones", () =>
    Effect.gen(function* () {
      const search = (query: string) => call("search_tools", { query })
      const script = [
        search("create fossil"),
        search("create glacier"),
        call("create_fossil", { fossil_id: "1" }),
        search("create ferry"),
        "done"
      ]
      const agent = many({ maxDefinitions: 4, maxFound: 1, pinned: ["list_badge", "unknown"] })
      const { requests } = yield* ran(agent, script, "hello")
      assert.deepStrictEqual(requests.map(offered), [
        ["search_tools", "list_badge"],
        ["search_tools", "list_badge", "create_fossil"],
        ["search_tools", "list_badge", "create_fossil", "create_glacier"],
        ["search_tools", "list_badge", "create_fossil", "create_glacier"],
        ["search_tools", "list_badge", "create_fossil", "create_ferry"]
      ])
    })
  )

  it.effect("runs a call of a tool that it did not show, and shows it then", () =>
    Effect.gen(function* () {
      const script = [call("audit_lease", { lease_id: "4" }), "done"]
      const { events, requests } = yield* ran(many({ maxDefinitions: 3 }), script, "hello")
      assert.isFalse(Runs.of(events, "ToolResult")[0]?.isFailure)
      assert.deepStrictEqual(requests.map(offered), [["search_tools"], ["search_tools", "audit_lease"]])
    })
  )

  it.effect("changes nothing for an agent with few tools", () =>
    Effect.gen(function* () {
      const agent = Agent.make("x", { tools: [a, b] }).pipe(Agent.withToolSearch())
      const { requests } = yield* ran(agent, ["done"])
      assert.deepStrictEqual(offered(requests[0]!), ["a", "b"])
    })
  )

  it.effect("lists the shown tools where a strategy writes them into its prompt", () =>
    Effect.gen(function* () {
      const agent = many({ maxDefinitions: 4, maxFound: 1 }).pipe(Agent.withStrategy(ReAct.make({ format: "text" })))
      const step = (tool: string, input: object) =>
        `THOUGHT: t\nACTION: ${tool}\nACTION_INPUT: ${JSON.stringify(input)}`
      const { events, requests } = yield* ran(
        agent,
        [
          step("search_tools", { query: "share a recipe" }),
          step("share_recipe", { recipe_id: "1" }),
          "THOUGHT: t\nFINAL_ANSWER: done"
        ],
        "hello"
      )
      const whole = requests.map(({ messages }) => JSON.stringify(messages))
      assert.notInclude(whole[0], "share_recipe")
      assert.include(whole[1], "- share_recipe: Shares with a partner the recipe")
      assert.notInclude(whole[1], "create_invoice")
      assert.isTrue(Runs.of(events, "ToolResult").every(({ isFailure }) => !isFailure))
    })
  )

  it.effect("stays bounded for hostile tools and queries", () =>
    Effect.gen(function* () {
      const hostile = [
        Tool.make("<tool>\u202e]]", { description: "x ".repeat(50_000), handler: () => Effect.succeed("ok") }),
        Tool.make("日本語", { description: "請求書を承認する", handler: () => Effect.succeed("ok") }),
        Tool.make("deep", {
          description: "Deep parameters",
          parameters: { a: Schema.Struct({ b: Schema.Struct({ c: Schema.String }) }) },
          handler: () => Effect.succeed("ok")
        })
      ] as unknown as ReadonlyArray<Tool.Any>
      const agent = Agent.make("x", { tools: hostile as never }).pipe(
        Agent.withToolSource(ToolSource.make({ name: "office", tools: has(...tools) })),
        Agent.withToolSearch({ maxDefinitions: 6, maxFound: 3 })
      )
      const search = (query: unknown) => call("search_tools", { query })
      const script = [search(""), search("zzz qqq"), search("請求書"), search("x ".repeat(50_000)), search(7), "done"]
      const { exit, requests } = yield* ran(agent, script, `${"請求書 ".repeat(30_000)} archive the survey`)
      assert.strictEqual(exit._tag, "Success")
      assert.isTrue(requests.every((request) => offered(request).length <= 6))
      assert.include(offered(requests[0]!), "archive_survey")
      assert.include(lastText(requests[1]!), "Say in a few words")
      assert.include(lastText(requests[2]!), "No tool fits")
      assert.include(lastText(requests[3]!), "日本語")
      assert.isBelow(lastText(requests[4]!).length, 2000)
    })
  )

  it.effect("reads the words of each tool once, whatever the number of runs and steps", () =>
    Effect.gen(function* () {
      let read = 0
      const readOf = (tool: Tool.Any) => {
        read++
        return tool.description
      }
      const counted = tools.map(
        (tool) =>
          new Proxy(tool, {
            get: (target, key) => (key === "description" ? readOf(target) : Reflect.get(target, key))
          })
      )
      const agent = Agent.make("x").pipe(
        Agent.withToolSource(ToolSource.make({ name: "office", tools: has(...counted) })),
        Agent.withToolSearch({ maxDefinitions: 3 })
      )
      const script = [call("audit_lease", { lease_id: "4" }), "done"]
      yield* ran(agent, script)
      const once = read
      yield* ran(agent, script)
      // A set reads the description of each tool for its definition: that is linear in the tools, not in the steps.
      assert.isAtMost(read - once, once)
    })
  )
})
