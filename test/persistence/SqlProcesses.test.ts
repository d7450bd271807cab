import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as SqlCostLedger from "../../src/persistence/governance/SqlCostLedger.js"
import * as SqlFactStore from "../../src/persistence/memory/SqlFactStore.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as Bundle from "../support/Bundle.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import type { Done, Input, Round } from "../support/programs/SqlWriter.js"
import * as SqliteFile from "../support/SqliteFile.js"
import * as TestServers from "../support/TestServers.js"

const sqlite = await SqliteFile.database({ setup: Migrations.run })
const postgres = await PostgresServer.database({ setup: Migrations.run })

/** Processes take their time to start on a machine that is busy. */
const timeout = 300_000

const limit = 100

const started = (postgresUrl: string | undefined) =>
  Effect.gen(function* () {
    const input = (name: string): Input => ({ name, sqlite: sqlite.file, postgres: postgresUrl })
    const bundle = yield* Bundle.make("SqlWriter")
    const programs = yield* Effect.forEach(["1", "2", "3", "4"], (name) => Programs.start(bundle, input(name)), {
      concurrency: "unbounded"
    })
    for (const program of programs) assert.strictEqual(yield* program.hear, "ready")
    return programs
  })

const all = <A>(programs: ReadonlyArray<Programs.Program>, round: Round): Effect.Effect<ReadonlyArray<A>> =>
  Effect.zipRight(
    Effect.forEach(programs, ({ say }) => say(round)),
    Effect.forEach(programs, ({ hear }) => hear)
  )

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, each) => total + each, 0)

const together = (programs: ReadonlyArray<Programs.Program>, database: Round["database"], count: number) =>
  Effect.gen(function* () {
    const ledger = yield* SqlCostLedger.make()
    for (const many of [2, 4]) {
      const account = `of ${many}`
      const round: Round = { store: "ledger", database, account, count, limit, leaves: false }
      const done = yield* all<Done>(programs.slice(0, many), round)
      const { reserved, spent } = yield* ledger.read(account)
      assert.strictEqual(spent.nanoUsd, sum(done.map(({ spent }) => spent)))
      assert.strictEqual(reserved.nanoUsd, 0)
      assert.isAtMost(spent.nanoUsd, limit)
      for (const { held, refused } of done) assert.strictEqual(held + refused, count)
    }
    assert.strictEqual(sum(yield* all<number>(programs, { store: "rates", database, count, limit })), 33)

    yield* all<number>(programs, { store: "facts", database, count: 5 })
    const facts = yield* SqlFactStore.make()
    const known = yield* facts.query("ann", { at: 9 })
    assert.strictEqual(known.length, 21)
    assert.strictEqual(known.find(({ object }) => object === "here")?.sources.length, 20)
  })

const left = Effect.gen(function* () {
  const ledger = yield* SqlCostLedger.make()
  assert.strictEqual((yield* ledger.read("left")).reserved.nanoUsd, 7)
  yield* ledger.hold({ id: "h", amount: { nanoUsd: 90, tokens: 0 }, accounts: [{ account: "left" }] })
  assert.strictEqual(yield* ledger.close("run:4"), 1)
  assert.strictEqual((yield* ledger.read("left")).reserved.nanoUsd, 90)
})

interface Place {
  readonly database: Round["database"]
  readonly kept: Layer.Layer<SqlClient.SqlClient>
  readonly count: number
}

const crowd = Effect.gen(function* () {
  const server = postgres._tag === "Available" ? postgres.server : undefined
  const programs = yield* started(server?.url)
  const databases: ReadonlyArray<Place> = [
    { database: "sqlite", kept: sqlite.kept, count: 40 },
    ...(server === undefined ? [] : [{ database: "postgres" as const, kept: server.kept, count: 20 }])
  ]
  for (const { count, database, kept } of databases) {
    yield* Effect.provide(together(programs, database, count), kept)
    yield* all(programs.slice(3), { store: "ledger", database, account: "left", count: 0, limit, leaves: true })
  }
  assert.strictEqual((yield* programs[3]!.kill()).signal, "SIGKILL")
  for (const { kept } of databases) yield* Effect.provide(left, kept)
  for (const program of programs.slice(0, 3)) {
    yield* program.say("end")
    assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
  }
})

it.scopedLive(
  "processes exceed no limit together and lose nothing, and keep the holds of a killed one",
  () => crowd,
  timeout
)

TestServers.suite("postgres", postgres, () => {
  it("is available", () => assert.strictEqual(postgres._tag, "Available"))
})

const failing = Effect.gen(function* () {
  const input: Input = { name: "x", sqlite: "/nowhere/at/all.db", postgres: undefined }
  const program = yield* Programs.start(yield* Bundle.make("SqlWriter"), input)
  yield* program.hear
  yield* program.say({ store: "facts", database: "sqlite", count: 1 } satisfies Round)
  const exit = yield* Effect.exit(program.hear)
  assert.include(String(exit), "DatabaseError")
  assert.strictEqual((yield* program.ended).code, 1)
})

it.scopedLive("a program says why it fails", () => failing, timeout)
