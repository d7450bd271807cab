import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Remembering from "../../../src/agent/definition/Remembering.js"
import { EntryId } from "../../../src/domain/Ids.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as ImportanceJudge from "../../../src/memory/semantic/ImportanceJudge.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Runs from "../../support/Runs.js"

const entry = (content: string, role: MemoryEntry.MemoryEntry["role"] = "user") =>
  MemoryEntry.make({ id: EntryId.make("e"), ownerId: "ada", content, role, timestamp: 0 })

const rated = (content: string, role?: MemoryEntry.MemoryEntry["role"]) =>
  Effect.flatMap(LlmClient.LlmClient, (client) =>
    Effect.map(ImportanceJudge.heuristic.judge([entry(content, role)], client), ([score]) => score ?? Number.NaN)
  )

describe("ImportanceJudge.heuristic", () => {
  const model = TestModel.layer([])
  const ratings: ReadonlyArray<readonly [text: string, importance: number]> = [
    ["", 0.05],
    ["thanks!", 0.05],
    ["ok, thank you very much", 0.05],
    ["Hello there", 0.05],
    ["go on", 0.05],
    ["please make the list a bit shorter", 0.35],
    ["that costs too much money", 0.35],
    ["what should we cook tonight?", 0.3],
    ["When does Anna Smith arrive on 5 May 2024?", 0.3],
    ["do you remember that I asked for tea?", 0.3],
    ["the invoice has 40 lines", 0.6],
    ["about 40 of them, roughly", 0.4],
    ["the meeting is on friday at noon", 0.65],
    ["better on friday then", 0.45],
    ["I prefer short answers", 0.55],
    ["I live in Ghent", 0.65],
    ["my deadline is 2024-05-03", 0.7],
    ["Anna Smith is allergic to nuts", 0.65],
    ["Please remember that the door code changed", 0.9],
    ["don't forget my appointment", 0.9],
    ["keep in mind we only ship on tuesdays", 0.9]
  ]
  for (const [text, importance] of ratings) {
    it.effect(`gives ${importance} to "${text}"`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* rated(text), importance)
      }).pipe(Effect.provide(model))
    )
  }

  it.effect("counts what models and tools said less", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        [yield* rated("I live in Ghent", "assistant"), yield* rated("I live in Ghent", "tool")],
        [0.52, 0.33]
      )
    }).pipe(Effect.provide(model))
  )

  it.effect("reads a bounded part of a huge text", () =>
    Effect.gen(function* () {
      for (const part of ["ok ", "remember ", "9", "don't ", "hmm", "A"]) {
        const score = yield* rated(part.repeat(1_000_000 / part.length))
        assert.isTrue(score >= 0 && score <= 1)
      }
    }).pipe(Effect.provide(model))
  )
})

describe("ImportanceStage", () => {
  const memory = DefaultMemory.layer({ config: { consolidation: { enabled: false } } })
  const given = (script: Parameters<typeof TestModel.layer>[0]) =>
    Layer.merge(
      Agents.layerWith({ memory }).pipe(Layer.provideMerge(memory), Layer.provideMerge(TestModel.layer(script))),
      Logger.remove(Logger.defaultLogger)
    )
  const agentOf = (importance: ImportanceJudge.ImportanceJudge) =>
    Agent.make("clerk").pipe(Agent.withMemory(Remembering.make({ importance })))
  const saved = Effect.flatMap(MemoryStore.MemoryStore, (store) =>
    Effect.map(store.getRecent({ ownerId: "ada", n: 10 }), (entries) =>
      entries.map(({ importance, role }) => [role, importance] as const).toReversed()
    )
  )
  const ask = (agent: Agent.Agent) => AgentExecutor.stream(agent, { userId: "ada", input: "I live in Ghent" })
  const byRules = [
    ["user", 0.65],
    ["assistant", 0.28]
  ]

  it.effect("saves the turns of a run with the importance that rules give", () =>
    Effect.gen(function* () {
      const { events } = yield* Runs.record(ask(agentOf(ImportanceJudge.heuristic)))
      assert.deepStrictEqual(yield* saved, byRules as never)
      assert.deepStrictEqual(Runs.of(events, "Degraded"), [])
    }).pipe(Effect.provide(given(["it is a lovely place"])))
  )

  it.effect("asks the model of the run, and shows it the turns as data", () =>
    Effect.gen(function* () {
      yield* Runs.record(ask(agentOf(ImportanceJudge.model())))
      assert.deepStrictEqual(yield* saved, [
        ["user", 0.8],
        ["assistant", 0]
      ] as never)
      const request = (yield* TestModel.requests)[1]
      assert.notInclude(JSON.stringify(request?.messages.filter(({ role }) => role === "system")), "Ghent")
      assert.include(JSON.stringify(request?.messages), "Ghent")
    }).pipe(Effect.provide(given(["it is a lovely place", '{"scores":[8,-3]}'])))
  )

  for (const [what, answer] of [
    ["cannot be read", "important"],
    ["has a wrong number of scores", '{"scores":[8]}']
  ] as const) {
    it.effect(`falls back to the rules, with a Degraded event, if the answer ${what}`, () =>
      Effect.gen(function* () {
        const { events } = yield* Runs.record(ask(agentOf(ImportanceJudge.model())))
        assert.deepInclude(Runs.of(events, "Degraded")[0], { stage: "memory importance" })
        assert.deepStrictEqual(yield* saved, byRules as never)
      }).pipe(Effect.provide(given(["it is a lovely place", answer])))
    )
  }

  it.effect("stays within the limits of the run", () =>
    Effect.gen(function* () {
      const limited = agentOf(ImportanceJudge.model()).pipe(Agent.withLimits({ maxModelCalls: 1 }))
      const { events } = yield* Runs.record(ask(limited))
      assert.lengthOf(yield* TestModel.requests, 1)
      assert.deepInclude(Runs.of(events, "Degraded")[0], { stage: "memory importance" })
      assert.lengthOf(Runs.of(events, "Finished"), 1)
      assert.deepStrictEqual(yield* saved, byRules as never)
    }).pipe(Effect.provide(given(["it is a lovely place"])))
  )
})
