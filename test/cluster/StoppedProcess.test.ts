/** A process that stops in the middle of a transaction, as a frozen one does. */

import { assert, it } from "@effect/vitest"
import * as Activity from "@effect/workflow/Activity"
import * as Workflow from "@effect/workflow/Workflow"
import { WorkflowEngine } from "@effect/workflow/WorkflowEngine"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SessionFence from "../../src/cluster/entity/SessionFence.js"
import { RunId, SessionId, UserId } from "../../src/domain/Ids.js"
import { BeforeCommit } from "../../src/durable/engine/BeforeCommit.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"
import * as SessionProcesses from "./SessionProcesses.js"

const database = await PostgresServer.database()

/** Work in a transaction that waits until the test goes on. */
const stop = Effect.gen(function* () {
  const stopped = yield* Deferred.make<void>()
  const gate = yield* Deferred.make<void>()
  return {
    isReached: Deferred.await(stopped),
    open: Deferred.succeed(gate, undefined),
    effect: Effect.zipRight(Deferred.succeed(stopped, undefined), Deferred.await(gate))
  }
})

const ports = SessionProcesses.alone({ lockExpiration: "2 seconds" })

TestServers.suite("postgres", database, ({ layer, url }) => {
  const process = SessionProcesses.start({ client: Layer.orDie(layer), ports })

  // Without a bound of the cluster, Postgres would wait for a minute.
  it.scopedLive(
    "keeps a shard for no longer than a lock of the cluster",
    () =>
      Effect.gen(function* () {
        const { within } = yield* process
        const { effect, isReached, open } = yield* stop
        const [lock] = yield* ClusterProcesses.until(url, "SELECT shard_id FROM lex_cluster_locks LIMIT 1")
        const shard = String(lock?.["shard_id"])
        const session = { sessionId: SessionId.make("s"), userId: UserId.make("ann") }
        const begin = Effect.flatMap(SessionFence.SessionFence, (fence) =>
          fence.begin({ shard, session, runId: RunId.make("r") }, effect)
        )
        const stopping = yield* Effect.fork(within(Effect.exit(begin)))
        yield* isReached
        // As another process does that takes the shard.
        const taken = yield* ClusterProcesses.query(
          url,
          `UPDATE lex_cluster_locks SET address = 'another' WHERE shard_id = '${shard}' RETURNING shard_id`
        )
        assert.strictEqual(taken.length, 1)
        yield* open
        assert.strictEqual((yield* Fiber.join(stopping))._tag, "Failure")
      }),
    40_000
  )

  it.scopedLive(
    "keeps a run for no longer than a lock of the cluster",
    () =>
      Effect.gen(function* () {
        const { within } = yield* process
        const { effect, isReached, open } = yield* stop
        const step = Activity.make({ name: "step", execute: Effect.void })
        const workflow = Workflow.make({
          name: "stopping",
          payload: { id: Schema.String },
          idempotencyKey: ({ id }) => id
        })
        const work = Effect.gen(function* () {
          const engine = yield* WorkflowEngine
          yield* engine.register(workflow, () => Effect.provideService(step, BeforeCommit, () => effect))
          yield* workflow.execute({ id: "a" }, { discard: true })
          yield* isReached
          const taken = yield* ClusterProcesses.query(
            url,
            "UPDATE lex_workflow_executions SET runner_id = 'another' WHERE runner_id IS NOT NULL RETURNING 1"
          )
          assert.strictEqual(taken.length, 1)
          yield* open
          // What the process has committed meanwhile: nothing.
          const kept = yield* ClusterProcesses.query(url, "SELECT name FROM lex_workflow_activities")
          assert.deepStrictEqual(kept, [])
        })
        yield* within(Effect.scoped(work))
      }),
    40_000
  )
})
