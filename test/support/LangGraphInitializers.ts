/**
 * Subjects of LangGraph's validation: each round gets a saver over its own store.
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as SqlClient from "@effect/sql/SqlClient"
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint"
import type { CheckpointSaverTestInitializer } from "@langchain/langgraph-checkpoint-validation"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as SqlCheckpointer from "../../src/persistence/run/SqlCheckpointer.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as KeyValueSessionStore from "../../src/session/keyvalue/KeyValueSessionStore.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"
import * as LangGraphGraphs from "./LangGraphGraphs.js"
import * as LangGraphSessions from "./LangGraphSessions.js"
import * as SqlTables from "./SqlTables.js"

type Initializer = CheckpointSaverTestInitializer<BaseCheckpointSaver>

const initializer = <I>(
  checkpointerName: string,
  layer: Layer.Layer<I>,
  make: (runtime: ManagedRuntime.ManagedRuntime<I, never>) => BaseCheckpointSaver
): Initializer => {
  const runtimes = new Map<BaseCheckpointSaver, ManagedRuntime.ManagedRuntime<I, never>>()
  return {
    checkpointerName,
    createCheckpointer: () => {
      // Its own memo map: a layer built for another saver would share its store.
      const runtime = ManagedRuntime.make(layer)
      const saver = make(runtime)
      runtimes.set(saver, runtime)
      return saver
    },
    destroyCheckpointer: async (saver) => {
      await runtimes.get(saver)?.dispose()
      runtimes.delete(saver)
    }
  }
}

/** LangGraph's own saver, for comparison. */
export const memorySaver: Initializer = {
  checkpointerName: "MemorySaver",
  createCheckpointer: () => new MemorySaver()
}

export const sessionsInMemory: Initializer = initializer(
  "sessions in memory",
  InMemorySessionStore.layer,
  LangGraphSessions.make
)

export const sessionsByKey: Initializer = initializer(
  "sessions by key and value",
  Layer.provide(KeyValueSessionStore.layer(), KeyValueStore.layerMemory),
  LangGraphSessions.make
)

export const graphsInMemory: Initializer = initializer(
  "graphs in memory",
  Checkpointer.layerMemory(),
  LangGraphGraphs.make
)

/** One database for all rounds, emptied at the start of each. */
const inDatabase = <I>(
  checkpointerName: string,
  client: () => Layer.Layer<SqlClient.SqlClient>,
  store: Layer.Layer<I, unknown, SqlClient.SqlClient>,
  make: (runtime: ManagedRuntime.ManagedRuntime<I, never>) => BaseCheckpointSaver
): Initializer => {
  const opened = Layer.suspend(() => Layer.orDie(Layer.provideMerge(store, client())))
  const runtime = ManagedRuntime.make(opened)
  return {
    checkpointerName,
    createCheckpointer: async () => {
      await runtime.runPromise(SqlTables.empty)
      return make(runtime)
    },
    afterAll: () => runtime.dispose()
  }
}

const sqlite = () => Layer.orDie(SqliteClient.layer({ file: "validation.db" }))

/** The database at `DATABASE_URL`. */
const postgres = () =>
  Layer.orDie(PostgresClient.layer({ url: Redacted.make(process.env["DATABASE_URL"] ?? ""), maxConnections: 4 }))

export const graphsInSqlite: Initializer = inDatabase(
  "graphs in SQLite",
  sqlite,
  SqlCheckpointer.layerMigrated,
  LangGraphGraphs.make
)

export const graphsInPostgres: Initializer = inDatabase(
  "graphs in Postgres",
  postgres,
  SqlCheckpointer.layerMigrated,
  LangGraphGraphs.make
)

export const sessionsInSqlite: Initializer = inDatabase(
  "sessions in SQLite",
  sqlite,
  SqlSessionStore.layerMigrated,
  LangGraphSessions.make
)

export const sessionsInPostgres: Initializer = inDatabase(
  "sessions in Postgres",
  postgres,
  SqlSessionStore.layerMigrated,
  LangGraphSessions.make
)

/** Must fail. */
export const nothing: Initializer = initializer("nothing", Checkpointer.layerNoop, LangGraphGraphs.make)
