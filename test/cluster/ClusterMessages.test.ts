import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import * as WorkflowJournal from "../../src/durable/engine/WorkflowJournal.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { ann, say, start } from "../durable/DurableProcesses.js"
import * as SetClock from "../support/SetClock.js"
import * as SqlBackends from "../support/SqlBackends.js"

const model: LlmClient.Service = { provider: "test", model: "m", complete: () => Effect.succeed(say("hello")) }

SqlBackends.suite("messages of a cluster", (backend) => {
  it.scopedLive("are removed with the execution of their run", () =>
    Effect.gen(function* () {
      const ports = DurableCluster.layerSingle({ shards: 2, poll: "20 millis", drain: "50 millis" })
      const process = yield* start(backend.layer, { agents: [Agent.make("a")] }, model, undefined, ports)
      yield* process.within(
        Effect.gen(function* () {
          for (const runId of ["one", "two"]) {
            yield* Runs.start({ agent: "a", input: `private ${runId}`, runId, ...ann })
            yield* Runs.await(runId, ann)
          }
        })
      )
      const kept = Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const messages = yield* sql<{ payload: string }>`SELECT payload FROM lex_cluster_messages`
        const replies = yield* sql`SELECT 1 AS one FROM lex_cluster_replies`
        return [messages.map(({ payload }) => /private \w+/.exec(payload)?.[0]).sort(), replies.length] as const
      }).pipe(Effect.provide(backend.kept))
      // The record says that a run has ended a moment before its message is answered.
      yield* Effect.repeat(Effect.zipLeft(kept, Effect.sleep("10 millis")), { until: ([, replies]) => replies === 2 })
      assert.deepStrictEqual(yield* kept, [["private one", "private two"], 2])
      const journal = yield* process.within(WorkflowJournal.WorkflowJournal as never)
      const execution = yield* AgentWorkflow.executionOf("one")
      yield* (journal as WorkflowJournal.Service).erase([execution])
      assert.deepStrictEqual(yield* kept, [["private two"], 1])
      yield* process.end
    })
  )

  it.scopedLive("are removed when their runs have been kept for long enough", () =>
    Effect.gen(function* () {
      const clock = SetClock.hurried(yield* Effect.clock, "1 hour", "20 millis")
      const counts: Array<number> = []
      for (const retain of ["1 millis", "1 day"] as const) {
        const ports = DurableCluster.layerSingle({ shards: 2, poll: "20 millis", drain: "50 millis", retain })
        const process = yield* Effect.withClock(
          start(backend.layer, { agents: [Agent.make("a")] }, model, undefined, ports),
          clock
        )
        yield* process.within(
          Effect.zipRight(Runs.start({ agent: "a", input: "hello", runId: "run", ...ann }), Runs.await("run", ann))
        )
        const executions = Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.map(sql`SELECT 1 AS one FROM lex_workflow_executions`, (rows) => rows.length)
        ).pipe(Effect.provide(backend.kept))
        // Many hours of the hurried clock.
        counts.push(
          yield* Effect.repeat(Effect.delay(executions, "20 millis"), { until: (left) => left === 0, times: 50 })
        )
        yield* process.end
      }
      assert.deepStrictEqual(counts, [0, 1])
    })
  )
})
