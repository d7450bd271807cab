/**
 * Tables of durable workflows.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `status` of an execution: 0 runs or is ready to, 1 is suspended, 2 has ended. An execution with a `runner_id` belongs
 * to that runner, and only it may write results. `wake` counts the reasons to run again. `interrupted` is 1 after an
 * interruption of a suspended execution, 2 after one of a running one. `result` is that of an ended execution, or the
 * cause for which one was suspended. `long_id` and `long_name` hold texts whose key is a hash.
 *
 * `early` marks results of deferreds whose execution did not exist yet. `bytes` counts encoded bytes before
 * compression.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_workflow_runners (
    id ${types.key} NOT NULL PRIMARY KEY,
    expires_at ${types.number} NOT NULL
  )`,
  "CREATE INDEX lex_workflow_runners_expires ON lex_workflow_runners (expires_at)",
  `CREATE TABLE lex_workflow_executions (
    execution_id ${types.key} NOT NULL PRIMARY KEY,
    long_id ${types.text},
    workflow ${types.key} NOT NULL,
    parent_id ${types.key},
    runner_id ${types.key},
    status ${types.integer} NOT NULL,
    wake ${types.number} NOT NULL,
    interrupted ${types.integer} NOT NULL,
    created_at ${types.number} NOT NULL,
    updated_at ${types.number} NOT NULL,
    ended_at ${types.number},
    bytes ${types.number} NOT NULL,
    result ${types.text},
    result_data ${types.bytes},
    payload ${types.text},
    payload_data ${types.bytes}
  )`,
  `CREATE INDEX lex_workflow_executions_ready ON lex_workflow_executions (workflow, execution_id)
  WHERE status = 0 AND runner_id IS NULL`,
  `CREATE INDEX lex_workflow_executions_runner ON lex_workflow_executions (runner_id, interrupted)
  WHERE runner_id IS NOT NULL`,
  "CREATE INDEX lex_workflow_executions_ended ON lex_workflow_executions (ended_at) WHERE ended_at IS NOT NULL",
  `CREATE TABLE lex_workflow_activities (
    execution_id ${types.key} NOT NULL,
    name ${types.key} NOT NULL,
    attempt ${types.integer} NOT NULL,
    long_name ${types.text},
    at ${types.number} NOT NULL,
    bytes ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (execution_id, name, attempt)
  )`,
  `CREATE TABLE lex_workflow_deferreds (
    execution_id ${types.key} NOT NULL,
    name ${types.key} NOT NULL,
    early ${types.integer} NOT NULL,
    at ${types.number} NOT NULL,
    bytes ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (execution_id, name)
  )`,
  "CREATE INDEX lex_workflow_deferreds_early ON lex_workflow_deferreds (at) WHERE early = 1",
  `CREATE TABLE lex_workflow_clocks (
    execution_id ${types.key} NOT NULL,
    name ${types.key} NOT NULL,
    due_at ${types.number} NOT NULL,
    PRIMARY KEY (execution_id, name)
  )`,
  "CREATE INDEX lex_workflow_clocks_due ON lex_workflow_clocks (due_at, execution_id, name)"
]

/**
 * The process that has an address of a cluster: a new one may have the address of one that hangs.
 *
 * @category schemas
 */
export const processes = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_cluster_processes (
    address ${types.key} NOT NULL PRIMARY KEY,
    id ${types.key} NOT NULL,
    started_at ${types.number} NOT NULL
  )`
]
