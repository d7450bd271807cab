/** Tables of the SQL stores in a database. */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"

/**
 * Existing tables except the one of migrations, including renamed ones. Excludes the full-text tables, which SQLite
 * does not let others write.
 */
export const names: Effect.Effect<ReadonlyArray<string>, SqlError, SqlClient.SqlClient> = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    Effect.map(
      sql.unsafe<{ readonly name: string }>(
        sql.onDialectOrElse({
          sqlite: () =>
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'lex_memory_words%'",
          orElse: () => "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()"
        })
      ),
      (rows) => rows.map(({ name }) => name).filter((name) => /^(?:lex|gone)_/.test(name) && name !== "lex_migrations")
    )
)

/** Deletes all rows, of tables in any order. */
export const empty: Effect.Effect<void, SqlError, SqlClient.SqlClient> = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  sql.withTransaction(
    Effect.flatMap(names, (tables) =>
      Effect.zipRight(
        sql.onDialectOrElse({
          sqlite: () => Effect.asVoid(sql.unsafe("PRAGMA defer_foreign_keys = ON")),
          orElse: () => Effect.void
        }),
        Effect.forEach(tables, (name) => sql.unsafe(`DELETE FROM ${name}`), { discard: true })
      )
    )
  )
)
