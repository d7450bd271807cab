import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as CostLedger from "../../../src/governance/store/CostLedger.js"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as Dialect from "../../../src/persistence/engine/Dialect.js"
import * as Book from "../../../src/persistence/governance/CostLedgerBook.js"
import * as CostLedgerStatements from "../../../src/persistence/governance/CostLedgerStatements.js"
import * as SqlCostLedger from "../../../src/persistence/governance/SqlCostLedger.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import { suite } from "../../governance/store/CostLedgerSuite.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as QueryPlans from "../../support/QueryPlans.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as TcpProxy from "../../support/servers/TcpProxy.js"
import * as TestServers from "../../support/TestServers.js"

const postgres = await PostgresServer.database({ setup: Migrations.run })

const of = (nanoUsd: number, tokens = 0): CostLedger.Amount => ({ nanoUsd, tokens })
const nothing: CostLedger.Balance = { spent: of(0), reserved: of(0) }
const upTo = (account: string, nanoUsd: number) => ({ account, limit: { nanoUsd } })

const rowsOf = (table: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.map(sql.unsafe<{ n: unknown }>(`SELECT COUNT(*) AS n FROM ${table}`), ([row]) => Number(row?.n))
  )

/** What accounts say is reserved is what their holds come to. */
const consistent = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ account: string; reserved: unknown; held: unknown }>(
    `SELECT a.account, a.reserved_usd AS reserved, COALESCE(SUM(h.usd), 0) AS held
    FROM lex_ledger_accounts a LEFT JOIN lex_ledger_holds h ON h.account = a.account GROUP BY a.account, a.reserved_usd`
  )
  for (const { account, held, reserved } of rows) assert.strictEqual(Number(reserved), Number(held), account)
})

SqlBackends.suite("SqlCostLedger", (database) => {
  const dialect = database.dialect === "sqlite" ? Dialect.sqlite : Dialect.postgres
  const numRuns = dialect.name === "sqlite" ? 60 : 20
  suite(dialect.name, Layer.provide(SqlCostLedger.layer(), database.layer), { numRuns })

  const both = Layer.provideMerge(SqlCostLedger.layer(), database.layer)
  const again = Effect.provide(SqlCostLedger.make(), database.kept)
  const test = (fact: string, body: Effect.Effect<void, unknown, CostLedger.CostLedger | SqlClient.SqlClient>) =>
    it.effect(fact, () => Effect.provide(body, both))

  test(
    "describes itself",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      assert.strictEqual(ledger.backend, dialect.name)
      assert.isTrue(ledger.isPersistent)
    })
  )

  test(
    "shares its book with another store on the same database",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      yield* ledger.hold({ id: "h", amount: of(10), accounts: [upTo("a", 10)] })
      const other = yield* again
      assert.strictEqual((yield* other.hold({ id: "i", amount: of(1), accounts: [upTo("a", 10)] }))._tag, "Refused")
      assert.isDefined(yield* other.settle("h", of(4)))
      assert.isUndefined(yield* ledger.settle("h", of(4)))
      assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(4), reserved: of(0) })
    })
  )

  it.effect("keeps holds and accounts for the configured time", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      yield* ledger.hold({ id: "h", amount: of(10), accounts: [{ account: "a" }] })
      yield* ledger.book(["a", "b"], of(1))
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(1), reserved: of(10) })
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(1), reserved: of(0) })
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual((yield* ledger.book(["b"], of(2)))[0]?.balance.spent, of(3))
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* ledger.read("a"), nothing)
      assert.deepStrictEqual((yield* ledger.book(["a"], of(5)))[0]?.balance, { spent: of(5), reserved: of(0) })
    }).pipe(
      Effect.provide(Layer.provide(SqlCostLedger.layer({ holdTtl: "1 second", spendTtl: "2 seconds" }), database.layer))
    )
  )

  it.effect("keeps an account as long as it has a hold", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      yield* ledger.hold({ id: "h", amount: of(1), accounts: [{ account: "a" }] })
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(1))
    }).pipe(Effect.provide(Layer.provide(SqlCostLedger.layer({ spendTtl: 0 }), database.layer)))
  )

  it.effect("keeps the accounts of a renewed hold", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      yield* ledger.hold({ id: "h", amount: of(10), accounts: [{ account: "b" }, { account: "a" }] })
      for (let round = 0; round < 4; round++) {
        yield* TestClock.adjust("900 millis")
        assert.strictEqual(yield* ledger.renew(["h"]), 1)
      }
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(10))
      assert.isDefined(yield* ledger.settle("h", of(4)))
      assert.deepStrictEqual(yield* ledger.read("b"), { spent: of(4), reserved: of(0) })
    }).pipe(
      Effect.provide(Layer.provide(SqlCostLedger.layer({ holdTtl: "1 second", spendTtl: "1 second" }), database.layer))
    )
  )

  test(
    "releases expired holds one by one before each decision",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      const hold = (id: string) =>
        ledger.hold({ id, amount: of(50), accounts: [upTo("a", 100), { account: `run:${id}` }] })
      yield* hold("1")
      yield* TestClock.adjust("15 seconds")
      yield* hold("2")
      assert.deepStrictEqual(yield* hold("3"), {
        _tag: "Refused",
        account: "a",
        unit: "nanoUsd",
        limit: 100,
        used: 100
      })
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual((yield* hold("3"))._tag, "Held")
      assert.strictEqual((yield* hold("4"))._tag, "Refused")
      assert.deepStrictEqual((yield* ledger.book(["a"], of(1)))[0]?.balance, { spent: of(1), reserved: of(100) })
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual((yield* ledger.book(["a"], of(1)))[0]?.balance, { spent: of(2), reserved: of(50) })
      assert.deepStrictEqual(yield* ledger.read("run:1"), nothing)
      yield* consistent
    })
  )

  test(
    "accepts the id of an expired hold for another account and amount",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      const accounts = ["a", "b", "c"].map((account) => ({ account }))
      yield* ledger.hold({ id: "h", amount: of(5), accounts })
      yield* TestClock.adjust(CostLedger.HOLD_TTL)
      yield* ledger.book(["b"], of(1))
      assert.strictEqual((yield* ledger.hold({ id: "h", amount: of(7), accounts: [upTo("c", 7)] }))._tag, "Held")
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(0))
      assert.deepStrictEqual((yield* ledger.read("c")).reserved, of(7))
      assert.strictEqual((yield* ledger.settle("h", of(3)))?.length, 1)
      yield* consistent
    })
  )

  test(
    "accepts a hold without accounts",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      assert.strictEqual((yield* ledger.hold({ id: "h", amount: of(5), accounts: [] }))._tag, "Held")
      assert.deepStrictEqual(yield* ledger.settle("h", of(5)), [])
      assert.isUndefined(yield* ledger.settle("h", of(5)))
      assert.deepStrictEqual(yield* ledger.book([], of(5)), [])
    })
  )

  test(
    "accepts more accounts than a statement takes, and names that no database stores unchanged",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      const names = ["\0", "\u0001", "\ud800", "\udc00", "\uffff", "", " ", "?", "$1", "😀"]
      const accounts = [...names, ...Array.from({ length: 240 }, (_, index) => `account ${index}`)]
      yield* ledger.book(accounts, of(1))
      yield* ledger.hold({ id: "\0", amount: of(2), accounts: accounts.map((account) => ({ account })) })
      yield* ledger.hold({ id: "\u0001", amount: of(2), accounts: [{ account: "\ud800" }] })
      const settled = yield* ledger.settle("\0", of(3))
      assert.deepStrictEqual(
        settled?.map(({ account }) => account),
        accounts
      )
      for (const name of names) {
        const reserved = of(name === "\ud800" ? 2 : 0)
        assert.deepStrictEqual(yield* ledger.read(name), { spent: of(4), reserved })
      }
      yield* consistent
    })
  )

  test(
    "caps sums at the largest whole number",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      yield* ledger.book(["a"], of(Number.MAX_SAFE_INTEGER - 1))
      for (const amount of [1, 1, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])
        yield* ledger.book(["a"], of(amount))
      assert.deepStrictEqual((yield* ledger.read("a")).spent, of(Number.MAX_SAFE_INTEGER))
      assert.strictEqual((yield* ledger.hold({ id: "h", amount: of(1), accounts: [upTo("a", 1e15)] }))._tag, "Refused")
    })
  )

  test(
    "deletes expired holds that nobody asks for",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      for (let index = 0; index < 60; index++) {
        const accounts = [{ account: `run:${index}` }, { account: "user" }]
        yield* ledger.hold({ id: `h${index}`, amount: of(1), accounts })
      }
      yield* TestClock.adjust(CostLedger.HOLD_TTL)
      for (let index = 0; index < 32; index++) yield* ledger.release("nothing")
      assert.strictEqual(yield* rowsOf("lex_ledger_holds"), 0)
      yield* consistent
      yield* TestClock.adjust(CostLedger.SPEND_TTL)
      for (let index = 0; index < 32; index++) yield* ledger.release("nothing")
      assert.strictEqual(yield* rowsOf("lex_ledger_accounts"), 0)
    })
  )

  test(
    "exceeds no limit and loses nothing with 64 fibers in two stores",
    Effect.gen(function* () {
      const stores = [yield* CostLedger.CostLedger, yield* again]
      const limit = 100
      const play = (index: number) =>
        Effect.gen(function* () {
          const ledger = stores[index % 2] as CostLedger.Service
          let spent = 0
          for (let round = 0; round < 4; round++) {
            const id = `${index}:${round}`
            const own = { account: `run:${index % 7}` }
            const shared = upTo("shared", limit)
            const accounts = index % 2 === 0 ? [own, shared] : [shared, own]
            const held = yield* ledger.hold({ id, amount: of(9), accounts })
            if (held._tag === "Refused") continue
            const { reserved, spent: before } = yield* ledger.read("shared")
            assert.isAtMost(before.nanoUsd + reserved.nanoUsd, limit)
            if (round === 0) yield* ledger.release(id)
            else if (round === 3 && index % 16 === 0) yield* ledger.close(own.account)
            else if ((yield* ledger.settle(id, of(1))) !== undefined) spent++
          }
          return spent
        })
      const spent = yield* Effect.forEach(
        Array.from({ length: 64 }, (_, index) => index),
        play,
        { concurrency: "unbounded" }
      )
      const ledger = stores[0] as CostLedger.Service
      const { reserved, spent: total } = yield* ledger.read("shared")
      assert.strictEqual(
        total.nanoUsd,
        spent.reduce((sum, each) => sum + each, 0)
      )
      assert.strictEqual(reserved.nanoUsd, 0)
      yield* consistent
    })
  )

  test(
    "does all of a step or nothing when interrupted",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      for (let round = 0; round < 24; round++) {
        const id = `h${round}`
        const end: Effect.Effect<unknown, unknown> =
          round % 2 === 0 ? ledger.settle(id, of(2)) : ledger.close(`run:${round}`)
        const hold = ledger.hold({ id, amount: of(5), accounts: [{ account: "a" }, { account: `run:${round}` }] })
        const fiber = yield* Effect.fork(Effect.zipRight(hold, end))
        for (let turn = 0; turn < round * 3; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        yield* consistent
      }
      for (let round = 0; round < 24; round++) yield* ledger.release(`h${round}`)
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, of(0))
    })
  )

  test(
    "joins the caller's transaction, only in one of the same client",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      const sql = yield* SqlClient.SqlClient
      const other = yield* SqliteClient.make({ file: ":memory:" })
      const work = Effect.gen(function* () {
        yield* ledger.hold({ id: "h", amount: of(5), accounts: [upTo("a", 5)] })
        assert.strictEqual((yield* ledger.hold({ id: "i", amount: of(5), accounts: [upTo("a", 5)] }))._tag, "Refused")
        yield* ledger.book(["a"], of(1))
        assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(1), reserved: of(5) })
        return yield* Effect.fail("undone")
      })
      yield* Effect.flip(sql.withTransaction(work))
      assert.deepStrictEqual(yield* ledger.read("a"), nothing)
      yield* Effect.flip(other.withTransaction(work))
      assert.deepStrictEqual(yield* ledger.read("a"), { spent: of(1), reserved: of(5) })
    }).pipe(Effect.scoped)
  )

  test(
    "finds and erases a user's monthly sums, and nobody else's",
    Effect.gen(function* () {
      const ledger = yield* CostLedger.CostLedger
      const access = yield* Database.open
      const book = Book.make(dialect)
      const months = ["user:a:2026-01", "user:a:2026-12"]
      yield* ledger.book([...months, "user:a:b:2026-01", "user:a", "user:b:2026-01", "shared:2026-01"], of(3, 1))
      yield* ledger.hold({ id: "h", amount: of(2), accounts: [{ account: "user:a:2026-12" }, { account: "run:1" }] })
      assert.deepStrictEqual(yield* book.ofUser(access, "a"), [
        { account: "user:a:2026-01", spent: of(3, 1), reserved: of(0) },
        { account: "user:a:2026-12", spent: of(3, 1), reserved: of(2) }
      ])
      for (const month of months) yield* ledger.close(month)
      assert.deepStrictEqual(yield* book.ofUser(access, "a"), [])
      assert.strictEqual((yield* book.ofUser(access, "a:b")).length, 1)
      assert.deepStrictEqual(yield* ledger.read("run:1"), nothing)
    })
  )

  test(
    "finds the rows of every statement by an index",
    Effect.gen(function* () {
      const texts = CostLedgerStatements.make(dialect)
      const list = dialect.list(["a", "b"])
      const plans: Array<readonly [keyof typeof texts, string, ReadonlyArray<Dialect.Param>]> = [
        ["write", texts.write(2), ["a", 1, 1, 1, 1, 1, 1, 1, "b", 1, 1, 1, 1, 1, 1, 1]],
        ["writeAlone", texts.writeAlone, ["a", 1, 1, 1, 1, 1, 1, 1]],
        ["remove", texts.remove, ["h", 1]],
        ["renew", texts.renew, [2, list, 1]],
        ["lockShorter", texts.lockShorter, [list, 2]],
        ["keep", texts.keep, [2, list]],
        ["removeOver", texts.removeOver, ["h", 1]],
        ["removeOverIn", texts.removeOverIn, [list, 1]],
        ["lower", texts.lower, [1, 1, "a"]],
        ["read", texts.read, [1, "a", 1]],
        ["lockHoldsIn", texts.lockHoldsIn, ["a"]],
        ["removeAll", texts.removeAll, [list]],
        ["forgetAccount", texts.forgetAccount, ["a"]],
        ["heldIn", texts.heldIn, ["a"]],
        ["ofUser", texts.ofUser, ["a", "b"]],
        ["accountsOver", texts.accountsOver, [1]],
        ["sweepAccounts", texts.sweepAccounts, [1]]
      ]
      assert.sameMembers(
        plans.map(([name]) => name),
        Object.keys(texts)
      )
      for (const [name, text, params] of plans) {
        if (dialect.name === "sqlite" && name.startsWith("write")) continue
        yield* QueryPlans.usesIndexes(name, text, params, {
          sorts: name !== "accountsOver" && name !== "sweepAccounts"
        })
      }
    })
  )
})

describe("SqlCostLedger", () => {
  it.effect("rejects a database without tables, or creates them", () =>
    Effect.gen(function* () {
      const client = SqliteClient.layer({ file: ":memory:" })
      const error = yield* Effect.flip(
        Effect.provide(CostLedger.CostLedger, Layer.provide(SqlCostLedger.layer(), client))
      )
      assert.strictEqual(error._tag, "MigrationError")
      const ledger = yield* CostLedger.CostLedger.pipe(
        Effect.flatMap((ledger) => ledger.book(["a"], of(1))),
        Effect.provide(Layer.provide(SqlCostLedger.layerMigrated(), client))
      )
      assert.deepStrictEqual(ledger[0]?.balance.spent, of(1))
    })
  )
})

TestServers.suite("postgres", postgres, (database) => {
  it.scopedLive("fails when a connection is cut during a settlement, which is booked once in the end", () =>
    Effect.gen(function* () {
      const { host, port } = database.address
      const proxy = yield* TcpProxy.make({ host, port })
      const url = new URL(database.url)
      url.hostname = proxy.host
      url.port = String(proxy.port)
      const client = PgClient.layer({ url: Redacted.make(url.href), maxConnections: 1 })
      const ledger = yield* Effect.provide(SqlCostLedger.make(), database.layer)
      yield* Effect.gen(function* () {
        const cut = yield* SqlCostLedger.make()
        let failures = 0
        const rounds = 30
        for (let round = 0; round < rounds; round++) {
          const id = `h${round}`
          yield* ledger.hold({ id, amount: of(5), accounts: [{ account: "a" }, { account: "b" }] })
          const settling = yield* Effect.fork(Effect.either(cut.settle(id, of(2))))
          yield* Effect.sleep(round / 10)
          yield* round % 2 === 0 ? proxy.cut : proxy.cutAnswers
          const settled = yield* Fiber.join(settling)
          yield* proxy.resume
          if (settled._tag === "Left") {
            failures++
            assert.strictEqual(settled.left._tag, "GovernancePersistenceError")
            assert.isUndefined(settled.left.cause)
          }
          yield* Effect.retry(cut.settle(id, of(2)), { times: 3 })
        }
        assert.isAbove(failures, 0)
        const after = { spent: of(2 * rounds), reserved: of(0) }
        assert.deepStrictEqual(yield* ledger.read("a"), after)
        assert.deepStrictEqual(yield* ledger.read("b"), after)
      }).pipe(Effect.provide(client))
    })
  )
})
