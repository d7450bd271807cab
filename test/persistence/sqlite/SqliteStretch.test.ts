import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as NextTurn from "../../../src/internal/fiber/NextTurn.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as SqliteStretch from "../../../src/persistence/sqlite/SqliteStretch.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"

/** Counts turns of the event loop while an effect runs. */
const turnsDuring = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const turns = yield* Ref.make(0)
    const counter = yield* Effect.fork(
      Effect.forever(
        Effect.zipRight(
          NextTurn.nextTurn,
          Ref.update(turns, (n) => n + 1)
        )
      )
    )
    yield* effect
    yield* Fiber.interrupt(counter)
    return yield* Ref.get(turns)
  })

/** Some milliseconds of work in one statement. */
const work =
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT count(*) AS c FROM n"

describe("SqliteStretch", () => {
  const start = () => {
    let time = 0
    const stretch = SqliteStretch.make(() => time)
    return {
      stretch,
      pass: (millis: number) => {
        time += millis
      }
    }
  }

  it.effect("lets statements follow each other for a moment, then asks for a turn", () =>
    Effect.gen(function* () {
      const { pass, stretch } = start()
      assert.isFalse(stretch.isOver(false))
      assert.isFalse(stretch.isOver(false))
      pass(1)
      assert.isTrue(stretch.isOver(false))
      assert.isTrue(stretch.isOver(true))
      yield* NextTurn.nextTurn
      assert.isFalse(stretch.isOver(false))
    })
  )

  it.effect("queues newcomers, except those who hold what others wait for", () =>
    Effect.gen(function* () {
      const { pass, stretch } = start()
      stretch.isOver(false)
      pass(1)
      const order: Array<string> = []
      const waiting = (name: string, isAhead = false) =>
        Effect.fork(
          Effect.zipRight(
            stretch.pause(isAhead),
            Effect.sync(() => order.push(name))
          )
        )
      const fibers = [yield* waiting("first"), yield* waiting("second"), yield* waiting("holder", true)]
      yield* Effect.yieldNow()
      assert.isTrue(stretch.isOver(false))
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(order, ["holder", "first", "second"])
    })
  )

  it.effect("removes an interrupted waiter from the queue", () =>
    Effect.gen(function* () {
      const { pass, stretch } = start()
      stretch.isOver(false)
      pass(1)
      const fiber = yield* Effect.fork(stretch.pause(false))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      yield* NextTurn.nextTurn
      assert.isFalse(stretch.isOver(false))
    })
  )
})

SqliteDrivers.suite("turns of the event loop", (driver) => {
  const inFile = Effect.flatMap(SqliteDrivers.file, (file) => SqliteClient.make({ file, driver }))

  it.scoped("come for timers and sockets while a fiber reads in a loop", () =>
    Effect.gen(function* () {
      const sql = yield* inFile
      assert.isAbove(yield* turnsDuring(Effect.repeatN(sql.unsafe(work), 60)), 10)
      const streamed = sql.unsafe(`${work.replace("count(*) AS c", "i").replace("30000", "60000")}`).stream
      assert.isAbove(yield* turnsDuring(Stream.runDrain(streamed)), 3)
    })
  )

  it.scoped("come while one writes in transactions, and during one long transaction", () =>
    Effect.gen(function* () {
      const sql = yield* inFile
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT)`
      const write = sql`INSERT INTO t (text) VALUES ('a')`
      const transaction = Effect.provideService(
        sql.withTransaction(Effect.zipRight(sql.unsafe(work), write)),
        SqlClient.SqlClient,
        sql
      )
      assert.isAbove(yield* turnsDuring(Effect.repeatN(transaction, 60)), 10)
      assert.isAbove(
        yield* turnsDuring(sql.withTransaction(Effect.repeatN(Effect.zipRight(sql.unsafe(work), write), 60))),
        10
      )
    })
  )

  it.scoped("come for others and for each other while fibers never stop", () =>
    Effect.gen(function* () {
      const sql = yield* inFile
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, who TEXT)`
      const counts = [0, 0, 0, 0]
      const endless = (who: number) =>
        Effect.forever(
          Effect.zipRight(
            sql.withTransaction(Effect.zipRight(sql.unsafe(work), sql`INSERT INTO t (who) VALUES (${String(who)})`)),
            Effect.sync(() => void counts[who]!++)
          )
        )
      const busy = yield* Effect.forEach([0, 1], (who) => Effect.fork(endless(who)))
      const others = yield* Effect.forEach([2, 3], (who) =>
        Effect.fork(
          Effect.repeatN(
            Effect.zipRight(
              sql.unsafe(work),
              Effect.sync(() => void counts[who]!++)
            ),
            39
          )
        )
      )
      yield* Fiber.joinAll(others)
      yield* Fiber.interruptAll(busy)
      assert.deepStrictEqual(counts.slice(2), [40, 40])
      const [first = 0, second = 0] = counts
      assert.isAbove(Math.min(first, second), 0)
      assert.isAtMost(Math.max(first, second), 3 * Math.min(first, second) + 3)
    })
  )
})
