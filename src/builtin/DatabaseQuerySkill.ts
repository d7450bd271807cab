/**
 * The skill `database_query`: statements that read, on a database that refuses to write while they run.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"
import * as Skill from "../skill/Skill.js"
import * as SkillToolkit from "../skill/SkillToolkit.js"
import * as ReadOnlyQuery from "./ReadOnlyQuery.js"
import type * as ReadOnlySql from "./ReadOnlySql.js"

/**
 * A statement was not run, or came to nothing.
 *
 * - `Dialect`: the database is neither SQLite nor Postgres
 * - `NotReadOnly`: not exactly one statement that only reads
 * - `Query`: the database refused it; the message is the database's
 * - `UnknownTable`: there is no table of that name
 * - `Connection`: there was no connection
 * - `Timeout`: it took too long
 *
 * @since 0.1.0
 * @category errors
 */
export class DatabaseQueryError extends Schema.TaggedError<DatabaseQueryError>(
  "effect-lexigram/builtin/DatabaseQuerySkill/DatabaseQueryError"
)("DatabaseQueryError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_111"),
  reason: Schema.Literal("Dialect", "NotReadOnly", "Query", "UnknownTable", "Connection", "Timeout")
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Rows of a result: 100 unless given. */
  readonly maxRows?: number | undefined
  /** Characters of a cell; a longer one is cut: 4,096 unless given. */
  readonly maxCellChars?: number | undefined
  /** Characters of a result as a whole, but never less than one row: 262,144 unless given. */
  readonly maxChars?: number | undefined
  /** For a statement, the wait for a connection included: 15 seconds unless given. */
  readonly timeout?: Duration.DurationInput | undefined
}

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

const hints: Readonly<Record<DatabaseQueryError["reason"], string>> = {
  Dialect: "Provide a SqlClient of SQLite or Postgres",
  NotReadOnly: "Send one SELECT, WITH, VALUES or EXPLAIN statement; put names that SQL reserves in double quotes",
  Query: "Correct the statement",
  UnknownTable: "Ask for the tables first",
  Connection: "Try again later",
  Timeout: "Ask for less"
}

const errorOf = (failure: {
  readonly reason: DatabaseQueryError["reason"]
  readonly message: string
}): DatabaseQueryError => new DatabaseQueryError({ ...failure, hint: hints[failure.reason] })

const query = (
  options: Options,
  sql: string | ((dialect: ReadOnlySql.Dialect) => string),
  params: ReadonlyArray<unknown>
): Effect.Effect<ReadOnlyQuery.Rows, DatabaseQueryError, SqlClient.SqlClient> =>
  Effect.mapError(
    ReadOnlyQuery.run(sql, params, {
      maxRows: options.maxRows ?? 100,
      maxCellChars: options.maxCellChars ?? 4096,
      maxChars: options.maxChars ?? 262_144,
      timeoutMs: timeoutOf(options)
    }),
    errorOf
  )

const timeoutOf = (options: Options): number => Duration.toMillis(options.timeout ?? "15 seconds")

/** How every skill that only reads a database is treated. */
const traits = (options: Options) => ({
  category: "database",
  permissions: ["db.query"],
  idempotent: true,
  timeout: timeoutOf(options) + 1000,
  retryable: ({ reason }: DatabaseQueryError) => reason === "Connection"
})

/**
 * The skill `database_query`. A statement is checked token by token, its parameters are bound, and it runs where the database refuses to
 * write: in a read-only transaction on Postgres, under `query_only` on SQLite. What functions of the database can do beyond writing is for the
 * rights of its user to decide: give it one that may only read what models may see.
 *
 * The client's `reserve` must give a connection to one alone, as clients with transactions do. A transaction around the skill is not joined.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { DatabaseQuerySkill } from "effect-lexigram/builtin"
 *
 * const queryDatabase = DatabaseQuerySkill.make({ maxRows: 20, timeout: "5 seconds" })
 * ```
 */
export const make = (options: Options = {}): Skill.Skill<Params, Result, DatabaseQueryError, SqlClient.SqlClient> =>
  named("database_query", options)

const named = (name: string, options: Options): Skill.Skill<Params, Result, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make(name, {
    ...traits(options),
    description: "Runs one SQL statement that reads and gives its rows.",
    parameters: Fields,
    returns: Result,
    handler: ({ params = [], sql }) =>
      Effect.map(query(options, sql, params), ({ columns, rows, truncated }) => ({
        columns,
        rows,
        row_count: rows.length,
        truncated
      }))
  })

/**
 * The skill with its default options.
 *
 * @since 0.1.0
 * @category constructors
 */
export const skill: Skill.Skill<Params, Result, DatabaseQueryError, SqlClient.SqlClient> = make()

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

// The catalogues answer in the form that is asked for here: another one is a bug, and no failure of a user.
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
 * The skill `sql_list_tables`: the tables and views that the user of the database can see, a thousand unless given otherwise.
 *
 * @since 0.1.0
 * @category constructors
 */
export const listTables = (options: Options = {}): Skill.Skill<{}, Tables, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make("sql_list_tables", {
    ...traits(options),
    description: "Lists the tables and views of the database.",
    returns: Tables,
    handler: () =>
      Effect.flatMap(query({ maxRows: 1000, ...options }, tablesSql, []), ({ rows, truncated }) =>
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
export const describe = (
  options: Options = {}
): Skill.Skill<{ readonly table: string }, Description, DatabaseQueryError, SqlClient.SqlClient> =>
  Skill.make("sql_describe", {
    ...traits(options),
    description: "Describes the columns of a table of the database.",
    parameters: { table: Schema.NonEmptyString.pipe(Schema.maxLength(300)) },
    returns: Description,
    handler: ({ table }) =>
      Effect.gen(function* () {
        const { rows, truncated } = yield* query({ maxRows: 1000, ...options }, columnsSql, [table])
        if (rows.length === 0) {
          return yield* errorOf({ reason: "UnknownTable", message: "There is no table or view of that name" })
        }
        return { table, columns: yield* columnsOf(rows), truncated }
      })
  })

/**
 * The skills to explore a database with, as the toolkit `sql`: `sql_list_tables`, `sql_describe` and `sql_execute`, which is `database_query`
 * under the name that goes with the others.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolkit = (
  options: Options = {}
): SkillToolkit.SkillToolkit<
  | Skill.Skill<{}, Tables, DatabaseQueryError, SqlClient.SqlClient>
  | Skill.Skill<{ readonly table: string }, Description, DatabaseQueryError, SqlClient.SqlClient>
  | Skill.Skill<Params, Result, DatabaseQueryError, SqlClient.SqlClient>
> =>
  SkillToolkit.make(
    "sql",
    { description: "Explores a database without changing it." },
    listTables(options),
    describe(options),
    named("sql_execute", options)
  )
