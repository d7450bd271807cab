/**
 * What LangGraph's validation is run on: for each of its rounds a saver over a store of its own.
 */
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import type * as SqlClient from "@effect/sql/SqlClient"
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint"
import type { CheckpointSaverTestInitializer } from "@langchain/langgraph-checkpoint-validation"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
<<<<<<< HEAD
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as PostgresClient from "../../src/persistence/PostgresClient.js"
import * as SqlCheckpointer from "../../src/persistence/SqlCheckpointer.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
=======
import * as Scope from "effect/Scope"
import * as Checkpointer from "../../src/graph/Checkpointer.js"
import * as PostgresClient from "../../src/persistence/PostgresClient.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import * as SqlSessionStore from "../../src/persistence/SqlSessionStore.js"
>>>>>>> daeb790 (Race sessions from two clients, and run LangGraph's validation on databases)
import * as KeyValueSessionStore from "../../src/session/KeyValueSessionStore.js"
import * as SessionStore from "../../src/session/SessionStore.js"
import * as LangGraphGraphs from "./LangGraphGraphs.js"
import * as LangGraphSessions from "./LangGraphSessions.js"
<<<<<<< HEAD
import * as SqlTables from "./SqlTables.js"
=======
import * as SessionRows from "./SessionRows.js"
>>>>>>> daeb790 (Race sessions from two clients, and run LangGraph's validation on databases)

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
      // A memo map of its own: a layer that was built for another saver is another store.
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

/** Those of LangGraph itself, to compare with. */
export const memorySaver: Initializer = {
  checkpointerName: "MemorySaver",
  createCheckpointer: () => new MemorySaver()
}

export const sessionsInMemory: Initializer = initializer(
  "sessions in memory",
  SessionStore.layerMemory,
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

<<<<<<< HEAD
/** One database for all rounds, emptied at the beginning of each. */
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

/** Where `DATABASE_URL` says. */
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
=======
/** The database that the environment names, emptied for each saver: opening one for each would take longer than what is tried on it. */
const sql = (client: Layer.Layer<SqlClient.SqlClient, unknown>): Layer.Layer<SessionStore.SessionStore> => {
  const opened = Effect.runSync(Effect.cached(Layer.buildWithScope(client, Effect.runSync(Scope.make()))))
  const context = Layer.effectContext(Effect.orDie(opened))
  const emptied = Layer.effectDiscard(Effect.orDie(SessionRows.empty))
  return Layer.orDie(SqlSessionStore.layer).pipe(Layer.provide(emptied), Layer.provide(context))
}

const required = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new TypeError(`${name} is not set`)
  return value
}

export const sessionsInSqlite: Initializer = initializer(
  "sessions in SQLite",
  sql(Layer.suspend(() => SqliteClient.layer({ file: required("LANGGRAPH_DATABASE") }))),
  LangGraphSessions.make
)

export const sessionsInPostgres: Initializer = initializer(
  "sessions in Postgres",
  sql(Layer.suspend(() => PostgresClient.layer({ url: Redacted.make(required("LANGGRAPH_DATABASE")) }))),
  LangGraphSessions.make
>>>>>>> daeb790 (Race sessions from two clients, and run LangGraph's validation on databases)
)

/** Must fail. */
export const nothing: Initializer = initializer("nothing", Checkpointer.layerNoop, LangGraphGraphs.make)
