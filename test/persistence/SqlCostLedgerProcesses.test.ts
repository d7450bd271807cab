import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Migrations from "../../src/persistence/Migrations.js"
import * as SqlCostLedger from "../../src/persistence/SqlCostLedger.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import type { Done, Input, Round } from "../support/programs/LedgerWriter.js"
import * as SqliteFile from "../support/SqliteFile.js"
import * as TestServers from "../support/TestServers.js"

const sqlite = await SqliteFile.database({ setup: Migrations.run })
const postgres = await PostgresServer.database({ setup: Migrations.run })

const limit = 100

// Five processes that are compiled on their way take their time on a machine that is busy.
const timeout = 90_000

const crowd = Effect.gen(function* () {
  const input = (name: string): Input => ({
    name,
    sqlite: sqlite.file,
    postgres: postgres._tag === "Available" ? postgres.server.url : undefined
  })
  const programs = yield* Effect.forEach(["1", "2", "3", "4"], (name) => Programs.start("LedgerWriter", input(name)), {
    concurrency: "unbounded"
  })
  for (const program of programs) assert.strictEqual(yield* program.hear, "ready")
  const stores: ReadonlyArray<{
    readonly database: Round["database"]
    readonly kept: Layer.Layer<SqlClient.SqlClient>
    readonly holds: number
  }> = [
    { database: "sqlite", kept: sqlite.kept, holds: 40 },
    ...(postgres._tag === "Available" ? [{ database: "postgres" as const, kept: postgres.server.kept, holds: 20 }] : [])
  ]
  for (const { database, holds, kept } of stores) {
    const ledger = yield* Effect.provide(SqlCostLedger.make(), kept)
    for (const count of [2, 4]) {
      const account = `${count} processes`
      const round: Round = { database, account, holds, limit, leaves: false }
      for (const program of programs.slice(0, count)) yield* program.say(round)
      const done: ReadonlyArray<Done> = yield* Effect.forEach(programs.slice(0, count), ({ hear }) => hear)
      const spent = done.reduce((sum, each) => sum + each.spent, 0)
      assert.deepStrictEqual((yield* ledger.read(account)).spent.nanoUsd, spent)
      assert.strictEqual((yield* ledger.read(account)).reserved.nanoUsd, 0)
      assert.isAtMost(spent, limit)
      for (const each of done) assert.strictEqual(each.held + each.refused, holds)
      // Not one alone had its way.
      assert.isAbove(done.filter(({ held }) => held > 0).length, 1)
    }
  }
  const dying = programs[3] as Programs.Program
  for (const { database } of stores) {
    yield* dying.say({ database, account: "left", holds: 0, limit, leaves: true } satisfies Round)
    yield* dying.hear
  }
  assert.strictEqual((yield* dying.kill()).signal, "SIGKILL")
  for (const { kept } of stores) {
    const ledger = yield* Effect.provide(SqlCostLedger.make(), kept)
    const later = yield* Effect.provide(SqlCostLedger.make(), kept)
    assert.deepStrictEqual((yield* ledger.read("left")).reserved.nanoUsd, 7)
    assert.strictEqual(yield* later.close("run:4"), 1)
    assert.deepStrictEqual((yield* ledger.read("left")).reserved.nanoUsd, 0)
  }
  for (const program of programs.slice(0, 3)) {
    yield* program.say("end")
    assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
  }
})

it.scopedLive(
  "of two and of four processes none passes a limit, nothing is lost, and one that is killed holds on",
  () => crowd,
  timeout
)

const failing = Effect.gen(function* () {
  const program = yield* Programs.start("LedgerWriter", { name: "x", sqlite: "/nowhere/at/all.db" })
  yield* program.hear
  yield* program.say({ database: "sqlite", account: "a", holds: 1, limit, leaves: false })
  const exit = yield* Effect.exit(program.hear)
  assert.include(String(exit), "DatabaseError")
  assert.strictEqual((yield* program.ended).code, 1)
})

it.scoped("a program that fails says why", () => failing, timeout)

TestServers.suite("postgres", postgres, () => {
  it("took part", () => assert.strictEqual(postgres._tag, "Available"))
})
