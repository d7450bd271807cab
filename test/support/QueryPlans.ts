/** How a database goes about a statement. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Param } from "../../src/persistence/engine/Dialect.js"

/**
 * The lines of a plan, as if the tables were large. A list may stand among the parameters of Postgres. Nothing of the statement is done.
 */
export const explain = (statement: string, params: ReadonlyArray<Param>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const read = (text: string) => sql.unsafe<any>(text, params as ReadonlyArray<any>).values
    return yield* sql.onDialectOrElse({
      pg: () =>
        sql.withTransaction(
          Effect.gen(function* () {
            for (const way of ["seqscan", "sort"]) yield* sql.unsafe(`SET LOCAL enable_${way} = off`)
            return (yield* read(`EXPLAIN ${statement}`)).map(([line]) => String(line))
          })
        ),
      orElse: () => Effect.map(read(`EXPLAIN QUERY PLAN ${statement}`), (rows) => rows.map((row) => String(row[3])))
    })
  })

/**
 * No table of ours is read from its beginning to its end. `sorts: false`: nor are its rows put into order. `by`: what SQLite, which knows nothing of
 * how many rows there are, finds them by.
 */
export const usesIndexes = (
  name: string,
  statement: string,
  params: ReadonlyArray<Param>,
  options?: { readonly sorts?: boolean; readonly by?: RegExp | undefined }
) =>
  Effect.map(explain(statement, params), (lines) => {
    const plan = `${name}:\n${lines.join("\n")}`
    assert.isNotEmpty(lines, plan)
    if (options?.by !== undefined && /^(?:SEARCH|SCAN) /m.test(plan)) assert.match(plan, options.by)
    const made = new Set(lines.flatMap((line) => /^(?:CO-ROUTINE|MATERIALIZE) (.+)$/.exec(line)?.[1] ?? []))
    for (const line of lines) {
      assert.notMatch(line, /Seq Scan on lex_/, plan)
      const scanned = /^SCAN (\S+)/.exec(line)?.[1]
      if (scanned !== undefined) assert.isTrue(scanned === "json_each" || made.has(scanned), plan)
      if (options?.sorts === false) assert.notMatch(line, /\bSort\b|USE TEMP B-TREE FOR ORDER BY/, plan)
    }
  })
