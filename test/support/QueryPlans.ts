/** Query plans of a database. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Param } from "../../src/persistence/engine/Dialect.js"

/**
 * Lines of a plan, as if the tables were large. Postgres parameters may include a list. The statement is not executed.
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
 * Checks that no table of ours is scanned. `sorts: false`: nor are its rows sorted. `by`: the index that SQLite, which
 * does not know row counts, must use.
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
