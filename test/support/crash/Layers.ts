/** Stores of the workload over the database at a URL. */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as DatabaseUrl from "../../../src/persistence/engine/DatabaseUrl.js"
import type { DatabaseError, PersistenceConfigurationError } from "../../../src/persistence/engine/PersistenceError.js"
import * as SqlCostLedger from "../../../src/persistence/governance/SqlCostLedger.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as SqlCheckpointer from "../../../src/persistence/run/SqlCheckpointer.js"
import * as SqlRunLog from "../../../src/persistence/run/SqlRunLog.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as DefaultSessionManager from "../../../src/session/manager/DefaultSessionManager.js"

const clientOf = (url: string): Layer.Layer<SqlClient.SqlClient, DatabaseError | PersistenceConfigurationError> => {
  const parsed = Either.getOrThrow(DatabaseUrl.parse(url))
  if (parsed._tag === "Sqlite") return SqliteClient.layer({ file: parsed.file, busyTimeout: "20 seconds" })
  if (parsed._tag === "Postgres") return PostgresClient.layer({ url: parsed.url, maxConnections: 8 })
  throw new Error(`no database for SQL: ${parsed._tag}`)
}

/** No checkpoint is evicted by another one. */
const manager = DefaultSessionManager.layer({
  maxCheckpointsPerSession: 1_000_000,
  maxTurnsPerSession: 1_000_000
}).pipe(Layer.provide(Layer.merge(WorkingMemory.layerNoop, MemoryConsolidator.layerNoop)))

export const make = (url: string) =>
  Layer.mergeAll(
    Layer.provideMerge(manager, SqlSessionStore.layerMigrated),
    SqlMemoryStore.layerMigrated(),
    SqlCostLedger.layerMigrated(),
    SqlCheckpointer.layerMigrated,
    SqlRunLog.layerMigrated()
  ).pipe(Layer.provideMerge(clientOf(url)))
