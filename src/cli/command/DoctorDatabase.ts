/**
 * Looks for faults of the database of an application. Its own module: the packages of SQL are optional.
 *
 * @private
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Database from "../../persistence/engine/Database.js"
import * as Migrations from "../../persistence/schema/Migrations.js"

/** Makes a table in a transaction that is rolled back. */
const write = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(
    Effect.either(
      sql.withTransaction(
        Effect.zipRight(sql`CREATE TABLE lex_doctor (id INTEGER)`, Effect.fail({ _tag: "RolledBack" as const }))
      )
    ),
    (ended) => (ended._tag === "Left" && ended.left._tag === "RolledBack" ? Effect.void : ended)
  )

/**
 * Says the kind and the version of the database in a context, and that it can be written. None if there is none.
 *
 * @category execution
 */
export const check = (services: Context.Context<never>): Effect.Effect<Option.Option<string>, unknown> =>
  Option.match(Context.getOption(services as Context.Context<unknown>, SqlClient.SqlClient), {
    onNone: () => Effect.succeedNone,
    onSome: (sql) =>
      Effect.gen(function* () {
        const { dialect } = yield* Database.open
        yield* Migrations.check
        yield* write(sql)
        return Option.some(`${dialect.name}, tables of version ${Migrations.version}, can be written`)
      }).pipe(Effect.provideService(SqlClient.SqlClient, sql))
  })
