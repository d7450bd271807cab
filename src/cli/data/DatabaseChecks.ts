/**
 * Migrates, checks and copies databases.
 *
 * @private
 * @since 0.1.0
 */
import * as Fs from "node:fs/promises"
import * as NodePath from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Database from "../../persistence/engine/Database.js"
import * as SqlFailure from "../../persistence/engine/SqlFailure.js"
import * as MigrationRun from "../../persistence/schema/MigrationRun.js"
import * as Migrations from "../../persistence/schema/Migrations.js"
import * as SqliteClient from "../../persistence/sqlite/SqliteClient.js"
import { CliError } from "../config/CliError.js"
import type * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"

type Services = Context.Context<SqlClient.SqlClient>

const HOW = "`Application.layerSqlite` or `Application.layerPostgres`, or another layer that keeps a database"

/** The database of a file, or else of the application, which migrates it when it is built. */
const services = (
  file: Option.Option<string>,
  isReadOnly: boolean
): Effect.Effect<Services, unknown, Workspace.Workspace | Scope.Scope> =>
  Effect.gen(function* () {
    if (Option.isSome(file)) return yield* Layer.build(SqliteClient.layer({ file: file.value, readonly: isReadOnly }))
    const local = yield* Connection.local
    const client = yield* Connection.service(local, SqlClient.SqlClient, "database", HOW)
    return Context.add(local.services as Context.Context<never>, SqlClient.SqlClient, client)
  })

interface Applied {
  readonly version: number
  readonly name: string
  readonly applied_at: number
}

const applied = ({ dialect, rows }: Database.Database) =>
  Effect.catchAll(
    rows<Applied>("SELECT version, name, applied_at FROM lex_migrations ORDER BY version"),
    (error): Effect.Effect<ReadonlyArray<Applied>, unknown> =>
      SqlFailure.describe(error).reason === "schema"
        ? Effect.succeed([])
        : Effect.fail(SqlFailure.toDatabaseError(dialect.name)(error))
  )

/**
 * Migrates a file or the database of the application. Returns the versions before and after.
 *
 * @category constructors
 */
export const migrate = (file: Option.Option<string>) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    const context = yield* services(file, false)
    const { from, to } = yield* Effect.provide(Migrations.run, context)
    const database = yield* Effect.provide(Database.open, context)
    // The application has migrated it by now: the versions that were there before are those of an earlier time.
    const earlier = (yield* applied(database)).filter(({ applied_at }) => Number(applied_at) < began)
    return { from: Math.min(from, Number(earlier.at(-1)?.version ?? 0)), to }
  })

const versions = (database: Database.Database) =>
  Effect.gen(function* () {
    const found = yield* applied(database)
    const state = yield* Effect.either(MigrationRun.check(database))
    const unlike = found.flatMap(({ name, version }, index) => {
      const known = MigrationRun.migrations[index]
      if (known === undefined) return []
      return Number(version) === known.version && name === known.name
        ? []
        : [`Migration ${known.version} is "${known.name}" here, and ${version} "${name}" in the database`]
    })
    return {
      version: Number(found.at(-1)?.version ?? 0),
      problems: [...(state._tag === "Left" ? [state.left.message] : []), ...unlike]
    }
  })

/** The problems that rows tell of; a database that cannot be read to the end is one, too. */
const told = (
  rows: Effect.Effect<ReadonlyArray<Database.Row>, SqlError>,
  tell: (row: Database.Row) => string | undefined
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.match(rows, {
    onFailure: (error) => [SqlFailure.describe(error).message],
    onSuccess: (found) => found.flatMap((row) => tell(row) ?? [])
  })

const sqlite = ({ rows }: Database.Database) =>
  Effect.all([
    told(rows("PRAGMA integrity_check(100)"), ({ integrity_check }) =>
      integrity_check === "ok" ? undefined : String(integrity_check)
    ),
    told(
      rows("PRAGMA foreign_key_check"),
      ({ parent, rowid, table }) => `Row ${rowid} of ${table} refers to a row of ${parent} that is not there`
    )
  ])

const postgres = ({ rows }: Database.Database) =>
  Effect.all([
    told(
      rows(
        "SELECT c.relname AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid ORDER BY 1"
      ),
      ({ name }) => `The index ${name} is not valid`
    )
  ])

/**
 * Whether a database is whole, and has the tables of this version. Problems are limited to 1,000.
 *
 * @category constructors
 */
export const check = (file: Option.Option<string>) =>
  Effect.gen(function* () {
    const database = yield* Effect.provide(Database.open, yield* services(file, true))
    const { problems, version } = yield* versions(database)
    const parts = yield* database.dialect.name === "sqlite" ? sqlite(database) : postgres(database)
    return {
      dialect: database.dialect.name,
      version,
      needed: Migrations.version,
      problems: [...problems, ...parts.flat()].slice(0, 1000)
    }
  })

const noCopy = (dialect: "sqlite" | "postgres"): CliError =>
  new CliError({
    reason: "absent",
    message: "This database cannot be copied from here",
    hint:
      dialect === "postgres"
        ? "Use pg_dump: pg_dump --format=custom --file=agents.dump <the address of the database>"
        : "Name its file by --file"
  })

/**
 * Copies a database into a new file, while others read and write it.
 *
 * @category constructors
 */
export const backup = (file: Option.Option<string>, target: string) =>
  Effect.gen(function* () {
    const context = yield* services(file, true)
    const client = Context.getOption(context, SqliteClient.SqliteClient)
    if (Option.isNone(client)) {
      const { dialect } = yield* Effect.provide(Database.open, context)
      return yield* noCopy(dialect.name)
    }
    const path = NodePath.resolve(target)
    yield* client.value.backup(path)
    const { size } = yield* Effect.tryPromise({
      try: () => Fs.stat(path),
      catch: (cause) => new CliError({ reason: "file", message: "The copy cannot be read", cause })
    })
    return { file: path, bytes: size }
  })
