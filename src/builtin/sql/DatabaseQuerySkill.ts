/**
 * The skill `database_query`: read-only statements, on a database that refuses writes while they run.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Permits from "../../internal/fiber/Permits.js"
import * as Skill from "../../skill/definition/Skill.js"
import * as SkillToolkit from "../../skill/execute/SkillToolkit.js"
import * as ClientReader from "./ClientReader.js"
import { type DatabaseQueryError, errorOf } from "./DatabaseQueryError.js"
import * as PostgresReader from "./PostgresReader.js"
import * as ReadOnlyQuery from "./ReadOnlyQuery.js"
import type * as ReadOnlyRows from "./ReadOnlyRows.js"
import type * as ReadOnlySql from "./ReadOnlySql.js"
import * as SqliteReader from "./SqliteReader.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** Maximum rows of a result. Default 100. */
  readonly maxRows?: number | undefined
  /** Maximum characters of a cell; longer ones are cut. Default 4,096. */
  readonly maxCellChars?: number | undefined
  /** Maximum characters of a result, but always at least one row. Default 262,144. */
  readonly maxChars?: number | undefined
  /** Time limit of a statement, including waits for its turn and a connection. Default 15 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Concurrent statements; others wait. Default 4. The skills of a toolkit share one limit. */
  readonly maxConcurrent?: number | undefined
  /**
   * Allowed functions besides those that only compute: `name` or, on Postgres, `schema.name`, in the database's
   * spelling. A model can use whatever such a function does.
   */
  readonly functions?: ReadonlyArray<string> | undefined
}

/**
 * A SQLite file. Each statement runs in its own process, which opens the file read-only and is killed at the timeout.
 *
 * @since 0.1.0
 * @category models
 */
export interface SqliteOptions extends Limits, SqliteReader.Options {
  readonly postgres?: undefined
  readonly allowBlocking?: undefined
}

/**
 * A Postgres server, by URL or by parts. Each statement has its own connection, closed afterwards. Requires the package
 * `pg`.
 *
 * @since 0.1.0
 * @category models
 */
export interface PostgresOptions extends Limits {
  readonly postgres: PostgresReader.Address
  readonly sqlite?: undefined
  readonly allowBlocking?: undefined
}

/**
 * The application's own `SqlClient`, such as that of an in-memory database.
 *
 * @since 0.1.0
 * @category models
 */
export interface ClientOptions extends Limits {
  /**
   * A SQLite driver runs statements in this process: nothing else runs meanwhile, no timeout ends one, and one that
   * needs too much memory crashes the process. Enable only where no untrusted party can choose the statement. On
   * Postgres, the statement uses one of the client's connections, in a read-only transaction.
   */
  readonly allowBlocking: true
  readonly sqlite?: undefined
  readonly postgres?: undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Options = SqliteOptions | PostgresOptions | ClientOptions

/**
 * The requirements of a skill with these options.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<O> = [Extract<O, { readonly allowBlocking: true }>] extends [never] ? never : SqlClient.SqlClient

/**
 * @since 0.1.0
 * @category models
 */
export interface Params {
  readonly sql: string
  readonly params?: ReadonlyArray<string | number | boolean | null> | undefined
}

const Fields: Schema.Schema<Params, any> = Schema.Struct({
  sql: Schema.String.pipe(Schema.maxLength(100_000)).annotations({
    description:
      "One SELECT, WITH, VALUES or EXPLAIN statement. Values stand in params: $1, $2 on Postgres, ? on SQLite"
  }),
  params: Schema.optional(
    Schema.Array(Schema.Union(Schema.String, Schema.Number, Schema.Boolean, Schema.Null)).pipe(Schema.maxItems(1000))
  )
})

/**
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  columns: Schema.Array(Schema.String),
  rows: Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  row_count: Schema.NonNegativeInt,
  truncated: Schema.Boolean
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

const timeoutOf = (options: Options): number => Duration.toMillis(options.timeout ?? "15 seconds")

const unconfigured = ReadOnlyQuery.failure("Configuration", "The skill is not told which database it reads")

/** Options from a configuration can lack required fields. */
const readerOf = (options: Options): ReadOnlyQuery.Reader<SqlClient.SqlClient> => {
  if (options.sqlite !== undefined) return SqliteReader.make(options)
  if (options.postgres !== undefined) return PostgresReader.make(options.postgres)
  if (options.allowBlocking === true) return ClientReader.reader
  return { dialect: Effect.fail(unconfigured), read: () => Effect.fail(unconfigured) }
}

/** Runs a statement, within the limit on concurrency. */
type Run = (
  sql: string | ((dialect: ReadOnlySql.Dialect) => string),
  params: ReadonlyArray<unknown>,
  maxRows?: number
) => Effect.Effect<ReadOnlyRows.Rows, DatabaseQueryError, SqlClient.SqlClient>

const runOf = (options: Options): Run => {
  const reader = readerOf(options)
  const withPermit = Permits.make(Math.max(1, Math.floor(options.maxConcurrent ?? 4)))
  const inTurn = { ...reader, read: (request: ReadOnlyQuery.Request) => withPermit(reader.read(request)) }
  const allowed = new Set(options.functions)
  return (sql, params, maxRows = 100) =>
    Effect.mapError(
      ReadOnlyQuery.run(inTurn, sql, params, {
        maxRows: options.maxRows ?? maxRows,
        maxCellChars: options.maxCellChars ?? 4096,
        maxChars: options.maxChars ?? 262_144,
        timeoutMs: timeoutOf(options),
        allowed
      }),
      errorOf
    )
}

/** Traits of all skills that read a database. */
const traits = (options: Options) => ({
  category: "database",
  permissions: ["db.query"],
  idempotent: true,
  timeout: timeoutOf(options) + 1000,
  retryable: ({ reason }: DatabaseQueryError) => reason === "Connection"
})

/**
 * The skill `database_query`. Each statement is checked token by token, may call only functions that compute, has bound
 * parameters, and runs where the database refuses writes: on a SQLite file opened read-only in a separate process, or
 * in a read-only transaction on a separate Postgres connection. The database's own rights still apply: use a database
 * user that can read only what models may see.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DatabaseQuerySkill } from "effect-lexigram/builtin"
 *
 * const queryDatabase = DatabaseQuerySkill.make({ sqlite: "./shop.db", maxRows: 20, timeout: "5 seconds" })
 * ```
 */
export const make = <const O extends Options>(
  options: O
): Skill.Skill<Params, Result, DatabaseQueryError, ServicesOf<O>> =>
  makeNamed("database_query", options, runOf(options)) as Skill.Skill<any, Result, DatabaseQueryError, any>

const makeNamed = (
  name: string,
  options: Options,
  run: Run
): Skill.Skill<Params, Result, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make(name, {
    ...traits(options),
    description: "Runs one SQL statement that reads and gives its rows.",
    parameters: Fields,
    returns: Result,
    handler: ({ params = [], sql }) =>
      Effect.map(run(sql, params), ({ columns, rows, truncated }) => ({
        columns,
        rows,
        row_count: rows.length,
        truncated
      }))
  })

/**
 * @since 0.1.0
 * @category schemas
 */
export const Tables = Schema.Struct({
  tables: Schema.Array(Schema.Struct({ name: Schema.String, type: Schema.Literal("table", "view") })),
  truncated: Schema.Boolean
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Tables extends Schema.Schema.Type<typeof Tables> {}

// The catalogs answer in the requested form: any other form is a bug.
const tablesOf = (rows: unknown) => Effect.orDie(Schema.decodeUnknown(Tables.fields.tables)(rows))

const columnsOf = (rows: unknown) => Effect.orDie(Schema.decodeUnknown(Description.fields.columns)(rows))

const tablesSql = (dialect: ReadOnlySql.Dialect): string =>
  dialect === "pg"
    ? `SELECT CASE WHEN table_schema = current_schema() THEN table_name ELSE table_schema || '.' || table_name END AS name,
         CASE WHEN table_type = 'VIEW' THEN 'view' ELSE 'table' END AS type
       FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`
    : `SELECT name, type FROM sqlite_master
       WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite@_%' ESCAPE '@' ORDER BY 1`

/**
 * The skill `sql_list_tables`: tables and views visible to the database user. Default limit 1,000.
 *
 * @since 0.1.0
 * @category constructors
 */
export const listTables = <const O extends Options>(
  options: O
): Skill.Skill<{}, Tables, DatabaseQueryError, ServicesOf<O>> =>
  listing(options, runOf(options)) as Skill.Skill<any, Tables, DatabaseQueryError, any>

const listing = (options: Options, run: Run): Skill.Skill<{}, Tables, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make("sql_list_tables", {
    ...traits(options),
    description: "Lists the tables and views of the database.",
    returns: Tables,
    handler: () =>
      Effect.flatMap(run(tablesSql, [], 1000), ({ rows, truncated }) =>
        Effect.map(tablesOf(rows), (tables) => ({ tables, truncated }))
      )
  })

/**
 * @since 0.1.0
 * @category schemas
 */
export const Description = Schema.Struct({
  table: Schema.String,
  columns: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      type: Schema.String,
      nullable: Schema.Literal("yes", "no"),
      default: Schema.NullOr(Schema.String)
    })
  ),
  truncated: Schema.Boolean
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Description extends Schema.Schema.Type<typeof Description> {}

const columnsSql = (dialect: ReadOnlySql.Dialect): string =>
  dialect === "pg"
    ? `SELECT column_name AS name, data_type AS type, lower(is_nullable) AS nullable, column_default AS "default"
       FROM information_schema.columns
       WHERE CAST($1 AS text) IN (table_schema || '.' || table_name, CASE WHEN table_schema = current_schema() THEN table_name END)
       ORDER BY ordinal_position`
    : `SELECT name, type, CASE WHEN "notnull" = 0 THEN 'yes' ELSE 'no' END AS nullable, dflt_value AS "default"
       FROM pragma_table_info(?) ORDER BY cid`

/**
 * The skill `sql_describe`: the columns of a table or view.
 *
 * @since 0.1.0
 * @category constructors
 */
export const describe = <const O extends Options>(
  options: O
): Skill.Skill<{ readonly table: string }, Description, DatabaseQueryError, ServicesOf<O>> =>
  describing(options, runOf(options)) as Skill.Skill<any, Description, DatabaseQueryError, any>

const describing = (
  options: Options,
  run: Run
): Skill.Skill<{ readonly table: string }, Description, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make("sql_describe", {
    ...traits(options),
    description: "Describes the columns of a table of the database.",
    parameters: { table: Schema.NonEmptyString.pipe(Schema.maxLength(300)) },
    returns: Description,
    handler: ({ table }) =>
      Effect.gen(function* () {
        const { rows, truncated } = yield* run(columnsSql, [table], 1000)
        if (rows.length === 0) {
          return yield* errorOf({ reason: "UnknownTable", message: "There is no table or view of that name" })
        }
        return { table, columns: yield* columnsOf(rows), truncated }
      })
  })

/**
 * The toolkit `sql` for exploring a database: `sql_list_tables`, `sql_describe` and `sql_execute`, which is
 * `database_query` under a matching name.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolkit = <const O extends Options>(
  options: O
): SkillToolkit.SkillToolkit<
  | Skill.Skill<{}, Tables, DatabaseQueryError, ServicesOf<O>>
  | Skill.Skill<{ readonly table: string }, Description, DatabaseQueryError, ServicesOf<O>>
  | Skill.Skill<Params, Result, DatabaseQueryError, ServicesOf<O>>
> => {
  const run = runOf(options)
  return SkillToolkit.make(
    "sql",
    { description: "Explores a database without changing it." },
    listing(options, run),
    describing(options, run),
    makeNamed("sql_execute", options, run)
  ) as SkillToolkit.SkillToolkit<any>
}
