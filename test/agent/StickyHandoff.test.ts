import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Handoff from "../../src/agent/Handoff.js"
import * as Steering from "../../src/agent/record/Steering.js"
import { SessionId, TurnId, UserId } from "../../src/domain/Ids.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as BranchManager from "../../src/session/branch/BranchManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as KeptSessions from "../support/KeptSessions.js"

type Self = Agent.Agent<string, never, AgentExecutor.AgentExecutor>

const userId = UserId.make("ada")
const id = SessionId.make("s")

const refunds = Agent.make("refunds", { system: "refunds" })
const billing = Agent.make("billing", { system: "billing", tools: [Handoff.to(refunds)] })
const desk = Agent.make("desk", { system: "desk", tools: [Handoff.to(billing)] })

const systemOf = ({ messages: [first] }: LlmClient.LlmRequest): string =>
  first?.role === "system" ? (first.content.split("\n")[0] as string) : ""

const lastOf = ({ messages }: LlmClient.LlmRequest): string => {
  const last = messages.findLast(({ role }) => role === "user")
  return typeof last?.content === "string" ? last.content : JSON.stringify(last?.content)
}

/** `desk: to billing` in a question has the desk hand over to billing, `billing fails` has billing fail; all else is answered. */
const model = TestModel.layer((request) => {
  const self = systemOf(request)
  const text = lastOf(request)
  if (text.includes(`${self} fails`)) return { fail: new LlmUnavailableError({ provider: "test", message: "down" }) }
  const isCalled = request.messages.some(({ role }) => role === "tool")
  if (text.includes(`${self} calls nudge`) && !isCalled) return { calls: [{ name: "nudge" }] }
  const to = new RegExp(`${self}: to (\\w+)`).exec(text)?.[1]
  return to === undefined ? { text: `I am ${self}.` } : { calls: [{ name: `transfer_to_${to}` }] }
})

const steering = Steering.layer()
const given = (replace: Agents.Replaceable) =>
  Agents.layerWith({ ...replace, sessions: KeptSessions.layer, steering }).pipe(
    Layer.provideMerge(Layer.mergeAll(KeptSessions.layer, model, steering))
  ) as Layer.Layer<
    | AgentExecutor.AgentExecutor
    | SessionManager.SessionManager
    | BranchManager.BranchManager
    | TestModel.TestModel
    | Steering.Steering
  >
const layer = given({})

const ask = (input: string, over: Partial<AgentExecutor.AgentRequest> = {}, agent: Self = desk) =>
  AgentExecutor.run(agent, { input, userId, sessionId: id, ...over })

/** Who was asked since the request of this number. */
const askedSince = (count: number) => Effect.map(TestModel.requests, (requests) => requests.slice(count).map(systemOf))
const count = Effect.map(TestModel.requests, ({ length }) => length)

const asking = (...args: Parameters<typeof ask>) =>
  Effect.gen(function* () {
    const before = yield* count
    const { agent, message, path } = yield* ask(...args)
    return { agent, message, path, asked: yield* askedSince(before) }
  })

const said = (agent: string, metadata: Record<string, unknown> = { agent }) =>
  Effect.flatMap(SessionManager.SessionManager, (sessions) =>
    sessions.addTurn(
      id,
      NewTurn.make({ id: TurnId.make(`by ${agent}`), role: "assistant", content: "done", timestamp: 0, metadata }),
      { userId }
    )
  )

const chain = "desk: to billing, billing: to refunds"

describe("a conversation that was handed over", () => {
  it.effect("records who answered and the path, in the response and in the session", () =>
    Effect.gen(function* () {
      const alone = yield* asking("hello")
      assert.deepStrictEqual([alone.agent, alone.path], ["desk", ["desk"]])
      const { agent, message, metadata, path } = yield* ask(chain)
      assert.deepStrictEqual([agent, message], ["refunds", "I am refunds."])
      assert.deepStrictEqual(path, ["desk", "billing", "refunds"])
      assert.strictEqual(metadata.delegations, 1)
      const sessions = yield* SessionManager.SessionManager
      assert.deepStrictEqual(
        (yield* sessions.turns(id, { userId, last: 10 })).map(({ metadata }) => metadata),
        [{ agent: "desk" }, { agent: "desk" }, { agent: "desk" }, { agent: "refunds", path }]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("continues with the agent that answered last, at any distance", () =>
    Effect.gen(function* () {
      yield* ask("desk: to billing")
      const { message: _, ...second } = yield* asking("and now?")
      assert.deepStrictEqual(second, { agent: "billing", path: ["desk", "billing"], asked: ["billing"] })
      yield* ask("billing: to refunds")
      const third = yield* asking("and now?")
      assert.deepStrictEqual([third.agent, third.asked], ["refunds", ["refunds"]])
      assert.deepStrictEqual(lastOf((yield* TestModel.requests).at(-1) as LlmClient.LlmRequest), "and now?")
    }).pipe(Effect.provide(layer))
  )

  it.effect("keeps the calls of all agents in one turn, which the next run sees with results", () =>
    Effect.gen(function* () {
      const nudge = (by: string) =>
        Tool.make("nudge", {
          description: "Nudges",
          parameters: { pin: Schema.optional(Schema.String) },
          secretParams: ["pin"],
          handler: () => Effect.succeed(`nudged by ${by}`)
        })
      const third: Self = Agent.make("third", { system: "third", tools: [nudge("third")] })
      const second: Self = Agent.make("second", { system: "second", tools: [nudge("second"), Handoff.to(third)] })
      const first: Self = Agent.make("first", { system: "first", tools: [Handoff.to(second)] })
      const next = (request: LlmClient.LlmRequest): TestModel.Turn => {
        const self = systemOf(request)
        const since = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user"))
        const nudged = JSON.stringify(since).includes(`nudged by ${self}`)
        if (lastOf(request) !== "go") return { text: `I am ${self}.` }
        if (self === "first") return { calls: [{ id: "x", name: "transfer_to_second" }] }
        if (!nudged) return { calls: [{ id: "x", name: "nudge", params: { pin: "not-to-be-kept" } }] }
        return self === "second" ? { calls: [{ id: "x", name: "transfer_to_third" }] } : { text: "I am third." }
      }
      yield* Effect.gen(function* () {
        const { message, path } = yield* ask("go", {}, first)
        assert.deepStrictEqual([message, path], ["I am third.", ["first", "second", "third"]])
        const sessions = yield* SessionManager.SessionManager
        const [, answer] = yield* sessions.turns(id, { userId, last: 10 })
        assert.deepStrictEqual(
          answer?.toolCalls.map(({ name, result }) => [name, result]),
          [
            ["transfer_to_second", 'The conversation continues with "second"'],
            ["nudge", "nudged by second"],
            ["transfer_to_third", 'The conversation continues with "third"'],
            ["nudge", "nudged by third"]
          ]
        )
        assert.strictEqual(new Set(answer?.toolCalls.map(({ id }) => id)).size, 4)
        assert.notInclude(JSON.stringify(answer), "not-to-be-kept")
        assert.strictEqual((yield* ask("and now?", {}, first)).message, "I am third.")
        const { messages } = (yield* TestModel.requests).at(-1)!
        const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content)) as Array<any>
        // Those of tools it has are calls, and the way back is one of them; what it lacks is text.
        const calls = parts.filter(({ type }) => type === "tool-call")
        const results = parts.filter(({ type }) => type === "tool-result")
        assert.deepStrictEqual(
          calls.map(({ name }) => name),
          ["transfer_to_second", "nudge", "nudge"]
        )
        assert.deepStrictEqual(
          results.map(({ id, result }) => [id, result]),
          [
            [calls[0].id, 'The conversation continues with "second"'],
            [calls[1].id, "nudged by second"],
            [calls[2].id, "nudged by third"]
          ]
        )
        assert.include(JSON.stringify(messages), "transfer_to_third({")
      }).pipe(
        Effect.provide(
          Agents.layerWith({ sessions: KeptSessions.layer }).pipe(
            Layer.provideMerge(Layer.merge(KeptSessions.layer, TestModel.layer(next)))
          )
        )
      )
    })
  )

  it.effect("begins with the called agent if the request says so", () =>
    Effect.gen(function* () {
      yield* ask("desk: to billing")
      const { agent, asked } = yield* asking("and now?", { startWith: "called" })
      assert.deepStrictEqual([agent, asked], ["desk", ["desk"]])
      const last = yield* asking("and now?", { startWith: "last" })
      assert.deepStrictEqual(last.asked, ["desk"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("can always be handed back by agents without handoffs of their own", () =>
    Effect.gen(function* () {
      yield* ask(chain)
      const { asked, path } = yield* asking("refunds: to billing, billing: to desk")
      assert.deepStrictEqual(asked, ["refunds", "billing", "desk"])
      assert.deepStrictEqual(path, ["desk", "refunds", "billing", "desk"])
      assert.deepStrictEqual((yield* asking("and now?")).asked, ["desk"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("has one way back: none is added to an agent that declares it, and tool names stay unique", () =>
    Effect.gen(function* () {
      const own = Tool.make("transfer_to_boss", { description: "Wires money", handler: () => Effect.succeed("sent") })
      const boss: Self = Agent.make("boss", {
        system: "boss",
        tools: [Handoff.lazy("clerk", (): Self => clerk), Handoff.lazy("payer", (): Self => payer)]
      })
      const clerk: Self = Agent.make("clerk", { system: "clerk", tools: [Handoff.to(boss, { name: "up" })] })
      const payer: Self = Agent.make("payer", { system: "payer", tools: [own] })
      yield* ask("boss: to clerk", { sessionId: "a" }, boss)
      yield* ask("boss: to payer", { sessionId: "b" }, boss)
      const toolsOf = (system: string) =>
        Effect.map(TestModel.requests, (requests) =>
          requests.find((request) => systemOf(request) === system)?.tools?.map(({ name }) => name)
        )
      assert.deepStrictEqual(yield* toolsOf("boss"), ["transfer_to_clerk", "transfer_to_payer"])
      assert.deepStrictEqual(yield* toolsOf("clerk"), ["up"])
      assert.deepStrictEqual(yield* toolsOf("payer"), ["transfer_to_boss", "transfer_to_boss_back"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("is kept by forks and undone by restores", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const branches = yield* BranchManager.BranchManager
      yield* ask("hello")
      const before = yield* sessions.checkpoint(id, { userId })
      yield* ask("desk: to billing")
      const after = yield* sessions.checkpoint(id, { userId })
      const branch = yield* branches.fork(id, { userId })
      yield* sessions.restore(before.id, { userId })
      assert.deepStrictEqual((yield* asking("and now?")).asked, ["desk"])
      assert.deepStrictEqual((yield* asking("and now?", { sessionId: branch.id })).asked, ["billing"])
      yield* sessions.restore(after.id, { userId })
      assert.deepStrictEqual((yield* asking("and now?")).asked, ["billing"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not stick to an agent that failed", () =>
    Effect.gen(function* () {
      yield* ask("hello")
      yield* Effect.flip(ask("desk: to billing, billing fails"))
      assert.deepStrictEqual((yield* asking("and now?")).asked, ["desk"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("applies the filters of the handoffs on the route", () =>
    Effect.gen(function* () {
      const marked = (mark: string) => ({
        input: (handed: Handoff.Handed, from: string) => ({ history: [], input: `${handed.input} [${mark} ${from}]` })
      })
      const inner = Agent.make("inner", { system: "inner" })
      const middle = Agent.make("middle", { system: "middle", tools: [Handoff.to(inner, marked("second"))] })
      const outer = Agent.make("outer", { system: "outer", tools: [Handoff.to(middle, marked("first"))] })
      yield* ask("outer: to middle, middle: to inner", {}, outer)
      yield* ask("and now?", {}, outer)
      const { messages } = (yield* TestModel.requests).at(-1) as LlmClient.LlmRequest
      assert.deepStrictEqual(messages.slice(1), [{ role: "user", content: "and now? [first outer] [second middle]" }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("asks the current agent when a message arrives at the end of the run", () =>
    Effect.gen(function* () {
      const nudge = Tool.make("nudge", {
        description: "Somebody writes meanwhile",
        handler: () => Effect.as(Effect.orDie(Steering.steer({ runId: "top", userId }, "one more")), "ok")
      })
      const clerk = Agent.make("clerk", { system: "clerk", tools: [nudge] })
      const head = Agent.make("desk", { system: "desk", tools: [Handoff.to(clerk)] })
      for (const [runId, input] of [
        ["first", "desk: to clerk"],
        ["top", "clerk calls nudge"]
      ] as const) {
        const before = yield* count
        const response = yield* AgentExecutor.run(head, { input, userId, sessionId: id, runId })
        assert.deepStrictEqual([response.agent, response.path], ["clerk", ["desk", "clerk"]])
        const requests = (yield* TestModel.requests).slice(before)
        assert.deepStrictEqual(
          requests.map((request) => `${systemOf(request)}: ${lastOf(request)}`),
          runId === "first"
            ? ["desk: desk: to clerk", "clerk: desk: to clerk"]
            : ["clerk: clerk calls nudge", "clerk: clerk calls nudge", "clerk: one more"]
        )
      }
    }).pipe(Effect.provide(layer))
  )
})

describe("a session that names an agent", () => {
  const started = (agent: string, metadata?: Record<string, unknown>) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId })
      yield* said(agent, metadata)
      return (yield* asking("hello")).asked
    }).pipe(Effect.provide(layer))

  it.effect("begins with the called agent if the name is unknown, unreachable or invalid", () =>
    Effect.gen(function* () {
      Agent.make("admin", { system: "admin" })
      for (const name of ["nobody", "admin", "", "__proto__", "desk"]) {
        assert.deepStrictEqual(yield* started(name), ["desk"], name)
      }
      assert.deepStrictEqual(yield* started("x", { agent: { name: "billing" } }), ["desk"])
      assert.deepStrictEqual(yield* started("x", {}), ["desk"])
      assert.deepStrictEqual(yield* started("refunds"), ["refunds"])
    })
  )

  it.effect("begins with the called agent if the named one is hidden from its module", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId })
      yield* said("billing")
      const tools = [Tool.annotate(Handoff.to(billing), { owner: "bank" })]
      const of = (module: string) => Agent.make("desk", { system: "desk", module, tools })
      assert.deepStrictEqual((yield* asking("hello", { startWith: "last" }, of("bank"))).asked, ["billing"])
      assert.deepStrictEqual((yield* asking("hello", { startWith: "last" }, of("shop"))).asked, ["desk"])
    }).pipe(Effect.provide(given({ modules: ModuleGraph.layer({ modules: { shop: {}, bank: {} } }) })))
  )

  it.effect("begins with the called agent if agents in a cycle do not know the named one", () =>
    Effect.gen(function* () {
      const ping: Self = Agent.make("ping", { system: "ping", tools: [Handoff.lazy("pong", (): Self => pong)] })
      const pong: Self = Agent.make("pong", {
        system: "pong",
        tools: [Handoff.to(ping), Handoff.lazy("pong", () => pong)]
      })
      const sessions = yield* SessionManager.SessionManager
      yield* sessions.create({ id, userId })
      yield* said("nobody")
      assert.deepStrictEqual((yield* asking("hello", {}, ping)).asked, ["ping"])
      yield* said("pong")
      assert.deepStrictEqual((yield* asking("hello", {}, ping)).asked, ["pong"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("of another user is not found, and no model is called", () =>
    Effect.gen(function* () {
      yield* ask("desk: to billing")
      const before = yield* count
      for (const over of [{ userId: "bob" }, { userId: undefined }]) {
        assert.strictEqual((yield* Effect.flip(ask("and now?", over)))._tag, "SessionNotFoundError")
      }
      assert.deepStrictEqual(yield* askedSince(before), [])
    }).pipe(Effect.provide(layer))
  )
})
