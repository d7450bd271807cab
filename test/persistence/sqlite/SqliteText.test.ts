import { assert, describe, it } from "@effect/vitest"
import * as SqliteText from "../../../src/persistence/sqlite/SqliteText.js"

describe("SqliteText", () => {
  it("counts statements", () => {
    const counts: ReadonlyArray<readonly [sql: string, statements: number]> = [
      ["", 0],
      [" ;; \n-- select 1\n /* select ; 2 */ ;", 0],
      ["SELECT 1", 1],
      ["SELECT 1;", 1],
      ["SELECT 1; -- and no more;", 1],
      ["SELECT 1; SELECT 2", 2],
      ["SELECT ';', \";\", `;`, [;] /* ; */ -- ;", 1],
      ["SELECT 'it''s; one', \"a\"\";\"", 1],
      ["SELECT 'never ended ; ", 1],
      ["SELECT 1 /* never ended ; ", 1]
    ]
    for (const [sql, statements] of counts) assert.strictEqual(SqliteText.scan(sql).statements, statements, sql)
  })

  it("counts parameters", () => {
    const counts: ReadonlyArray<readonly [sql: string, parameters: number | undefined]> = [
      ["SELECT 1", 0],
      ["SELECT ?, ?", 2],
      ["SELECT ?2, ?1, ?2", 2],
      ["SELECT '?', \"?\", [?], `?` -- ?\n, /* ? */ ?", 1],
      ["SELECT a->>'$.b', c->'$[0]' FROM t WHERE d = ?", 1],
      ["SELECT :name", undefined],
      ["SELECT @name, ?", undefined],
      ["SELECT $name", undefined],
      ["SELECT a$b FROM t", 0]
    ]
    for (const [sql, parameters] of counts) assert.strictEqual(SqliteText.scan(sql).parameters, parameters, sql)
  })

  it("recognizes statements that only read", () => {
    for (const sql of [
      "select 1",
      "-- a\nSELECT 1",
      "VALUES (1)",
      "EXPLAIN DELETE FROM t",
      "PRAGMA user_version",
      "WITH a AS (SELECT 1) SELECT * FROM a",
      "WITH a AS (SELECT 'delete') SELECT \"update\" FROM a"
    ]) {
      assert.isTrue(SqliteText.scan(sql).isRead, sql)
    }
    for (const sql of [
      "INSERT INTO t VALUES (1)",
      "with a as (select 1) delete from t",
      "CREATE TABLE t (a)",
      "",
      "x"
    ]) {
      assert.isFalse(SqliteText.scan(sql).isRead, sql)
    }
  })

  it("recognizes changes of tables, triggers, stars and transaction bounds", () => {
    assert.isTrue(SqliteText.scan("insert into t values (1); alter table t add b").changesSchema)
    assert.isFalse(SqliteText.scan("select 'drop table t'").changesSchema)
    assert.isTrue(SqliteText.scan("CREATE TEMP TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END").isTrigger)
    assert.isFalse(SqliteText.scan("CREATE TABLE trigger_ (a)").isTrigger)
    assert.isTrue(SqliteText.scan("SELECT t.* FROM t").hasStar)
    assert.isFalse(SqliteText.scan("SELECT count(*) FROM t").hasStar)
    assert.strictEqual(SqliteText.scan("begin immediate").transaction, "begin")
    assert.strictEqual(SqliteText.scan("ROLLBACK").transaction, "rollback")
    assert.strictEqual(SqliteText.scan("ROLLBACK TO a").transaction, "other")
    assert.strictEqual(SqliteText.scan("RELEASE a").transaction, "other")
    assert.isUndefined(SqliteText.scan("SELECT 'BEGIN'").transaction)
  })

  it("reads long hostile texts at once", () => {
    for (const piece of ["'", "''", '"', "/*", "--\n", "?", "(", "a ", "[", "$a", ";", "0x"]) {
      SqliteText.scan(piece.repeat(50_000))
    }
  })
})
