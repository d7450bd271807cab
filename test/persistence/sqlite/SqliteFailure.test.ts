import { SqlError } from "@effect/sql/SqlError"
import { assert, describe, it } from "@effect/vitest"
import * as SqliteFailure from "../../../src/persistence/sqlite/SqliteFailure.js"

const thrown = (fields: object) => Object.assign(new Error("a message"), fields)

describe("SqliteFailure", () => {
  it("normalizes the errors of each driver", () => {
    const names: ReadonlyArray<readonly [fields: object, code: string]> = [
      [{ code: "ERR_SQLITE_ERROR", errcode: 2067 }, "SQLITE_CONSTRAINT_UNIQUE"],
      [{ code: "SQLITE_CONSTRAINT_UNIQUE", rawCode: 2067 }, "SQLITE_CONSTRAINT_UNIQUE"],
      [{ code: "SQLITE_CONSTRAINT_UNIQUE" }, "SQLITE_CONSTRAINT_UNIQUE"],
      [{ errcode: 1555 }, "SQLITE_CONSTRAINT_PRIMARYKEY"],
      [{ errcode: 787 }, "SQLITE_CONSTRAINT_FOREIGNKEY"],
      [{ errcode: 5 }, "SQLITE_BUSY"],
      [{ errcode: 261 }, "SQLITE_BUSY_RECOVERY"],
      [{ errcode: 517 }, "SQLITE_BUSY_SNAPSHOT"],
      [{ errcode: 8 }, "SQLITE_READONLY"],
      [{ errcode: 10 }, "SQLITE_IOERR"],
      [{ errcode: 778 }, "SQLITE_IOERR_WRITE"],
      [{ errcode: 3338 }, "SQLITE_IOERR_ACCESS"],
      [{ errcode: 11 }, "SQLITE_CORRUPT"],
      [{ errcode: 13 }, "SQLITE_FULL"],
      [{ errcode: 14 }, "SQLITE_CANTOPEN"],
      [{ errcode: 26 }, "SQLITE_NOTADB"],
      [{ errcode: 516 }, "SQLITE_ABORT_ROLLBACK"],
      [{ errcode: 99 }, "SQLITE_ERROR"],
      [{ code: "SQLITE_OK", rawCode: 0 }, "SQLITE_ERROR"],
      [{ code: "ERR_INVALID_STATE" }, "SQLITE_ERROR"],
      [{ code: "ERR_SQLITE_ERROR", message: "database is locked" }, "SQLITE_BUSY"],
      [{ code: "ERR_SQLITE_ERROR", message: "UNIQUE constraint failed: t.id" }, "SQLITE_CONSTRAINT_UNIQUE"],
      [{ code: "ERR_SQLITE_ERROR", message: "database is locked", errcode: 1 }, "SQLITE_ERROR"],
      [{ message: "database is locked" }, "SQLITE_ERROR"]
    ]
    for (const [fields, code] of names) assert.strictEqual(SqliteFailure.from(thrown(fields), []).code, code)
    assert.strictEqual(SqliteFailure.from("?", [], "SQLITE_CANTOPEN").code, "SQLITE_CANTOPEN")
  })

  it("is found in an SqlError and in anything with that cause", () => {
    const error = SqliteFailure.toSqlError(SqliteFailure.from(thrown({ errcode: 5 }), []))
    assert.strictEqual(SqliteFailure.codeOf(error), "SQLITE_BUSY")
    assert.strictEqual(SqliteFailure.codeOf(new Error("outer", { cause: error })), "SQLITE_BUSY")
    assert.isTrue(SqliteFailure.isBusy(error))
    assert.isUndefined(SqliteFailure.codeOf(new SqlError({ cause: new Error("no") })))
    assert.isUndefined(SqliteFailure.codeOf(undefined))
  })

  it("shows no parameters", () => {
    const message = (text: string, params: ReadonlyArray<unknown>) =>
      SqliteFailure.from(Object.assign(new Error(text), { errcode: 1 }), params).message
    assert.strictEqual(message('fts5: syntax error near "secret"', ["a secret AND"]), 'fts5: syntax error near "…"')
    assert.strictEqual(message("no such column: secret", ["secret:x"]), "no such column: …")
    assert.strictEqual(message("no such column: nmae", ["secret"]), "no such column: nmae")
    assert.strictEqual(message("no such column: nmae", [1, null]), "no such column: nmae")
  })
})
