import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import { UserId } from "../../src/domain/Ids.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as InMemoryFactStore from "../../src/memory/facts/InMemoryFactStore.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as IndexKey from "../../src/persistence/engine/IndexKey.js"
import * as OwnedNames from "../../src/persistence/OwnedNames.js"
import * as OwnerData from "../../src/persistence/OwnerData.js"
import * as SqlOwnerData from "../../src/persistence/SqlOwnerData.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as SqlBackends from "../support/SqlBackends.js"
import { asked, call, say, start, untilAsleep } from "./DurableProcesses.js"

const ids = ["a", "run 7", "r".repeat(256), "ü\u0000".repeat(100)]

it.effect("finds the execution of a run by the key of the run", () =>
  Effect.forEach(ids, (id) =>
    Effect.map(AgentWorkflow.executionOf(id), (execution) =>
      assert.strictEqual(OwnedNames.executionOf(IndexKey.of(id)), execution)
    )
  )
)

const tables = ["executions", "activities", "deferreds", "clocks"].map((name) => `lex_workflow_${name}`)

SqlBackends.suite("the executions of durable runs", (backend) => {
  const erase = Effect.flatMap(OwnerData.OwnerData, (data) => data.erase(UserId.make("ann"))).pipe(
    Effect.provide(
      SqlOwnerData.layer.pipe(
        Layer.provide([InMemoryMemoryStore.layer(), InMemoryFactStore.layer(), InMemorySessionStore.layer]),
        Layer.provide(backend.kept)
      )
    )
  )
  /** The executions that rows are of, by table. */
  const kept = Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(tables, (table) =>
      Effect.map(
        sql.unsafe<{ readonly execution_id: string }>(`SELECT DISTINCT execution_id FROM ${table}`),
        (rows) => [table, rows.map(({ execution_id }) => execution_id).sort()] as const
      )
    )
  ).pipe(Effect.provide(backend.kept), Effect.map(Object.fromEntries<ReadonlyArray<string>>))

  it.scopedLive("are erased with their owner: those that ended, that sleep, and that go on", () =>
    Effect.gen(function* () {
      const working = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const ends: Array<string> = []
      const work = Tool.make("work", {
        description: "Works",
        idempotent: true,
        handler: () =>
          Effect.zipRight(Deferred.succeed(working, undefined), Deferred.await(gate)).pipe(
            Effect.as("worked"),
            Effect.onExit(({ _tag }) => Effect.sync(() => ends.push(_tag)))
          )
      })
      const danger = Tool.make("danger", {
        description: "Is dangerous",
        requiresApproval: true,
        idempotent: true,
        handler: () => Effect.succeed("done")
      })
      let called = 0
      const model: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: ({ messages }) =>
          Effect.sync(() => {
            called++
            const input = messages.find(({ role }) => role === "user")?.content
            if (messages.some(({ role }) => role === "tool")) return say("over")
            return input === "work" || input === "danger" ? call([input, {}]) : say("hello")
          })
      }
      const process = yield* start(backend.layer, { agents: [Agent.make("a", { tools: [work, danger] })] }, model)
      const begin = (input: string, userId: string, runId: string) => Runs.start({ agent: "a", input, userId, runId })
      const bobs = yield* AgentWorkflow.executionOf("bobs")
      yield* process.within(
        Effect.gen(function* () {
          yield* begin("hello", "ann", "ended")
          yield* Runs.await("ended", { userId: "ann" })
          yield* begin("danger", "ann", "asleep")
          yield* Effect.zipRight(asked, untilAsleep("asleep"))
          yield* begin("hello", "bob", "bobs")
          yield* Runs.await("bobs", { userId: "bob" })
          yield* begin("work", "ann", "at work")
          yield* Deferred.await(working)
        })
      )
      const before = yield* kept
      assert.lengthOf(before["lex_workflow_executions"] ?? [], 4)
      const counts = yield* erase
      assert.isAbove(counts["runs"] ?? 0, 3)
      const only = (found: Record<string, ReadonlyArray<string>>) =>
        assert.deepStrictEqual(
          Object.entries(found).filter(([, executions]) => executions.length > 0),
          [
            ["lex_workflow_executions", [bobs]],
            ["lex_workflow_activities", [bobs]]
          ]
        )
      only(yield* kept)
      const asks = called
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.repeat(
        Effect.delay(
          Effect.sync(() => ends.length),
          "20 millis"
        ),
        { until: (length) => length > 0, times: 200 }
      )
      yield* Effect.sleep("300 millis")
      // A process that looks before the handler has ended interrupts it.
      assert.deepStrictEqual([ends.length, called], [1, asks])
      only(yield* kept)
      for (const runId of ["ended", "asleep", "at work"]) {
        assert.isTrue(Option.isNone(yield* process.within(Runs.poll(runId, { userId: "ann" }))), runId)
      }
      yield* process.end
      only(yield* kept)
    })
  )
})
