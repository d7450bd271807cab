/**
 * The migrations, and their execution.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Database from "../engine/Database.js"
import type { Dialect } from "../engine/Dialect.js"
import { type DatabaseError, MigrationError, type PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as ApprovalTables from "./ApprovalTables.js"
import * as BlobTables from "./BlobTables.js"
import * as CheckpointTables from "./CheckpointTables.js"
import * as ExperimentTables from "./ExperimentTables.js"
import * as QueueTables from "./QueueTables.js"
import * as RunRecordTables from "./RunRecordTables.js"
import * as ScheduleTables from "./ScheduleTables.js"
import * as SessionTables from "./SessionTables.js"
import * as Tables from "./Tables.js"
import * as WorkflowTables from "./WorkflowTables.js"

/** Errors of a migration. */
export type MigrationFailure = DatabaseError | MigrationError | PersistenceConfigurationError

/** The versions before and after. */
export interface Migrated {
  readonly from: number
  readonly to: number
}

/**
 * @category models
 */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly statements: (dialect: Dialect) => ReadonlyArray<string>
}

/**
 * In ascending order without gaps, starting at 1.
 *
 * @category constants
 */
export const migrations: ReadonlyArray<Migration> = [
  { version: 1, name: "initial", statements: Tables.initial },
  { version: 2, name: "open exchanges of sessions", statements: SessionTables.exchanges },
  { version: 3, name: "owners of remembered decisions", statements: ApprovalTables.owners },
  { version: 4, name: "owners of threads", statements: CheckpointTables.owners },
  { version: 5, name: "blobs", statements: BlobTables.tables },
  { version: 6, name: "workflows", statements: WorkflowTables.tables },
  { version: 7, name: "records of runs", statements: RunRecordTables.tables },
  { version: 8, name: "schedules of runs", statements: ScheduleTables.tables },
  { version: 9, name: "processes of clusters", statements: WorkflowTables.processes },
  { version: 10, name: "queue of runs", statements: QueueTables.tables },
  { version: 11, name: "messages to runs", statements: RunRecordTables.messages },
  { version: 12, name: "calls of runs that are not undone", statements: RunRecordTables.undone },
  { version: 13, name: "open runs of sessions", statements: RunRecordTables.openRuns },
  { version: 14, name: "experiments", statements: ExperimentTables.tables }
]

const latest = (all: ReadonlyArray<Migration>): number => all.reduce((most, { version }) => Math.max(most, version), 0)

const TABLE = "lex_migrations"

const newer = (found: number, needed: number): MigrationError =>
  new MigrationError({
    reason: "newer",
    found,
    needed,
    message: `The tables of the database are of version ${found}, and this code knows them up to version ${needed}`,
    hint: "Use a newer version of the library, or another database; it was left as it is"
  })

const absent = (found: number, needed: number): MigrationError =>
  new MigrationError({
    reason: "absent",
    found,
    needed,
    message:
      found === 0
        ? "The database has not the tables that are needed"
        : `The tables of the database are of version ${found}, and this code needs version ${needed}`,
    hint: "Build the store by its `layerMigrated`, or run `Migrations.run` first"
  })

const failed = (found: number, needed: number, error: SqlError): MigrationError => {
  const { code, message } = SqlFailure.describe(error)
  return new MigrationError({
    reason: "failed",
    found,
    needed,
    message: `The tables could not be brought from version ${found} to version ${needed}: ${message}`,
    hint:
      code === "42501" || code === "25006"
        ? "Migrate as a user who may create tables; nothing was changed"
        : "Nothing was changed; see to the reason and try again"
  })
}

const versionOf = (tx: Database.Access, table: string): Effect.Effect<number, SqlError> =>
  Effect.map(tx.first(`SELECT MAX(version) AS version FROM ${table}`), (row) => Number(row?.version ?? 0))

/** Like `run`, with other migrations, whose versions `table` records. */
export const runAll = (
  database: Database.Database,
  all: ReadonlyArray<Migration>,
  table: string = TABLE
): Effect.Effect<Migrated, DatabaseError | MigrationError> => {
  const { dialect } = database
  const needed = latest(all)
  const create = `CREATE TABLE IF NOT EXISTS ${table} (
    version INTEGER PRIMARY KEY,
    name ${dialect.types.text} NOT NULL,
    applied_at ${dialect.types.number} NOT NULL
  )`
  const record = dialect.sql(`INSERT INTO ${table} (version, name, applied_at) VALUES (?, ?, ?)`)
  return database
    .transaction(
      Effect.fnUntraced(function* (tx) {
        // Held until the end. In SQLite the transaction is the only writer anyway.
        if (dialect.lock !== undefined) yield* tx.rows(dialect.lock, [table])
        yield* tx.run(create)
        const from = yield* versionOf(tx, table)
        if (from > needed) return yield* newer(from, needed)
        const now = yield* Clock.currentTimeMillis
        for (const { name, statements, version } of all) {
          if (version <= from) continue
          for (const statement of statements(dialect)) {
            yield* Effect.mapError(tx.run(statement), (error) => failed(from, needed, error))
          }
          yield* tx.run(record, [version, name, now])
        }
        return { from, to: needed }
      }),
      { durable: true }
    )
    .pipe(Effect.catchTag("SqlError", (error) => Effect.fail(SqlFailure.toDatabaseError(dialect.name)(error))))
}

/** Clients whose database is known to have the tables of this version. */
const seen = new WeakSet<SqlClient.SqlClient>()

/**
 * @category constructors
 */
export const migrate = (database: Database.Database): Effect.Effect<Migrated, DatabaseError | MigrationError> =>
  Effect.tap(runAll(database, migrations), () => Effect.sync(() => seen.add(database.client)))

/** Succeeds if exactly these migrations have been run. */
export const checkAll = (
  database: Database.Database,
  all: ReadonlyArray<Migration>,
  table: string = TABLE
): Effect.Effect<void, DatabaseError | MigrationError> =>
  versionOf(database, table).pipe(
    Effect.catchAll((error) =>
      SqlFailure.describe(error).reason === "schema"
        ? Effect.succeed(0)
        : Effect.fail(SqlFailure.toDatabaseError(database.dialect.name)(error))
    ),
    Effect.flatMap((found): Effect.Effect<void, MigrationError> => {
      const needed = latest(all)
      if (found === needed) return Effect.void
      return found > needed ? newer(found, needed) : absent(found, needed)
    })
  )

/**
 * Succeeds if the database has exactly the tables of this version.
 *
 * @category constructors
 */
export const check = (database: Database.Database): Effect.Effect<void, DatabaseError | MigrationError> =>
  Effect.tap(checkAll(database, migrations), () => Effect.sync(() => seen.add(database.client)))

/**
 * Opens the database for a store after checking or migrating its tables.
 *
 * @category constructors
 */
export const open = (options: {
  readonly migrate: boolean
}): Effect.Effect<Database.Database, MigrationFailure, SqlClient.SqlClient> =>
  Effect.flatMap(Database.open, (database) =>
    seen.has(database.client)
      ? Effect.succeed(database)
      : Effect.as(options.migrate ? migrate(database) : check(database), database)
  )
