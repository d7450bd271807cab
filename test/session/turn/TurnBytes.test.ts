import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { RunId, SessionId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as SessionManager from "../../../src/session/manager/SessionManager.js"
import * as SessionMemory from "../../../src/session/manager/SessionMemory.js"
import * as Sessions from "../../../src/session/Sessions.js"
import type { NewTurn } from "../../../src/session/turn/Session.js"
import * as TurnBytes from "../../../src/session/turn/TurnBytes.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import { layer, sid, turn, words } from "../../support/ManagedSessions.js"
import { fresh } from "../../support/SessionTurns.js"

const id = sid("s")
const manager = SessionManager.SessionManager
const large = "x".repeat(60 * 1024 * 1024)
const call = (result: unknown) => ({ id: "1", name: "look", params: {}, result, isFailure: false })

describe("the bytes of a turn", () => {
  it.effect("are bounded by default for added turns and exchanges", () =>
    Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id })
      const given: ReadonlyArray<Partial<NewTurn>> = [
        { content: large },
        { toolCalls: [call(large)] },
        { toolCalls: [call({ [large]: 1 })] },
        { skillResults: [{ a: [large] }] },
        { metadata: { a: { b: large } } }
      ]
      for (const fields of given) {
        const one = turn(1, fields)
        for (const effect of [
          sessions.addTurn(id, one),
          sessions.beginExchange(id, { runId: RunId.make("r"), turns: [one] }),
          sessions.endExchange(id, { runId: RunId.make("r"), turns: [one] })
        ]) {
          const error = yield* Effect.flip(effect as Effect.Effect<unknown, { readonly _tag: string }>)
          assert.strictEqual(error._tag, "SessionInputError")
          assert.include(String(error), "4194304")
        }
      }
      assert.deepStrictEqual(yield* words(id), [])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("are bounded as configured, in UTF-8", () =>
    Effect.gen(function* () {
      const sessions = yield* manager
      yield* sessions.create({ id })
      const of = (content: string) => turn(content.length, { content, metadata: {} })
      const most = 1000 - TurnBytes.measure(of(""))
      yield* sessions.addTurn(id, of("x".repeat(most)))
      yield* sessions.addTurn(id, of("猫".repeat(Math.floor(most / 3))))
      assert.strictEqual((yield* Effect.flip(sessions.addTurn(id, of("x".repeat(most + 1)))))._tag, "SessionInputError")
      assert.strictEqual(
        (yield* Effect.flip(sessions.addTurn(id, of("猫".repeat(Math.ceil((most + 1) / 3))))))._tag,
        "SessionInputError"
      )
    }).pipe(Effect.provide(layer({ maxTurnBytes: 1000 })))
  )

  it("fit after a cut, with the newest calls and the beginning of the text", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.string({ unit: "grapheme", maxLength: 400 }),
        FastCheck.array(FastCheck.string({ unit: "grapheme", maxLength: 200 }), { maxLength: 5 }),
        FastCheck.integer({ min: 150, max: 800 }),
        (content, results, most) => {
          const given = fresh("t", { content, toolCalls: results.map(call) })
          const cut = TurnBytes.truncate(given, most)
          if (TurnBytes.measure(given) <= most) return cut === given
          const text = cut.content.slice(0, cut.content.lastIndexOf("\n[Cut: "))
          return (
            TurnBytes.measure(cut) <= most &&
            content.startsWith(text) &&
            cut.toolCalls.every((one, index) => one === given.toolCalls.at(index - cut.toolCalls.length))
          )
        }
      )
    )
  })
})

describe("a turn that is too large for memory", () => {
  it("is remembered by its beginning, with a note and without half a character", () => {
    for (const content of [
      "x".repeat(2_000_000),
      `${"x".repeat(999_900)}${"😀".repeat(100)}`,
      `y${"😀".repeat(600_000)}`
    ]) {
      const entry = SessionMemory.toEntry(fresh("t", { content }), { ownerId: "ada" })
      assert.isAtMost(entry.content.length, MemoryEntry.maxContent)
      assert.isAbove(entry.content.length, MemoryEntry.maxContent - 2)
      assert.match(entry.content, /\n\[Cut: [^\]]+\]$/)
      assert.isTrue(content.startsWith(entry.content.slice(0, entry.content.lastIndexOf("\n[Cut"))))
      assert.strictEqual(Buffer.from(entry.content).toString(), entry.content)
      const whole = content.slice(0, 999_000)
      assert.strictEqual(SessionMemory.toEntry(fresh("t", { content: whole }), { ownerId: "ada" }).content, whole)
    }
  })

  it("is measured without a stack overflow at any depth", () => {
    let params: unknown = "x"
    for (let n = 0; n < 100_000; n++) params = [params]
    const given = fresh("t", { toolCalls: [{ id: "1", name: "look", params }] })
    assert.isBelow(TurnBytes.measure(given), 10_000)
    assert.strictEqual(TurnBytes.truncate(given, TurnBytes.defaultMaxBytes), given)
  })
})

describe("an answer that is too long for its turn", () => {
  const sessions = Sessions.layer({ cleanup: false, config: { maxTurnBytes: 2000 } })
  const agents = (script: Parameters<typeof TestModel.layer>[0]) =>
    Agents.layerWith({ sessions }).pipe(Layer.provideMerge(sessions), Layer.provideMerge(TestModel.layer(script)))
  const look = Tool.make("look", { description: "Looks", handler: () => Effect.succeed("y".repeat(3000)) })
  const agent = Agent.make("a", { tools: [look] })
  const ask = (input: string) => AgentExecutor.run(agent, { input, sessionId: "s" })

  it.effect("is complete in the response, and stored cut with a note", () =>
    Effect.gen(function* () {
      const answer = `${"long ".repeat(1000)}end`
      const response = yield* ask("Tell me all.")
      assert.strictEqual(response.message, answer)
      assert.deepStrictEqual(response.degraded, [])
      const [question, kept] = yield* (yield* manager).turns(SessionId.make("s"), { last: 10 })
      assert.strictEqual(question?.content, "Tell me all.")
      assert.isTrue(kept?.content.startsWith("long long "))
      assert.match(kept?.content ?? "", /\n\[Cut: this turn had \d+ bytes; 2000 are stored\.\]$/)
      assert.deepStrictEqual(kept?.toolCalls, [])
    }).pipe(Effect.provide(agents([{ calls: [{ name: "look" }] }, `${"long ".repeat(1000)}end`])))
  )

  it.effect("is cut, while a question that is too long fails the run before any model call", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(ask("why ".repeat(1000))))._tag, "SessionInputError")
      assert.strictEqual((yield* TestModel.requests).length, 0)
      assert.isTrue(Option.isSome(yield* (yield* manager).get(SessionId.make("s"))))
    }).pipe(Effect.provide(agents([])))
  )
})
