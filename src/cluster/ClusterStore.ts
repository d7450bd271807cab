/**
 * What the cluster's engine reads and writes beside the engine's journal: whose a run is. Tokens of attempts begin with
 * "@", so that the runners of `SqlWorkflowEngine` on the same database leave them alone.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as EngineStore from "../durable/engine/EngineStore.js"
import type { Access, Database } from "../persistence/engine/Database.js"
import type { Dialect, Param } from "../persistence/engine/Dialect.js"
import * as IndexKey from "../persistence/engine/IndexKey.js"
import * as KeyText from "../persistence/engine/KeyText.js"
import type * as Payloads from "../persistence/engine/Payloads.js"
import * as TransactionBound from "../persistence/engine/TransactionBound.js"

/**
 * The tables of `@effect/cluster` begin with it.
 *
 * @category constants
 */
export const prefix = "lex_cluster"

/** How the journal names a workflow of a cluster. */
export const workflowName = (name: string): string => `cluster/${name}`

/**
 * Marks the executions of a cluster.
 *
 * @category getters
 */
export const workflowKey = (name: string): string => IndexKey.of(workflowName(name))

/**
 * `Taken` has what the attempt begins with, `Ended` the result that is kept already. `Lost`: another process has the
 * shard.
 *
 * @category models
 */
export type Claim =
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Ended"; readonly result: Payloads.Kept }
  | {
      readonly _tag: "Taken"
      readonly wake: number
      readonly interrupted: number
      readonly recorded: Set<string>
    }

/**
 * @category models
 */
export interface Process {
  /** `host:port`, as the locks of shards have it. */
  readonly address: string
  /** Unique for each start of a process: its address may have had another one before. */
  readonly id: string
}

/**
 * @category models
 */
export type ClusterStore = ReturnType<typeof make>

const statements = (dialect: Dialect, lockExpiration: number) => {
  const share = dialect.name === "postgres" ? " FOR SHARE OF l" : ""
  return {
    enter: dialect.sql(
      `INSERT INTO lex_cluster_processes (address, id, started_at) VALUES (?, ?, ?)
      ON CONFLICT (address) DO UPDATE SET id = excluded.id, started_at = excluded.started_at`
    ),
    holds: dialect.sql(
      `SELECT 1 AS held, ${TransactionBound.column(dialect, lockExpiration)} AS bound FROM ${prefix}_locks l JOIN lex_cluster_processes p ON p.address = l.address
      WHERE l.shard_id = ? AND l.address = ? AND p.id = ?${share}`
    ),
    insert: dialect.sql(
      `INSERT INTO lex_workflow_executions (execution_id, long_id, workflow, status, wake, interrupted, created_at,
        updated_at, bytes) VALUES (?, ?, ?, 0, 0, 0, ?, ?, 0)
      ON CONFLICT (execution_id) DO NOTHING`
    ),
    take: dialect.sql(
      `UPDATE lex_workflow_executions SET runner_id = ?, status = 0, updated_at = ?
      WHERE execution_id = ? AND workflow = ? AND status <> 2 RETURNING wake, interrupted`
    ),
    blank: dialect.sql(`UPDATE ${prefix}_messages SET payload = '{}' WHERE id = ?`),
    ended: dialect.sql(
      `SELECT result AS body, result_data AS data FROM lex_workflow_executions
      WHERE execution_id = ? AND workflow = ? AND status = 2`
    )
  }
}

const insertion = (executionId: string, workflow: string, now: number): ReadonlyArray<Param> => {
  const key = IndexKey.of(executionId)
  return [key, KeyText.decode(key) === executionId ? null : executionId, workflowKey(workflow), now, now]
}

/**
 * @category constructors
 */
export const make = (database: Database, self: Process, lockExpiration: number) => {
  const sql = statements(database.dialect, lockExpiration)
  const holdsIn = (access: Access, shard: string): Effect.Effect<boolean, SqlError> =>
    Effect.map(access.first(sql.holds, [shard, self.address, self.id]), (row) => row !== undefined)
  const engine = EngineStore.make(database, lockExpiration)
  return {
    ...engine,
    transaction: database.client.withTransaction,
    enter: Effect.flatMap(Clock.currentTimeMillis, (now) => database.run(sql.enter, [self.address, self.id, now])),
    /**
     * Whether this process has the shard. In a transaction, no other process gets it before the end of that, which
     * comes by itself if the process stops for `lockExpiration`.
     */
    holds: (shard: string) => holdsIn(database, shard),
    /** Removes what a message says, and keeps that there was one. */
    blank: (messageId: bigint) => database.run(sql.blank, [String(messageId)]),
    /** Takes an execution from whoever had it, if its shard belongs to this process. */
    take: Effect.fnUntraced(function* (options: {
      readonly executionId: string
      readonly workflow: string
      readonly shard: string
      readonly token: string
    }) {
      const key = IndexKey.of(options.executionId)
      const workflow = workflowKey(options.workflow)
      const now = yield* Clock.currentTimeMillis
      return yield* database.transaction(
        Effect.fnUntraced(function* (tx): Effect.fn.Return<Claim, SqlError> {
          if (!(yield* holdsIn(tx, options.shard))) return { _tag: "Lost" }
          yield* tx.run(sql.insert, insertion(options.executionId, options.workflow, now))
          const taken = yield* tx.first(sql.take, [options.token, now, key, workflow])
          if (taken !== undefined) {
            return {
              _tag: "Taken",
              wake: Number(taken["wake"]),
              interrupted: Number(taken["interrupted"]),
              recorded: yield* engine.recorded(key, tx)
            }
          }
          const ended = yield* tx.first<Payloads.Kept>(sql.ended, [key, workflow])
          // Otherwise the execution began on another engine, which ends it.
          return ended === undefined ? { _tag: "Lost" } : { _tag: "Ended", result: ended }
        })
      )
    })
  }
}
