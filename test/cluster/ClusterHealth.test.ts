import * as HttpApp from "@effect/platform/HttpApp"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as ClusterHealth from "../../src/cluster/ClusterHealth.js"
import * as DurableCluster from "../../src/cluster/DurableCluster.js"
import * as SqlBackends from "../support/SqlBackends.js"

SqlBackends.suite("health of a process of a cluster", (backend) => {
  it.scopedLive("is ready while it has shards, and lives while it ends", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const layer = DurableCluster.layerSingle({ shards: 3, poll: "20 millis" })
      const context = yield* Layer.buildWithScope(Layer.provide(layer, backend.layer), scope)
      const health = Context.get(context, ClusterHealth.ClusterHealth)
      const handler = HttpApp.toWebHandler(
        Effect.provideService(ClusterHealth.router, ClusterHealth.ClusterHealth, health)
      )
      const ask = (path: string) =>
        Effect.promise(async () => {
          const answer = await handler(new Request(`http://localhost${path}`))
          return [answer.status, await answer.text()] as const
        })
      yield* Effect.repeat(Effect.zipLeft(health.shards, Effect.sleep("10 millis")), { until: (held) => held === 3 })
      const parts = { database: "healthy", shards: "healthy" }
      const [status, body] = yield* ask("/readyz")
      assert.deepStrictEqual([status, JSON.parse(body)], [200, { status: "healthy", parts }])
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* ask("/readyz"))[0], 503)
      assert.deepStrictEqual(yield* ask("/healthz"), [200, "ok"])
    })
  )

  it.effect("refuses settings out of bounds", () =>
    Effect.gen(function* () {
      const failure = (options: DurableCluster.Settings) =>
        Effect.map(
          Effect.flip(Effect.scoped(Layer.build(DurableCluster.layerSingle(options)))),
          ({ message }) => message
        )
      for (const [options, name] of [
        [{ lockExpiration: "1 second" }, "lockExpiration"],
        [{ poll: 0 }, "poll"],
        [{ drain: Duration.infinity }, "drain"],
        [{ shards: 0 }, "shards"],
        [{ shards: 1.5 }, "shards"]
      ] as const) {
        assert.include(yield* failure(options), name)
      }
      const server = (options: Partial<DurableCluster.Options>) =>
        Effect.map(
          Effect.flip(Effect.scoped(Layer.build(DurableCluster.layer({ host: "127.0.0.1", port: 1, ...options })))),
          ({ message }) => message
        )
      assert.include(yield* server({ port: 0 }), "port")
      assert.include(yield* server({ host: "" }), "host")
      assert.include(yield* server({ weight: 0 }), "weight")
      assert.include(yield* server({ listen: { host: "::", port: 70_000 } }), "port")
    }).pipe(Effect.provide(backend.layer))
  )
})
