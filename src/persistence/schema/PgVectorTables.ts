/**
 * The table of pgvector, with versions of its own: a database without the extension has all other tables.
 *
 * One table holds all vectors, whatever their model and length. Each space has its own index, a graph of only the
 * vectors that are comparable.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Database } from "../engine/Database.js"
import { type DatabaseError, type MigrationError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "./MigrationRun.js"
import * as VectorTables from "./VectorTables.js"

/**
 * @category constants
 */
export const table = "lex_pg_vectors"

const versions = "lex_vector_migrations"

const migrations: ReadonlyArray<MigrationRun.Migration> = [
  { version: 1, name: "initial", statements: (dialect) => VectorTables.table(dialect, { table, vector: "vector" }) }
]

const unusable = (message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message, hint })

const missing = unusable(
  "The database has not the extension pgvector",
  "Install pgvector 0.8 or later on the server and let an administrator run CREATE EXTENSION vector; or use SqlVectorIndex, which needs none"
)

const forbidden = unusable(
  "The database has not the extension pgvector, and its user may not create it",
  "Let an administrator run CREATE EXTENSION vector in this database, once"
)

const version = ({ first }: Database) =>
  first("SELECT extversion AS version FROM pg_extension WHERE extname = 'vector'")

const isOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return major === 0 && minor < 8
}

const extension = (
  database: Database,
  create: boolean
): Effect.Effect<void, DatabaseError | PersistenceConfigurationError> => {
  const { lock } = database.dialect
  const created = database.transaction((tx) =>
    Effect.zipRight(
      lock === undefined ? Effect.void : tx.rows(lock, [versions]),
      tx.run("CREATE EXTENSION IF NOT EXISTS vector")
    )
  )
  const toError = SqlFailure.toDatabaseError("postgres")
  const found = Effect.mapError(version(database), toError)
  return Effect.gen(function* () {
    let row = yield* found
    if (row === undefined && create) {
      yield* Effect.catchTag(created, "SqlError", (error) => {
        const { code } = SqlFailure.describe(error)
        // 0A000: not available on this server; 58P01: one of its files is missing.
        if (code === "0A000" || code === "58P01") return Effect.fail(missing)
        return Effect.fail(code === "42501" ? forbidden : toError(error))
      })
      row = yield* found
    }
    if (row === undefined) return yield* missing
    if (isOld(row.version)) {
      return yield* unusable(
        `The extension pgvector of the database is of version ${row.version}, and 0.8 is needed`,
        "Install a later version on the server, then run ALTER EXTENSION vector UPDATE"
      )
    }
  })
}

/**
 * @category constructors
 */
export const open = (
  database: Database,
  options: { readonly migrate: boolean }
): Effect.Effect<void, DatabaseError | MigrationError | PersistenceConfigurationError> => {
  if (database.dialect.name !== "postgres") {
    return Effect.fail(unusable("pgvector is an extension of Postgres", "Use SqliteVectorIndex with SQLite"))
  }
  return Effect.zipRight(
    extension(database, options.migrate),
    options.migrate
      ? MigrationRun.runAll(database, migrations, versions)
      : MigrationRun.checkAll(database, migrations, versions)
  )
}
