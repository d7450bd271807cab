/**
 * All tables of the first version. A database has the tables of every store, used or not, so that its version is one
 * number.
 *
 * Columns named `fence` are for a writer that owns a row for a while, like an entity of a cluster: the number grows
 * with every new owner, and writes of earlier owners are rejected. Columns named `revision` count the changes of a row,
 * for compare-and-set.
 *
 * @private
 * @since 0.1.0
 */

import type { Dialect } from "../engine/Dialect.js"
import * as Payloads from "../engine/Payloads.js"
import * as ApprovalTables from "./ApprovalTables.js"
import * as CacheTables from "./CacheTables.js"
import * as CheckpointTables from "./CheckpointTables.js"
import * as CostLedgerTables from "./CostLedgerTables.js"
import * as FactTables from "./FactTables.js"
import * as GovernanceTables from "./GovernanceTables.js"
import * as MemoryTables from "./MemoryTables.js"
import * as RunLogTables from "./RunLogTables.js"
import * as SessionTables from "./SessionTables.js"
import * as VectorTables from "./VectorTables.js"

/**
 * @category schemas
 */
export const initial = (dialect: Dialect): ReadonlyArray<string> => [
  ...Payloads.tables(dialect),
  ...CheckpointTables.tables(dialect),
  ...RunLogTables.tables(dialect),
  ...ApprovalTables.tables(dialect),
  ...CacheTables.tables(dialect),
  ...GovernanceTables.audit(dialect),
  ...CostLedgerTables.tables(dialect),
  ...MemoryTables.tables(dialect),
  ...SessionTables.tables(dialect),
  ...FactTables.tables(dialect),
  ...VectorTables.tables(dialect),
  ...GovernanceTables.rates(dialect)
]
