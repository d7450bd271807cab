/**
 * What durable runs are kept on: in memory, in a SQLite file, or in a database of the application.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Layer from "effect/Layer"
import * as InMemoryRunStore from "../agent/record/InMemoryRunStore.js"
import type * as RunStore from "../agent/record/RunStore.js"
import * as Steering from "../agent/record/Steering.js"
import type { DeltaFeed } from "../observability/log/DeltaFeed.js"
import * as RunLog from "../observability/RunLog.js"
import * as SqlApprovalStore from "../persistence/run/SqlApprovalStore.js"
import * as SqlDeltaFeed from "../persistence/run/SqlDeltaFeed.js"
import * as SqlRunLog from "../persistence/run/SqlRunLog.js"
import * as SqlRunStore from "../persistence/run/SqlRunStore.js"
import * as SqlSteering from "../persistence/run/SqlSteering.js"
import type { MigrationFailure } from "../persistence/schema/Migrations.js"
import * as SqliteClient from "../persistence/sqlite/SqliteClient.js"
import type * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as SqlWorkflowEngine from "./engine/SqlWorkflowEngine.js"
import type { WorkflowJournal } from "./engine/WorkflowJournal.js"
import type { WorkflowStorageError } from "./engine/WorkflowStorageError.js"

/**
 * What `DurableRuns.layer` and the executor share.
 *
 * @since 0.1.0
 * @category models
 */
export type Ports =
  | WorkflowEngine.WorkflowEngine
  | RunLog.RunLog
  | RunStore.RunStore
  | Steering.Steering
  | PendingApprovals.PendingApprovals
  | ApprovalGate.ApprovalGate

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlWorkflowEngine.Options {
  readonly approvals?: PendingApprovals.Options | undefined
  readonly log?: SqlRunLog.Options | undefined
  readonly steering?: Steering.Options | undefined
}

/**
 * Keeps runs in memory: they sleep and go on, and end with the process. For tests.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: {
  readonly approvals?: PendingApprovals.Options | undefined
}): Layer.Layer<Ports> =>
  Layer.mergeAll(
    WorkflowEngine.layerMemory,
    RunLog.layerMemory(),
    InMemoryRunStore.layer(),
    Steering.layer(),
    PendingApprovals.layerMemory(options?.approvals)
  )

/**
 * Keeps runs in the database in context, SQLite or Postgres, whose tables are migrated first. Several processes may
 * share it: each run belongs to one of them at a time, and another one takes it over when that one has ended, or after
 * its lease. A `BlobStore` in context keeps large values of runs (`payloads` of `DurableRuns.layer`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSql = (
  options?: Options | undefined
): Layer.Layer<Ports | WorkflowJournal | DeltaFeed, MigrationFailure | WorkflowStorageError, SqlClient.SqlClient> =>
  Layer.mergeAll(
    SqlRunLog.layer(options?.log),
    SqlRunStore.layer(),
    SqlSteering.layer(options?.steering),
    SqlDeltaFeed.layer,
    Layer.provide(PendingApprovals.layer(options?.approvals), SqlApprovalStore.layer())
  ).pipe(Layer.provideMerge(SqlWorkflowEngine.layerMigrated(options)))

/**
 * Keeps runs in a SQLite file.
 *
 * @example
 * ```ts
 * import { Agent, Agents } from "effect-lexigram"
 * import { Durable, DurableRuns } from "effect-lexigram/durable"
 * import * as Layer from "effect/Layer"
 *
 * const ports = Durable.layerSqlite({ file: "runs.db" })
 *
 * // Requires LlmClient.
 * const runs = DurableRuns.layer({ agents: [Agent.make("clerk", { system: "You refund orders." })] }).pipe(
 *   Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
 *   Layer.provideMerge(ports)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSqlite = (
  options: Options & SqliteClient.Options
): Layer.Layer<
  Ports | WorkflowJournal | DeltaFeed | SqliteClient.SqliteClient | SqlClient.SqlClient,
  MigrationFailure | WorkflowStorageError
> => Layer.provideMerge(layerSql(options), SqliteClient.layer(options))
