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
import type { Dialect } from "../persistence/engine/Dialect.js"
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

const forget = `DELETE FROM ${prefix}_replies WHERE request_id IN (SELECT id FROM ${prefix}_messages WHERE entity_id = `

/** With an execution, its messages are removed: they have what the run was given. */
const rules: Readonly<Record<Dialect["name"], ReadonlyArray<string>>> = {
  sqlite: [
    `CREATE TRIGGER IF NOT EXISTS ${prefix}_forgets AFTER DELETE ON lex_workflow_executions BEGIN
      ${forget}OLD.execution_id);
      DELETE FROM ${prefix}_messages WHERE entity_id = OLD.execution_id;
    END`
  ],
  postgres: [
    `CREATE OR REPLACE FUNCTION ${prefix}_forget() RETURNS TRIGGER AS $$
      DECLARE erased TEXT := OLD.execution_id;
      BEGIN
        ${forget}erased);
        DELETE FROM ${prefix}_messages WHERE entity_id = erased;
        RETURN NULL;
      END $$ LANGUAGE plpgsql`,
    `DO $$ BEGIN
      IF NOT EXISTS (SELECT 1 FROM pg_trigger
        WHERE tgname = '${prefix}_forgets' AND tgrelid = 'lex_workflow_executions'::regclass) THEN
        CREATE TRIGGER ${prefix}_forgets AFTER DELETE ON lex_workflow_executions
        FOR EACH ROW EXECUTE FUNCTION ${prefix}_forget();
      END IF;
    END $$`
  ]
}

const index = `CREATE INDEX IF NOT EXISTS ${prefix}_messages_entity ON ${prefix}_messages (entity_id)`

/**
 * @category constructors
 */
export const make = (
  database: Database
): Effect.Effect<ClusterStorage, SqlError, SqlClient.SqlClient | ShardingConfig | Scope.Scope> =>
  alone(
    database,
    Effect.gen(function* () {
      const messages = yield* SqlMessageStorage.make({ prefix })
      const runners = yield* SqlRunnerStorage.make({ prefix })
      for (const statement of [index, ...rules[database.dialect.name]]) yield* database.run(statement)
      return { messages, runners }
    })
  ).pipe(Effect.provide(Snowflake.layerGenerator))
