/**
 * Health of a process of a cluster, and the pages by which an orchestrator asks for it.
 *
 * @since 0.1.0
 */

import * as ShardId from "@effect/cluster/ShardId"
import type { Sharding } from "@effect/cluster/Sharding"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Health from "../observability/Health.js"
import type { Database } from "../persistence/engine/Database.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The parts `database` and `shards`. `shards` is starting while the process has none, and unhealthy once it takes no
   * more runs because it ends.
   */
  readonly report: Effect.Effect<Health.Report>
  /** How many shards the process has. */
  readonly shards: Effect.Effect<number>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ClusterHealth extends Context.Tag("effect-lexigram/cluster/ClusterHealth")<ClusterHealth, Service>() {}

/**
 * @category constructors
 */
export const make = (database: Database, sharding: Sharding["Type"], total: number): Service => {
  const shards = Effect.sync(() => {
    let held = 0
    for (let number = 1; number <= total; number++) if (sharding.hasShardId(ShardId.make("default", number))) held++
    return held
  })
  const state: Effect.Effect<Health.State> = Effect.flatMap(sharding.isShutdown, (isShutdown) =>
    isShutdown
      ? Effect.succeed({ status: "unhealthy", message: "The process takes no more runs: it ends" })
      : Effect.map(
          shards,
          (held): Health.State =>
            held === 0 ? { status: "starting", message: "The process has no shards" } : { status: "healthy" }
        )
  )
  return {
    shards,
    report: Health.sum([
      { name: "database", check: Effect.asVoid(database.first("SELECT 1 AS one")) },
      { name: "shards", check: state }
    ])
  }
}

/**
 * `/healthz` answers 200 as long as the process answers: a process whose database is away need not be started again.
 * `/readyz` answers 200 if the process is healthy, and 503 otherwise, with the states of its parts as JSON and no
 * messages.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import * as HttpServer from "@effect/platform/HttpServer"
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import { ClusterHealth } from "effect-lexigram/cluster"
 * import * as Layer from "effect/Layer"
 *
 * // Requires ClusterHealth, which DurableCluster.layer provides.
 * const pages = HttpServer.serve(ClusterHealth.router).pipe(
 *   Layer.provide(NodeHttpServer.layer(createServer, { port: 8080 }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category routers
 */
export const router: HttpRouter.HttpRouter<never, ClusterHealth> = HttpRouter.empty.pipe(
  HttpRouter.get("/healthz", HttpServerResponse.text("ok")),
  HttpRouter.get(
    "/readyz",
    Effect.flatMap(ClusterHealth, ({ report }) =>
      Effect.map(report, ({ parts, status }) =>
        HttpServerResponse.unsafeJson(
          { status, parts: Object.fromEntries(parts.map((part) => [part.name, part.status])) },
          { status: status === "healthy" || status === "degraded" ? 200 : 503 }
        )
      )
    )
  )
)
