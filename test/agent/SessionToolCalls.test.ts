import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import { SessionId } from "../../src/domain/Ids.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import { LlmInvalidRequestError } from "../../src/llm/model/LlmError.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultHistoryCompactor from "../../src/memory/conversation/DefaultHistoryCompactor.js"
import * as CompactedSessionHistory from "../../src/session/history/CompactedSessionHistory.js"
import * as PrunedSessionHistory from "../../src/session/history/PrunedSessionHistory.js"
import * as RecencyContextPruner from "../../src/session/history/RecencyContextPruner.js"
import * as SessionHistory from "../../src/session/history/SessionHistory.js"
import * as WindowSessionHistory from "../../src/session/history/WindowSessionHistory.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as PlanAndSolve from "../../src/strategy/PlanAndSolve.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

const look = Tool.make("look.up", {
  description: "Looks something up",
  parameters: { key: Schema.String, pin: Schema.optional(Schema.String) },
  secretParams: ["pin"],
  handler: ({ key }) => (key === "none" ? Effect.fail("not there") : Effect.succeed(`found ${key}`))
})

const agent = Agent.make("a", { tools: [look] })
const ask = (input: string) => ({ input, sessionId: "s" })

const call = (key: string, params: object = {}): TestModel.Call => ({ name: "look_up", params: { key, ...params } })

/** The messages of a request, without its system prompt, as lines. */
const lines = (messages: ReadonlyArray<any>): ReadonlyArray<string> =>
  messages
    .filter(({ role }) => role !== "system")
    .map(({ content, role }) =>
      typeof content === "string"
        ? `${role}: ${content}`
        : `${role}: ${content
            .map((part: any) =>
              part.type === "tool-call"
                ? `${part.name}#${part.id}${JSON.stringify(part.params)}`
                : part.type === "tool-result"
                  ? `${part.isFailure ? "!" : ""}${part.id}=${part.result}`
                  : part.text
            )
            .join(" ")}`
    )

const last = Effect.map(TestModel.requests, (requests) => lines(requests.at(-1)!.messages))

const layer = (script: Parameters<typeof Runs.layer>[0], options: Parameters<typeof Runs.layer>[1] = {}) =>
  Runs.layer(script, { sessions: Collaborators.sessions().layer, ...options })

const recorded = ["user: one", 'assistant: look_up#t2c0{"key":"x"} look_up#t2c1{"key":"none"}']

describe("tool calls of earlier turns", () => {
  it.effect("are shown to the model with their results", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      yield* AgentExecutor.run(agent, ask("two"))
      const seen = yield* last
      assert.deepStrictEqual(seen.slice(0, 2), recorded)
      assert.match(seen[2]!, /^tool: t2c0=found x !t2c1=Error: .*not there/)
      assert.deepStrictEqual(seen.slice(3), ["assistant: done", "user: two"])
    }).pipe(Effect.provide(layer([{ calls: [call("x"), call("none")] }, "done", "again"])))
  )

  it.effect("become text after their question if the agent lacks the tool or offers none", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      const strategies = [ReAct.make({ format: "text" }), undefined]
      for (const [index, strategy] of strategies.entries()) {
        const tools = strategy === undefined ? [] : [look]
        yield* AgentExecutor.run(Agent.make("b", { tools, ...(strategy === undefined ? {} : { strategy }) }), {
          ...ask(`next ${index}`)
        })
        const [question, answer] = yield* last
        assert.match(
          question!,
          /^user: one\n\nTools that were called then.*\n- look[._]up\(\{"key":"x"\}\) -> found x$/
        )
        assert.strictEqual(answer, "assistant: done")
      }
      yield* AgentExecutor.run(Agent.make("c", { tools: [look], strategy: PlanAndSolve.make() }), ask("plan"))
      const planning = (yield* TestModel.requests).slice(4).filter(({ tools }) => tools === undefined)
      assert.isNotEmpty(planning)
      for (const { messages } of planning) assert.isFalse(messages.some(({ role }) => role === "tool"))
    }).pipe(
      Effect.provide(
        layer([{ calls: [call("x")] }, "done", "FINAL_ANSWER: 0", "1", "Plan:\n1. Think", "thought", "the end"])
      )
    )
  )

  it.effect("become text for a client that refuses them, without further attempts", () => {
    const refuse = new LlmInvalidRequestError({ provider: "test", message: "no tool messages" })
    const script: Parameters<typeof Runs.layer>[0] = ({ messages }, index) =>
      index === 0
        ? { calls: [call("x")] }
        : messages.slice(0, -2).some(({ role }) => role === "tool")
          ? { fail: refuse }
          : "done"
    return Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      assert.strictEqual((yield* AgentExecutor.run(agent, ask("two"))).message, "done")
      assert.lengthOf(yield* TestModel.requests, 4)
      assert.match((yield* last)[0]!, /found x$/)
      yield* AgentExecutor.run(agent, ask("three"))
      assert.lengthOf(yield* TestModel.requests, 5)
    }).pipe(Effect.provide(layer(script)))
  })

  it.effect("show no secret argument", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      yield* AgentExecutor.run(agent, ask("two"))
      const seen = (yield* last).join("\n")
      assert.include(seen, '"pin":"[REDACTED]"')
      assert.notInclude(seen, "1234")
    }).pipe(Effect.provide(layer([{ calls: [call("x", { pin: "1234" })] }, "done", "again"])))
  )

  it.effect("have the arguments that guards left, and none if they blocked the call", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      yield* AgentExecutor.run(agent, ask("two"))
      const seen = (yield* last).join("\n")
      assert.include(seen, 'look_up#t2c0{"key":"fork"}')
      assert.include(seen, "look_up#t2c1{}")
      assert.notInclude(seen, "knife")
      assert.notInclude(seen, "bomb")
    }).pipe(
      Effect.provide(
        layer([{ calls: [call("knife"), call("bomb")] }, "done", "again"], {
          guards: DefaultGuardPipeline.layer({
            guards: [
              Collaborators.guard("no-knives", ["toolInput"], (text) =>
                text.includes("bomb") ? false : text.replace("knife", "fork")
              )
            ]
          })
        })
      )
    )
  )

  it.effect("are omitted by configuration", () =>
    Effect.gen(function* () {
      yield* AgentExecutor.run(agent, ask("one"))
      yield* AgentExecutor.run(agent, ask("two"))
      assert.deepStrictEqual(yield* last, ["user: one", "assistant: done", "user: two"])
    }).pipe(Effect.provide(layer([{ calls: [call("x")] }, "done", "again"], { config: { sessionToolCalls: false } })))
  )
})

const id = SessionId.make("s")

/** A session whose answers hold calls with results of so many characters. */
const filled = (turns: number, chars: number, more = "") =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    yield* sessions.create({ id })
    for (let n = 1; n <= turns; n++) {
      const turn = { timestamp: n, skillResults: [], metadata: {}, tokensUsed: 0, cost: 0 }
      yield* sessions.addTurn(id, { ...turn, id: `u${n}` as never, role: "user", content: `q${more}`, toolCalls: [] })
      yield* sessions.addTurn(id, {
        ...turn,
        id: `a${n}` as never,
        role: "assistant",
        content: `a${more}`,
        toolCalls: [
          { id: "c", name: "look.up", params: { key: n }, result: "river bank ".repeat(chars / 10), isFailure: false },
          { id: "d", name: "look.up", params: {} }
        ]
      })
    }
  })

const idsOf = (messages: ReadonlyArray<any>, type: "tool-call" | "tool-result"): ReadonlyArray<string> =>
  messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.filter((part: any) => part.type === type).map((part: any) => part.id)
  )

const counted = TokenCounter.layerApproximate()
const pruned = PrunedSessionHistory.layer().pipe(Layer.provide(RecencyContextPruner.layer), Layer.provide(counted))

const compacted = (script: TestModel.Script) =>
  CompactedSessionHistory.layer().pipe(
    Layer.provide(DefaultHistoryCompactor.layer()),
    Layer.provide(DefaultModelRouter.layerDefault),
    Layer.provide(counted),
    Layer.provide(TestModel.layer(script))
  )

for (const [name, history] of [
  ["the window", WindowSessionHistory.layer],
  ["the pruned history", pruned],
  ["the compacted history", compacted([])]
] as const) {
  describe(`tool calls in ${name}`, () => {
    const layers = () => Layer.provideMerge(history, Collaborators.sessions().layer).pipe(Layer.provideMerge(counted))

    it.effect("are the newest ones, at most a quarter of the budget, never a result without its call", () =>
      Effect.gen(function* () {
        yield* filled(10, 400)
        const read = yield* SessionHistory.SessionHistory
        const { messages } = yield* read.read({ session: { id }, query: "q", turns: 20, tokenBudget: 2000 })
        const calls = idsOf(messages, "tool-call")
        assert.deepStrictEqual(calls, idsOf(messages, "tool-result"))
        assert.deepStrictEqual(calls, Array.from({ length: 10 }, (_, n) => `t${2 * n + 2}c0`).slice(-calls.length))
        assert.isTrue(calls.length >= 1 && calls.length < 10)
        const isCall = ({ content, role }: { readonly content: unknown; readonly role: string }) =>
          role === "tool" || (role === "assistant" && typeof content !== "string")
        assert.isAtMost(TokenCounter.approximate.countMessages(messages.filter(isCall)), 500)
        const none = yield* read.read({
          session: { id },
          query: "q",
          turns: 20,
          tokenBudget: 2000,
          toolCalls: false
        })
        assert.lengthOf(none.messages, 20)
        assert.lengthOf(messages, 20 + 2 * calls.length)
      }).pipe(Effect.provide(layers()))
    )

    it.effect("are cut if a single result exceeds the limit", () =>
      Effect.gen(function* () {
        yield* filled(2, 100_000)
        const read = yield* SessionHistory.SessionHistory
        const { messages } = yield* read.read({ session: { id }, query: "q", turns: 20, tokenBudget: 2000 })
        assert.isAtLeast(idsOf(messages, "tool-result").length, 1)
        assert.isBelow(JSON.stringify(messages).length, 4 * 2000)
      }).pipe(Effect.provide(layers()))
    )
  })
}

describe("tool calls in a summarized history", () => {
  const layers = Layer.provideMerge(
    compacted(["Long ago something was looked up."]),
    Collaborators.sessions().layer
  ).pipe(Layer.provideMerge(counted))

  it.effect("are those of the visible turns, not of the summary", () =>
    Effect.gen(function* () {
      yield* filled(10, 20, "x".repeat(100))
      const read = yield* SessionHistory.SessionHistory
      const { messages, shown, summarized } = yield* read.read({ session: { id }, query: "q", turns: 6 })
      assert.isAbove(summarized, 0)
      assert.include(JSON.stringify(messages[0]), "Long ago something was looked up.")
      const calls = idsOf(messages, "tool-call")
      assert.deepStrictEqual(calls, idsOf(messages, "tool-result"))
      const answers = Array.from({ length: 10 }, (_, n) => n + 1).filter((n) => shown.has(`a${n}` as never))
      assert.isAbove(answers.length, 0)
      assert.isBelow(answers.length, 10)
      assert.deepStrictEqual(
        calls,
        answers.map((n) => `t${2 * n}c0`)
      )
    }).pipe(Effect.provide(layers))
  )

  it.effect("reach the model in a run, each with its result", () => {
    const sessions = Collaborators.sessions().layer
    return Effect.gen(function* () {
      yield* filled(10, 20, "x".repeat(100))
      yield* AgentExecutor.run(agent, ask("and now?"))
      const { messages } = (yield* TestModel.requests).at(-1)!
      const calls = idsOf(messages, "tool-call")
      assert.isAbove(calls.length, 0)
      assert.deepStrictEqual(calls, idsOf(messages, "tool-result"))
      assert.include(JSON.stringify(messages), "Long ago something was looked up.")
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          Runs.layer(["Long ago something was looked up.", "done"], {
            sessions,
            history: compacted([]),
            config: { sessionTurns: 6 }
          }),
          sessions
        )
      )
    )
  })
})
