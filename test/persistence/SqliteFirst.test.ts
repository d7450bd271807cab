import type { SqlError } from "@effect/sql/SqlError"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteFailure from "../../src/persistence/sqlite/SqliteFailure.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

/** What the connections have beside those of others. */
interface WithFirst {
  readonly first: (sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<unknown, SqlError>
  readonly execute: (
    sql: string,
    params: ReadonlyArray<unknown>,
    transform: undefined
  ) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
}

const direct = (client: SqliteClient.Service) => (client as unknown as { readonly connection: WithFirst }).connection

SqliteDrivers.suite("the first row of a statement", (driver) => {
  const opened = Effect.gen(function* () {
    const file = yield* SqliteDrivers.file
    const make = SqliteClient.make({ file, driver, busyTimeout: "5 seconds" })
    const client = yield* make
    yield* client.unsafe("CREATE TABLE t (id INTEGER PRIMARY KEY, value)")
    yield* client.unsafe("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    return { client, other: yield* make, file }
  })

  it.scoped("is the first of the list of its rows", () =>
    Effect.gen(function* () {
      const { client } = yield* opened
      const connection = direct(client)
      const queries: ReadonlyArray<readonly [string, ReadonlyArray<unknown>]> = [
        ["SELECT * FROM t ORDER BY id DESC", []],
        ["SELECT * FROM t WHERE id = ?", [2]],
        ["SELECT * FROM t WHERE id = ?", [9]],
        ["SELECT COUNT(*) AS n, NULL AS none FROM t WHERE id > ?", [7]],
        [
          "SELECT ? AS a, ? AS b, ? AS c, ? AS d",
          ["\ud83d\ude00", 9007199254740993n, new Uint8Array([0, 1, 255]), 0.5]
        ],
        ['SELECT 1 AS "__proto__", 2 AS b', []],
        ["VALUES (1, 2), (3, 4)", []]
      ]
      for (const [sql, params] of queries) {
        const all = yield* connection.execute(sql, params, undefined)
        for (let time = 0; time < 2; time++) {
          const first = yield* connection.first(sql, params)
          assert.deepStrictEqual(first, all[0], sql)
          assert.deepStrictEqual(Object.entries(first ?? {}), Object.entries(all[0] ?? {}), sql)
        }
      }
    })
  )

  it.scoped("is independent of earlier executions of the statement", () =>
    Effect.gen(function* () {
      const { client } = yield* opened
      const connection = direct(client)
      yield* client.unsafe("CREATE TABLE u (id INTEGER PRIMARY KEY, n INTEGER CHECK (n < 1000))")
      const run = (sql: string, params: ReadonlyArray<unknown>, way: "first" | "all") =>
        Effect.either(
          way === "first"
            ? connection.first(sql, params)
            : Effect.map(connection.execute(sql, params, undefined), (rows) => rows[0])
        )
      const texts = [
        "SELECT * FROM u WHERE id = ?1 AND n < ?2",
        "SELECT * FROM u WHERE id >= ?1 OR n < ?2 ORDER BY id",
        "UPDATE u SET n = n + ?2 WHERE id = ?1 RETURNING id, n",
        "UPDATE u SET n = n + 1 WHERE id >= ?1 AND n < ?2 RETURNING id, n",
        "INSERT INTO u VALUES (?1, ?2) RETURNING id, n",
        "DELETE FROM u WHERE id = ?1 AND n < ?2 RETURNING id"
      ]
      const asked = FastCheck.record({
        text: FastCheck.constantFrom(...texts),
        id: FastCheck.nat(3),
        n: FastCheck.constantFrom(1, 2, 999, 1_000),
        way: FastCheck.constantFrom("first" as const, "all" as const)
      })
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(FastCheck.array(asked, { minLength: 5, maxLength: 40 }), (questions) =>
            Effect.runPromise(
              Effect.gen(function* () {
                const answers: Array<unknown> = []
                for (const ways of [undefined, "all"] as const) {
                  yield* client.unsafe("DELETE FROM u")
                  const given: Array<unknown> = []
                  for (const { id, n, text, way } of questions) {
                    const answer = yield* run(text, [id, n], ways ?? way)
                    given.push(answer._tag === "Right" ? answer.right : SqliteFailure.codeOf(answer.left))
                  }
                  given.push(yield* client.unsafe("SELECT * FROM u ORDER BY id"))
                  answers.push(given)
                }
                assert.deepStrictEqual(answers[0], answers[1])
              })
            )
          ),
          { numRuns: 40 }
        )
      )
    })
  )

  it.scoped("has the current columns of its table", () =>
    Effect.gen(function* () {
      const { client } = yield* opened
      const connection = direct(client)
      assert.deepStrictEqual(yield* connection.first("SELECT * FROM t", []), { id: 1, value: "one" })
      yield* client.unsafe("ALTER TABLE t ADD COLUMN more DEFAULT 7")
      assert.deepStrictEqual(yield* connection.first("SELECT * FROM t", []), { id: 1, value: "one", more: 7 })
    })
  )

  it.scoped("comes after all writes of a writing statement", () =>
    Effect.gen(function* () {
      const { client, other } = yield* opened
      const connection = direct(client)
      assert.deepStrictEqual(yield* connection.first("UPDATE t SET value = id * 2 RETURNING id, value", []), {
        id: 1,
        value: 2
      })
      assert.deepStrictEqual(yield* other.unsafe("SELECT value FROM t ORDER BY id"), [
        { value: 2 },
        { value: 4 },
        { value: 6 }
      ])
      assert.isUndefined(yield* connection.first("UPDATE t SET value = 1 WHERE id = 9 RETURNING id", []))
      assert.isUndefined(yield* connection.first("DELETE FROM t WHERE id = ?", [3]))
      assert.deepStrictEqual(yield* other.unsafe("SELECT COUNT(*) AS n FROM t"), [{ n: 2 }])
    })
  )

  it.scoped("leaves no lock, whatever rows follow", () =>
    Effect.gen(function* () {
      const { client, other } = yield* opened
      const connection = direct(client)
      yield* connection.first("SELECT * FROM t", [])
      yield* connection.first("UPDATE t SET value = 0 RETURNING id", [])
      yield* other.unsafe("INSERT INTO t VALUES (4, 'four')")
      yield* other.checkpoint
      assert.deepStrictEqual(yield* connection.first("SELECT MAX(id) AS last FROM t", []), { last: 4 })
      yield* connection.first("SELECT * FROM t", [])
      yield* client.unsafe("DROP TABLE t")
    })
  )

  it.scoped("waits for another writer, and says so when that takes too long", () =>
    Effect.gen(function* () {
      const { client, file, other } = yield* opened
      const hasty = yield* SqliteClient.make({ file, driver, busyTimeout: "20 millis" })
      const gate = yield* Effect.makeSemaphore(1)
      yield* gate.take(1)
      const holding = yield* Effect.fork(
        other.withTransaction(Effect.zipRight(other.unsafe("UPDATE t SET value = 'held'"), gate.take(1)))
      )
      // The other one has begun when nobody else can.
      let code: string | undefined
      while (code === undefined) {
        const tried = yield* Effect.either(direct(hasty).first("DELETE FROM t WHERE id = 9 RETURNING id", []))
        if (tried._tag === "Left") code = SqliteFailure.codeOf(tried.left)
        else yield* Effect.yieldNow()
      }
      assert.match(code, /^SQLITE_BUSY/)
      const waiting = yield* Effect.fork(direct(client).first("UPDATE t SET value = value || '!' RETURNING value", []))
      yield* Effect.yieldNow()
      yield* gate.release(1)
      yield* Fiber.join(holding)
      assert.deepStrictEqual(yield* Fiber.join(waiting), { value: "held!" })
    })
  )
})
