/** Rows of sessions in a database: deletion leaves none. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

export const tables = [
  "lex_sessions",
  "lex_session_states",
  "lex_session_turns",
  "lex_session_checkpoints",
  "lex_payloads"
] as const

export const count = (table: string): Effect.Effect<number, unknown, SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (client) =>
    Effect.map(client.unsafe<{ readonly n: number }>(`SELECT COUNT(*) AS n FROM ${table}`), ([row]) => Number(row?.n))
  )

export const left: Effect.Effect<number, unknown, SqlClient.SqlClient> = Effect.map(
  Effect.forEach(tables, count),
  (counts) => counts.reduce((a, b) => a + b, 0)
)
