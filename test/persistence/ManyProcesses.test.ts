/** Processes that share a database: none loses what another one writes, and one that stands still does not take the others with it. */
import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SessionId, TurnId } from "../../src/domain/Ids.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as SqlCostLedger from "../../src/persistence/governance/SqlCostLedger.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqlSessionStore from "../../src/persistence/session/SqlSessionStore.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import { NewTurn } from "../../src/session/turn/Session.js"
import * as Bundle from "../support/Bundle.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as Programs from "../support/Programs.js"
import type { Done, Input, Round } from "../support/programs/TurnWriter.js"
import * as SqliteFile from "../support/SqliteFile.js"
import * as TestServers from "../support/TestServers.js"

const timeout = 300_000
const COST = 3

const sqlite = await SqliteFile.database({ setup: Migrations.run })
const postgres = await PostgresServer.database({ setup: Migrations.run })

const services = <E>(client: Layer.Layer<SqlClient.SqlClient, E>) =>
  Layer.merge(
    DefaultSessionManager.layer({ maxTurnsPerSession: 1_000_000 }).pipe(
      Layer.provideMerge(Layer.mergeAll(SqlSessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop))
    ),
    SqlCostLedger.layer()
  ).pipe(Layer.provideMerge(client))

const started = (url: string, names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const bundle = yield* Bundle.make("TurnWriter")
    const programs = yield* Effect.forEach(names, (name) => Programs.start(bundle, { url, name } satisfies Input), {
      concurrency: "unbounded"
    })
    for (const { hear } of programs) assert.strictEqual(yield* hear, "ready")
    return programs
  })

const all = (programs: ReadonlyArray<Programs.Program>, round: Round): Effect.Effect<ReadonlyArray<Done>> =>
  Effect.zipRight(
    Effect.forEach(programs, ({ say }) => say(round)),
    Effect.forEach(programs, ({ hear }) => hear)
  )

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((total, each) => total + each, 0)

/** 64 writers, of two processes and of four. */
const crowd = (url: string) =>
  Effect.gen(function* () {
    const sessions = yield* SessionManager.SessionManager
    const ledger = yield* CostLedger.CostLedger
    const programs = yield* started(url, ["1", "2", "3", "4"])
    for (const many of [2, 4]) {
      const [session, account, fibers, turns] = [SessionId.make(`of ${many}`), `of ${many}`, 64 / many, many / 2]
      const limit = Math.floor(64 * turns * 0.6) * COST
      yield* sessions.create({ id: session })
      const done = yield* all(programs.slice(0, many), { _tag: "Write", session, account, fibers, turns, limit })

      const whole = 64 * turns
      const { depth, totalTokens } = Option.getOrThrow(yield* sessions.get(session))
      assert.deepStrictEqual({ depth, totalTokens }, { depth: whole, totalTokens: whole * COST })
      const kept = yield* sessions.turns(session, { last: 10_000 })
      assert.deepStrictEqual(
        kept.map((turn) => turn.depth),
        kept.map((_, index) => index + 1)
      )
      const written = Array.from({ length: many }, (_, at) => `${at + 1}`).flatMap((name) =>
        Array.from({ length: fibers }).flatMap((_, fiber) =>
          Array.from({ length: turns }, (_, n) => `${session} ${name} ${fiber} ${n}`)
        )
      )
      assert.deepStrictEqual(kept.map(({ content }) => content).sort(), written.sort())
      // Of each writer they stand in the order in which it wrote them.
      const places = new Map(kept.map(({ content, depth }) => [content, depth]))
      for (const key of written.filter((key) => !key.endsWith(" 0"))) {
        const before = key.replace(/\d+$/, (n) => String(Number(n) - 1))
        assert.isBelow(places.get(before)!, places.get(key)!)
      }

      const held = sum(done.map((each) => each.held))
      assert.strictEqual(held + sum(done.map(({ refused }) => refused)), whole)
      assert.isAbove(held, 0)
      assert.deepStrictEqual(yield* ledger.read(account), {
        spent: { nanoUsd: held * COST, tokens: held * COST },
        reserved: { nanoUsd: 0, tokens: 0 }
      })
      assert.isAtMost(held * COST, limit)
    }
    for (const program of programs) {
      yield* program.say("end")
      assert.deepStrictEqual(yield* program.ended, { code: 0, signal: null })
    }
  })

const turn = (name: string) =>
  NewTurn.make({ id: TurnId.make(name), role: "user", content: name, timestamp: 0, tokensUsed: COST })

const hold = (id: string, account: string): CostLedger.Hold => ({
  id,
  amount: { nanoUsd: 1, tokens: 1 },
  accounts: [{ account }]
})

/** Stops the process where it stands. */
const stop = ({ pid }: Programs.Program) => Effect.sync(() => process.kill(pid, "SIGSTOP"))
const goOn = ({ pid }: Programs.Program) => Effect.sync(() => process.kill(pid, "SIGCONT"))

/** Fails because of somebody's lock. */
const isBusy = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>,
  tag: E["_tag"]
) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(effect)
    assert.strictEqual(error._tag, tag)
    assert.match(error.message, /^Somebody else held a lock of the database for too long/)
  })

const fill = (sessions: SessionManager.Service, id: SessionId) =>
  Effect.zipRight(sessions.create({ id }), sessions.addTurn(id, turn("before")))

const contents = (sessions: SessionManager.Service, id: SessionId) =>
  Effect.map(sessions.turns(id, { last: 100 }), (turns) => turns.map(({ content }) => content))

describe("sqlite", () => {
  it.scopedLive(
    "loses nothing and exceeds no limit with 64 writers of two and of four processes",
    () => Effect.provide(crowd(`sqlite:${sqlite.file}`), services(sqlite.layer)),
    timeout
  )

  const stalled = (end: (program: Programs.Program) => Effect.Effect<unknown>, id: SessionId) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const ledger = yield* CostLedger.CostLedger
      yield* fill(sessions, id)
      const [program] = (yield* started(`sqlite:${sqlite.file}`, ["1"])) as [Programs.Program]
      const statements = ["BEGIN IMMEDIATE", "UPDATE lex_sessions SET depth = 99"]
      yield* program.say({ _tag: "Lock", statements } satisfies Round)
      assert.strictEqual(yield* program.hear, "locked")
      yield* stop(program)
      yield* isBusy(sessions.addTurn(id, turn("refused")), "SessionStorageError")
      yield* isBusy(ledger.hold(hold("refused", "a")), "GovernancePersistenceError")
      // Those that wait together wait no longer than one.
      yield* Effect.forEach(
        Array.from({ length: 16 }, (_, n) => n),
        (n) => isBusy(ledger.hold(hold(`refused ${n}`, `${n}`)), "GovernancePersistenceError"),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* contents(sessions, id), ["before"])
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(id)).depth, 1)

      yield* end(program)
      yield* sessions.addTurn(id, turn("after"))
      assert.strictEqual((yield* ledger.hold(hold("after", "a")))._tag, "Held")
      assert.deepStrictEqual(yield* contents(sessions, id), ["before", "after"])
      assert.deepStrictEqual((yield* ledger.read("a")).reserved, { nanoUsd: 1, tokens: 1 })
      yield* ledger.close("a")
    }).pipe(Effect.provide(services(SqliteClient.layer({ file: sqlite.file, busyTimeout: "400 millis" }))))

  it.scopedLive(
    "delays writers for their timeout, and no reader, while a stopped process holds the lock, until it is killed",
    () => stalled((program) => program.kill(), SessionId.make("killed")),
    timeout
  )

  it.scopedLive(
    "delays them until it continues",
    () =>
      stalled(
        (program) =>
          Effect.gen(function* () {
            yield* program.say("ROLLBACK")
            yield* goOn(program)
            assert.strictEqual(yield* program.hear, "unlocked")
          }),
        SessionId.make("gone on")
      ),
    timeout
  )
})

TestServers.suite("postgres", postgres, (server) => {
  it.scopedLive(
    "loses nothing and exceeds no limit with 64 writers of two and of four processes",
    () => Effect.provide(crowd(server.url), services(server.layer)),
    timeout
  )

  const stalled = (end: (program: Programs.Program) => Effect.Effect<unknown>) =>
    Effect.gen(function* () {
      const sessions = yield* SessionManager.SessionManager
      const ledger = yield* CostLedger.CostLedger
      const [locked, free] = [SessionId.make("locked"), SessionId.make("free")]
      yield* Effect.forEach([locked, free], (id) => fill(sessions, id))
      yield* Effect.forEach(["locked", "free"], (account) => ledger.book([account], { nanoUsd: 1, tokens: 1 }))
      const [program] = (yield* started(server.url, ["1"])) as [Programs.Program]
      const statements = [
        "BEGIN",
        "UPDATE lex_sessions SET depth = 99 WHERE id = 'locked'",
        "SELECT 1 FROM lex_ledger_accounts WHERE account = 'locked' FOR UPDATE"
      ]
      yield* program.say({ _tag: "Lock", statements } satisfies Round)
      assert.strictEqual(yield* program.hear, "locked")
      yield* stop(program)

      yield* isBusy(sessions.addTurn(locked, turn("refused")), "SessionStorageError")
      yield* isBusy(ledger.hold(hold("refused", "locked")), "GovernancePersistenceError")
      assert.deepStrictEqual(yield* contents(sessions, locked), ["before"])
      assert.strictEqual((yield* ledger.read("locked")).spent.nanoUsd, 1)
      yield* sessions.addTurn(free, turn("meanwhile"))
      yield* ledger.hold(hold("meanwhile", "free"))
      yield* ledger.settle("meanwhile", { nanoUsd: 2, tokens: 2 })
      assert.deepStrictEqual(yield* contents(sessions, free), ["before", "meanwhile"])

      yield* end(program)
      // The server learns of the end of a process by itself.
      yield* Effect.retry(sessions.addTurn(locked, turn("after")), { times: 20 })
      yield* Effect.retry(ledger.book(["locked"], { nanoUsd: 1, tokens: 1 }), { times: 20 })
      assert.deepStrictEqual(yield* contents(sessions, locked), ["before", "after"])
      assert.strictEqual(Option.getOrThrow(yield* sessions.get(locked)).depth, 2)
      assert.deepStrictEqual((yield* ledger.read("locked")).spent, { nanoUsd: 2, tokens: 2 })
    }).pipe(
      Effect.provide(
        services(PostgresClient.layer({ url: Redacted.make(server.url), lockTimeout: "400 millis", maxConnections: 4 }))
      ),
      Effect.zipLeft(server.empty)
    )

  it.scopedLive(
    "delays only those who need what a stopped process holds, until it is killed",
    () => stalled((program) => program.kill()),
    timeout
  )

  it.scopedLive(
    "delays them until it continues",
    () =>
      stalled((program) =>
        Effect.gen(function* () {
          yield* program.say("ROLLBACK")
          yield* goOn(program)
          assert.strictEqual(yield* program.hear, "unlocked")
        })
      ),
    timeout
  )
})
