import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as ReadOnlySql from "../../../src/builtin/sql/ReadOnlySql.js"
import * as Growth from "../../support/Growth.js"

const both = ["sqlite", "pg"] as const

const accepts = (sql: string, dialect: ReadOnlySql.Dialect) => Either.isRight(ReadOnlySql.make(sql, dialect))

describe("ReadOnlySql", () => {
  it.each([
    ["SELECT 1"],
    ["select * from t where a = 'DELETE FROM t; --'"],
    ['SELECT "delete", "into" FROM t'],
    ["SELECT t.update FROM t"],
    ["SELECT 1;"],
    ["SELECT 1 ; -- and done"],
    ["-- first\nSELECT 1 /* ; DELETE */"],
    ["WITH a AS (SELECT 1), b AS (SELECT 2) SELECT * FROM a, b"],
    ["VALUES (1), (2)"],
    ["(SELECT 1) UNION (SELECT 2)"],
    ["EXPLAIN SELECT 1"],
    ["SELECT replace(a, 'x', 'y') FROM t"],
    ["SELECT deleted, updated_at, insert_id FROM t"],
    ["SELECT 'it''s; DELETE'"]
  ])("runs %s everywhere", (sql) => {
    for (const dialect of both) assert.isTrue(accepts(sql, dialect), dialect)
  })

  it.each([
    [""],
    ["   "],
    [";"],
    ["-- SELECT 1"],
    ["DELETE FROM t"],
    ["INSERT INTO t VALUES (1)"],
    ["UPDATE t SET a = 1"],
    ["DROP TABLE t"],
    ["CREATE TABLE t (a)"],
    ["ATTACH 'x' AS y"],
    ["PRAGMA query_only = OFF"],
    ["VACUUM"],
    ["BEGIN"],
    ["COMMIT"],
    ["SET TRANSACTION READ WRITE"],
    ["COPY t TO PROGRAM 'x'"],
    ["DO $$ BEGIN END $$"],
    ["CALL p()"],
    ["SELECT 1; DELETE FROM t"],
    ["SELECT 1;;"],
    ["SELECT 1; ;"],
    ["SELECT * INTO u FROM t"],
    ["WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a"],
    ["WITH a AS (SELECT 1) DELETE FROM t"],
    ["WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a"],
    ["WITH a AS (SELECT 1) REPLACE INTO t SELECT * FROM a"],
    ["SELECT * FROM t FOR UPDATE"],
    ["SELECT * FROM t FOR NO KEY UPDATE"],
    ["SELECT * FROM t FOR SHARE"],
    ["EXPLAIN ANALYZE DELETE FROM t"],
    ["EXPLAIN (ANALYZE, BUFFERS) DELETE FROM t"],
    ["EXPLAIN"],
    ["EXPLAIN CREATE TABLE u AS SELECT 1"],
    ["SELECT 1) AS x; DELETE FROM t; --"],
    ["SELECT 1) UNION (SELECT 2"],
    ["SELECT (1"],
    ["SELECT 'a"],
    ['SELECT "a'],
    ["SELECT /* a"],
    ["SELECT 1\0"],
    ["'SELECT' 1"],
    ["SEL/**/ECT 1"],
    ["\ufeffDELETE FROM t"]
  ])("runs %s nowhere", (sql) => {
    for (const dialect of both) assert.isFalse(accepts(sql, dialect), dialect)
  })

  it.each([
    // Comments of Postgres hold comments.
    ["SELECT 1 /* /* */ ; DELETE FROM t -- */", { sqlite: false, pg: true }],
    ["SELECT 1 /* /* */ - 1", { sqlite: true, pg: false }],
    ["SELECT 1 /* /* */ ' */ ; DELETE FROM t -- '", { sqlite: true, pg: false }],
    // A carriage return ends a comment of Postgres.
    ["SELECT 1 --\r ; DELETE FROM t", { sqlite: true, pg: false }],
    // Backslashes escape in strings with an E alone.
    ["SELECT E'\\'; DELETE FROM t; --'", { sqlite: false, pg: true }],
    ["SELECT '\\'; DELETE FROM t; --'", { sqlite: false, pg: false }],
    ["SELECT date'2020-01-01'", { sqlite: true, pg: false }],
    ["SELECT 1e'\\'; DELETE FROM t; --'", { sqlite: false, pg: false }],
    // Texts in dollars.
    ["SELECT $$; DELETE FROM t$$", { sqlite: false, pg: true }],
    ["SELECT $a$ $$ ; DELETE $a$", { sqlite: false, pg: true }],
    ["SELECT $a$ $b$ ; DELETE FROM t", { sqlite: false, pg: false }],
    ["SELECT 1$$'$$; DELETE FROM t; --'", { sqlite: false, pg: false }],
    ["SELECT $1, $2", { sqlite: false, pg: true }],
    ["SELECT ?", { sqlite: true, pg: true }],
    // Names of parameters hold quotes in SQLite.
    ["SELECT $a(') ; DELETE FROM t; --')", { sqlite: false, pg: false }],
    ["SELECT :a", { sqlite: false, pg: true }],
    ["SELECT a::text, b->>'c' FROM t", { sqlite: false, pg: true }],
    // Quotes of SQLite alone.
    ["SELECT [a;b], `c;d` FROM t", { sqlite: true, pg: false }],
    ["SELECT a[1] FROM t", { sqlite: true, pg: true }],
    ["SELECT [a'] ; DELETE FROM t; --'", { sqlite: false, pg: false }]
  ] as const)("reads %s as the database does", (sql, expected) => {
    assert.deepStrictEqual({ sqlite: accepts(sql, "sqlite"), pg: accepts(sql, "pg") }, expected)
  })

  it("drops the end of a statement", () => {
    assert.deepStrictEqual(
      ReadOnlySql.make("SELECT 1 ; -- x", "pg"),
      Either.right({ kind: "query", sql: "SELECT 1 ", names: [] })
    )
    const explained = Either.getOrThrow(ReadOnlySql.make("EXPLAIN (ANALYZE) SELECT 1", "pg"))
    assert.strictEqual(explained.kind, "explain")
  })

  it("ignores quoted text", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ maxLength: 200 }), (text) => {
        for (const dialect of both) {
          const quoted = `SELECT '${text.replaceAll("'", "''").replaceAll("\0", "")}'`
          assert.isTrue(accepts(quoted, dialect), quoted)
          assert.isFalse(accepts(`${quoted}; DELETE FROM t`, dialect))
        }
      })
    )
  })

  it.each([["("], ["'"], ["/*"], ["$a"], ["$"], ["-"], ['"'], ["a "], [";"], ["[("], ["E'"], [")"]])(
    "decides %s, repeated, in linear time",
    (part) => {
      for (const dialect of both) {
        const run = (text: string) => accepts(`SELECT ${text}`, dialect)
        // An even number of quotes as a whole and in each piece: where one is open there is less to read.
        Growth.assertLinearTexts([part], run, 51_200 * part.length)
      }
    }
  )
})
