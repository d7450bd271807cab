import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import type * as ClusterSessions from "../../src/cluster/entity/ClusterSessions.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as TcpProxy from "../support/servers/TcpProxy.js"
import * as TestServers from "../support/TestServers.js"
import * as ClusterProcesses from "./ClusterProcesses.js"
import * as SessionProcesses from "./SessionProcesses.js"

const server = await PostgresServer.database()

TestServers.suite("postgres", server, ({ empty, url }) => {
  const runner = (options: Partial<DurableCluster.Options>, sessions?: ClusterSessions.Options) =>
    Effect.flatMap(ClusterProcesses.freePort, (port) =>
      SessionProcesses.start({
        client: Layer.orDie(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 6 })),
        ports: DurableCluster.layer({ host: "127.0.0.1", port, ...ClusterProcesses.settings, ...options }),
        options: sessions
      })
    )

  it.scopedLive(
    "a process with more weight has more of the shards",
    () =>
      Effect.gen(function* () {
        yield* Effect.orDie(empty)
        const shards = 120
        const light = yield* runner({ weight: 1, shards })
        const heavy = yield* runner({ weight: 9, shards })
        const [row] = yield* ClusterProcesses.until(
          url,
          `SELECT min(n)::int AS least, max(n)::int AS most FROM (
            SELECT count(*) AS n FROM lex_cluster_locks GROUP BY address) s HAVING sum(n) = ${shards} AND count(*) = 2`
        )
        assert.isAbove(Number(row?.["most"]), 3 * Number(row?.["least"]))
        assert.isAbove(yield* heavy.shards(1), yield* light.shards(1))
      }),
    60_000
  )

  it.scopedLive(
    "a process listens elsewhere than it is reached, and is waited for no longer than patience says",
    () =>
      Effect.gen(function* () {
        yield* Effect.orDie(empty)
        const listen = { host: "127.0.0.1", port: yield* ClusterProcesses.freePort }
        const proxy = yield* TcpProxy.make(listen)
        const behind = yield* runner({ port: proxy.port, listen })
        const other = yield* runner({}, { patience: "1 second" })
        yield* ClusterProcesses.until(
          url,
          "SELECT 1 FROM lex_cluster_locks HAVING count(*) = 24 AND count(DISTINCT address) = 2"
        )
        const session = yield* SessionProcesses.sessionIn(behind, "m")
        yield* proxy.cut
        assert.deepStrictEqual(yield* other.sessions.status(session), { waiting: 0 })
        assert.isAbove(proxy.open(), 0)

        // A session whose process does not answer keeps its callers waiting for no longer than their patience.
        yield* proxy.stall
        const unanswered = yield* Effect.flip(other.sessions.status(session))
        assert.deepInclude(unanswered, { _tag: "AgentEntityError", reason: "unreachable" })
        yield* proxy.resume
        yield* SessionProcesses.until(
          Effect.map(Effect.option(other.sessions.status(session)), (found) => Option.isSome(found))
        )
      }),
    60_000
  )
})

SqlBackends.suite("drain of a process of a cluster", (backend) => {
  it.scopedLive("lets a step end within its time, and has it done again elsewhere after it", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      for (const drain of ["10 seconds", "20 millis"] as const) {
        let calls = 0
        const isAsked = yield* Deferred.make<void>()
        const goesOn = yield* Deferred.make<void>()
        const model = SessionProcesses.model(() =>
          Effect.suspend(() => {
            calls++
            return Effect.as(Effect.zipRight(Deferred.succeed(isAsked, undefined), Deferred.await(goesOn)), "hello")
          })
        )
        const agents = [Agent.make("helper", { limits: { llmTimeout: "1 day" } })]
        const ports = SessionProcesses.alone({ drain })
        const first = yield* SessionProcesses.start({ client: backend.layer, model, agents, ports })
        yield* first.within(Runs.start({ agent: "helper", input: "hi", runId: "run" }))
        yield* Deferred.await(isAsked)
        const ending = yield* Effect.fork(first.end)
        yield* Effect.sleep("300 millis")
        yield* Deferred.succeed(goesOn, undefined)
        yield* Fiber.join(ending)
        const second = yield* SessionProcesses.start({ client: backend.kept, model, agents, ports })
        assert.strictEqual((yield* second.within(Runs.await("run"))).message, "hello")
        yield* second.end
        asked.push(calls)
      }
      assert.deepStrictEqual(asked, [1, 2])
    })
  )
})
