/**
 * The stores of `@effect/cluster` on the database in context, with tables that one process creates while others wait.
 *
 * @private
 * @since 0.1.0
 */
import type { MessageStorage } from "@effect/cluster/MessageStorage"
import type { RunnerStorage } from "@effect/cluster/RunnerStorage"
import type { ShardingConfig } from "@effect/cluster/ShardingConfig"
import * as Snowflake from "@effect/cluster/Snowflake"
import * as SqlMessageStorage from "@effect/cluster/SqlMessageStorage"
import * as SqlRunnerStorage from "@effect/cluster/SqlRunnerStorage"
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import type { Database } from "../persistence/engine/Database.js"
import { prefix } from "./ClusterStore.js"

/**
 * @category models
 */
export interface ClusterStorage {
  readonly messages: MessageStorage["Type"]
  readonly runners: RunnerStorage["Type"]
}

const key = "hashtextextended('lex_cluster', 0)"

/** One process at a time: two that create the same tables at once fail. */
const alone = <A, E, R>(
  { client, dialect }: Database,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError, R> =>
  dialect.lock === undefined
    ? effect
    : Effect.scopedWith((scope) =>
        Effect.flatMap(Scope.extend(client.reserve, scope), (connection) =>
          Effect.acquireUseRelease(
            connection.executeRaw(`SELECT pg_advisory_lock(${key})`, []),
            () => effect,
            () => Effect.ignore(connection.executeRaw(`SELECT pg_advisory_unlock(${key})`, []))
          )
        )
      )

/**
 * @category constructors
 */
export const make = (
  database: Database
): Effect.Effect<ClusterStorage, SqlError, SqlClient.SqlClient | ShardingConfig | Scope.Scope> =>
  alone(
    database,
    Effect.all({
      messages: SqlMessageStorage.make({ prefix }),
      runners: SqlRunnerStorage.make({ prefix })
    })
  ).pipe(Effect.provide(Snowflake.layerGenerator))
