import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Ids, Tool } from "effect-lexigram"
import { Runs } from "effect-lexigram/agent"
import { Application } from "effect-lexigram/application"
import { Lexigram } from "effect-lexigram/persistence"
import { SessionManager } from "effect-lexigram/session"
import { TestModel } from "effect-lexigram/testing"
import { ApprovalGate, PendingApprovals } from "effect-lexigram/tool"

const refund = Tool.make("refund", {
  description: "Refunds an amount",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount}`)
})

const agents = [Agent.make("clerk", { system: "You help.", tools: [refund] })]
const userId = Ids.UserId.make("ann")

const ask = Effect.gen(function* () {
  const { runId } = yield* Runs.start({ agent: "clerk", input: "Refund me", userId, sessionId: "talk" })
  const event = yield* Stream.runHead(
    Stream.filter(Runs.events(runId, { userId }), ({ _tag }) => _tag === "ApprovalRequested")
  )
  assert.strictEqual(event._tag, "Some")
  return runId
})

const approve = Effect.gen(function* () {
  const { list } = yield* PendingApprovals.PendingApprovals
  // In another process the run asks again once that process goes on with it.
  const [waiting] = yield* Effect.repeat(Effect.delay(list({ userId }), "20 millis"), {
    until: (all) => all.length > 0
  })
  yield* Runs.answer(waiting?.request.id ?? "", ApprovalGate.approve({ params: { amount: 5 } }), { userId })
})

const turns = Effect.flatMap(SessionManager.SessionManager, (sessions) =>
  Effect.map(sessions.turns(Ids.SessionId.make("talk"), { last: 10, userId }), (all) =>
    all.map(({ content }) => content)
  )
)

describe("Application", () => {
  it.scopedLive("runs agents with approvals and sessions in memory", () =>
    Effect.gen(function* () {
      const runId = yield* ask
      yield* approve
      const { message } = yield* Runs.await(runId, { userId })
      assert.strictEqual(message, "done")
      assert.deepStrictEqual(yield* turns, ["Refund me", "done"])
      const { capabilities } = yield* Runs.Runs
      assert.isFalse(capabilities.resume)
    }).pipe(
      Effect.provide(
        Layer.provide(
          Application.layerMemory(agents),
          TestModel.layer([
            { calls: [{ name: "refund", params: { amount: 500 } }] },
            { text: "done", expect: ({ messages }) => JSON.stringify(messages.at(-1)).includes("refunded 5") }
          ])
        )
      )
    )
  )

  it.scopedLive("goes on with a run of a process that ended, on SQLite", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* fs.makeTempDirectoryScoped()}/agents.db`
      const first = Application.layerSqlite(agents, { file }).pipe(
        Layer.provide(TestModel.layer([{ calls: [{ name: "refund", params: { amount: 500 } }] }]))
      )
      const runId = yield* Effect.scoped(Effect.provide(ask, first))
      const second = Application.layerSqlite(agents, { file }).pipe(Layer.provide(TestModel.layer(["done"])))
      yield* Effect.gen(function* () {
        const { backend } = yield* Lexigram.Lexigram
        assert.strictEqual(backend, "sqlite")
        yield* approve
        const { message, toolCalls } = yield* Runs.await(runId, { userId })
        assert.strictEqual(message, "done")
        assert.strictEqual(toolCalls.length, 1)
        assert.deepStrictEqual(yield* turns, ["Refund me", "done"])
      }).pipe(Effect.provide(second), Effect.scoped)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
