import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import { CheckpointId, type Session } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import {
  behind,
  branch,
  checkpoint,
  epoch,
  next,
  ref,
  session,
  sessionId,
  turnsOf
} from "../../../src/testing/session/SessionFixtures.js"
import {
  checkpointed,
  created,
  forked,
  idsOf,
  isKept,
  said,
  saved,
  some,
  turnsKept,
  wayTo
} from "../../../src/testing/session/SessionStoreCase.js"
import * as SessionRows from "../../support/SessionRows.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"

const timeout = 300_000

const large = (text: string): string => text.padEnd(100_000, "Lorem ipsum dolor sit amet. ")

/** A turn that brings a checkpoint along, for which another has to make room. */
const addition = (one: Session, turn: string): SessionStore.Addition => {
  const turns = turnsOf(one, [turn])
  const after = { ...behind(one, turns), checkpointId: CheckpointId.make(`${one.id} ${turn}`) }
  return {
    session: after,
    turns,
    checkpoint: checkpoint(after.checkpointId, after, { kind: "auto" }),
    keepCheckpoints: 1
  }
}

SqlBackends.suite("writes of a session store", ({ dialect, kept, layer, other }) => {
  const test = (
    name: string,
    body: (store: SessionStore.Service) => Effect.Effect<void, unknown, SqlClient.SqlClient | SessionStore.SessionStore>
  ) =>
    it.live(
      name,
      () =>
        Effect.flatMap(SessionStore.SessionStore, body).pipe(
          Effect.provide(Layer.provideMerge(SqlSessionStore.layer, layer))
        ),
      timeout
    )

  const seenBy = <A, E>(use: (store: SessionStore.Service) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const seen: Array<{ readonly sql: string; readonly params: ReadonlyArray<unknown> }> = []
      const value = yield* Effect.flatMap(SqlSessionStore.make, use).pipe(
        Effect.provide(Layer.provide(SqlBackends.watched(seen), kept))
      )
      return { seen: seen.filter(({ sql }) => sql.includes("lex_session") || sql.includes("advisory")), value }
    })

  test("are named after their database", (store) => Effect.sync(() => assert.strictEqual(store.name, dialect)))

  test("add a turn in two statements and read one in one", (store) =>
    Effect.gen(function* () {
      yield* created(store, session("s"))
      const counted = (use: (store: SessionStore.Service) => Effect.Effect<unknown, unknown>) =>
        Effect.map(
          seenBy((store) => use(store)),
          ({ seen }) => seen.length
        )
      let one = session("s")
      const two = turnsOf(one, ["t1"])
      assert.strictEqual(yield* counted((store) => store.append({ session: behind(one, two), turns: two })), 2)
      one = behind(one, two)
      assert.strictEqual(yield* counted((store) => store.append(addition(one, "t2"))), 4)
      for (const read of [
        (store: SessionStore.Service) => store.load(one.id),
        (store: SessionStore.Service) => store.turn(ref("s", "t1")),
        (store: SessionStore.Service) => store.turns(ref("s", "t2"), { limit: 10, since: ref("s", "t1") }),
        (store: SessionStore.Service) => store.list({ limit: 10, statuses: ["active", "closed"] }),
        (store: SessionStore.Service) => store.idle({ since: epoch, limit: 10 }),
        (store: SessionStore.Service) => store.checkpoints(one.id, { limit: 10 }),
        (store: SessionStore.Service) => store.lastMerge(one.id, one.id)
      ]) {
        assert.strictEqual(yield* counted(read), 1)
      }
    }))

  test("do not grow with the conversation or the state for a turn, a checkpoint and a branch", (store) =>
    Effect.gen(function* () {
      const bytes = (params: ReadonlyArray<unknown>): number =>
        params.reduce<number>((sum, one) => sum + (typeof one === "string" ? one.length : 8), 0)
      const cost = (use: (store: SessionStore.Service) => Effect.Effect<unknown, unknown>) =>
        Effect.map(seenBy(use), ({ seen }) => seen.reduce((sum, { params }) => sum + bytes(params), 0))
      const at = Effect.fnUntraced(function* (one: Session, name: string) {
        const turns = turnsOf(one, [`${name} turn`])
        const after = behind(one, turns)
        const saved = next(after, { checkpointId: CheckpointId.make(`${name} c`) })
        const turn = yield* cost((store) => store.append({ session: after, turns }))
        const point = yield* cost((store) =>
          store.save({ session: saved, checkpoint: checkpoint(`${name} c`, saved, { kind: "fork" }) })
        )
        const last = some(yield* store.turn(ref(one.id, `${name} turn`)), "the turn")
        const fork = yield* cost((store) => store.create({ session: branch(`${name} b`, saved, last) }))
        return { after: saved, costs: [turn, point, fork] }
      })
      const early = yield* at(yield* created(store, session("s", { variables: { a: large("a") } })), "00000")
      let one = early.after
      for (let n = 0; n < 20; n++) {
        one = yield* said(store, one, ...Array.from({ length: 100 }, (_, at) => `turn ${n * 100 + at}`))
      }
      const late = yield* at(one, "20000")
      for (const [n, cost] of late.costs.entries()) assert.isAtMost(cost, (early.costs[n] ?? 0) * 1.05 + 40)
      assert.isBelow(late.costs[0] ?? 0, 800)
    }))

  test("store equal large states of a session once, and delete them with the last user", (store) =>
    Effect.gen(function* () {
      const payloads = SessionRows.count("lex_payloads")
      let one = yield* created(store, session("s", { variables: { a: large("a") } }))
      for (const id of ["c1", "c2", "c3"]) one = yield* checkpointed(store, one, id, {}, 3)
      assert.strictEqual(yield* payloads, 1)
      one = yield* saved(store, one, { variables: { a: large("b") } })
      assert.strictEqual(yield* payloads, 2)
      one = yield* checkpointed(store, one, "c4", {}, 3)
      yield* store.deleteCheckpoint(CheckpointId.make("c2"))
      assert.strictEqual(yield* payloads, 2)
      yield* store.deleteCheckpoint(CheckpointId.make("c3"))
      assert.strictEqual(yield* payloads, 1)
      one = yield* saved(store, one, { variables: {} })
      assert.deepStrictEqual(some(yield* store.checkpoint(CheckpointId.make("c4")), "the checkpoint").state.variables, {
        a: large("b")
      })
      // Those of turns stay with the turns that a branch needs.
      const turns = turnsOf(one, ["t1", "t2"]).map((turn) => ({ ...turn, content: large(turn.id) }))
      const after = behind(one, turns)
      yield* store.append({ session: after, turns })
      yield* forked(store, after, "b", ref("s", "t1"))
      yield* store.delete(one.id)
      assert.strictEqual(yield* payloads, 1)
      assert.deepStrictEqual(yield* store.turns(ref("s", "t1"), { limit: 5 }), turns.slice(0, 1))
      yield* store.delete(sessionId("b"))
      assert.strictEqual(yield* SessionRows.left, 0)
    }))

  test("keep the fence of a session, which no writer sets", (store) =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      let one = yield* created(store, session("s"))
      yield* client.unsafe("UPDATE lex_sessions SET fence = 7")
      one = yield* said(store, yield* saved(store, one), "t1")
      yield* store.expire({ since: Number.MAX_SAFE_INTEGER, at: 1, limit: 9 })
      assert.deepStrictEqual(yield* client.unsafe("SELECT fence FROM lex_sessions"), [{ fence: 7 }])
    }))

  test("fail without content for an unreadable session, and still expire the others", (store) =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      const one = yield* checkpointed(store, yield* said(store, yield* created(store, session("s")), "t1"), "c")
      yield* created(store, session("good", { updatedAt: epoch + 9 }))
      const texts = ["a secret that is no JSON", '{"secret":1}', "null", ""]
      const [kept] = yield* client.unsafe<{ readonly state: string }>(
        "SELECT state FROM lex_session_states WHERE session_id = 's'"
      )
      for (const [text, column] of texts.flatMap((text) => [[text, "state"] as const, [text, "body"] as const])) {
        const set = (table: string, where = "") => client.unsafe(`UPDATE ${table} SET ${column} = '${text}' ${where}`)
        yield* client.unsafe(`UPDATE lex_session_states SET state = '${kept?.state}' WHERE session_id = 's'`)
        yield* set("lex_session_states", "WHERE session_id = 's'")
        yield* client.unsafe(`UPDATE lex_session_turns SET body = '${text}'`)
        yield* set("lex_session_checkpoints")
        for (const read of [
          store.load(one.id),
          store.list({ limit: 9 }),
          store.idle({ since: epoch + 99, limit: 9 }),
          store.turn(ref("s", "t1")),
          store.turns(ref("s", "t1"), { limit: 1 }),
          store.checkpoint(CheckpointId.make("c")),
          store.checkpoints(one.id, { limit: 1 })
        ]) {
          const error = yield* Effect.flip(read as Effect.Effect<unknown, { readonly _tag: string }>)
          assert.strictEqual(error._tag, "SessionStorageError")
          assert.notInclude(
            `${String(error)} ${JSON.stringify(error)} ${(error as { cause?: unknown }).cause}`,
            "secret"
          )
        }
      }
      const expired = yield* store.expire({ since: epoch + 99, at: epoch + 100, limit: 9 })
      assert.deepStrictEqual(idsOf(expired), ["good"])
      const error = yield* Effect.flip(store.expire({ since: epoch + 99, at: epoch + 100, limit: 9 }))
      assert.strictEqual(error._tag, "SessionStorageError")
      // It can still be deleted.
      assert.isTrue(yield* store.delete(one.id))
    }))

  test("fail without content when a database fails", (store) =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      yield* created(store, session("s"))
      yield* client.unsafe("ALTER TABLE lex_session_turns RENAME TO lex_elsewhere")
      const turns = turnsOf(session("s"), ["t1"]).map((turn) => ({ ...turn, content: "a secret" }))
      const error = yield* Effect.flip(store.append({ session: behind(session("s"), turns), turns })).pipe(
        Effect.ensuring(Effect.orDie(client.unsafe("ALTER TABLE lex_elsewhere RENAME TO lex_session_turns")))
      )
      assert.strictEqual(error._tag, "SessionStorageError")
      assert.notInclude(`${String(error)} ${JSON.stringify(error)} ${String(error.cause)} ${error.stack}`, "secret")
      yield* isKept(store, session("s"))
      yield* said(store, session("s"), "t1")
    }))

  test("commit and roll back with the caller's transaction", (store) =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      const one = yield* created(store, session("s"))
      const within = said(store, one, "t1").pipe(Effect.zipRight(created(store, session("new"))))
      const undone = yield* Effect.exit(client.withTransaction(Effect.zipRight(within, Effect.fail("no"))))
      assert.isTrue(Exit.isFailure(undone))
      yield* isKept(store, one)
      assert.isTrue(Option.isNone(yield* store.load(sessionId("new"))))
      // What is refused there undoes itself alone.
      yield* client.withTransaction(
        Effect.gen(function* () {
          yield* within
          assert.strictEqual((yield* Effect.flip(saved(store, one)))._tag, "SessionConflictError")
          const known = yield* store.append(addition({ ...behind(one, turnsOf(one, ["t1"])) }, "t1"))
          assert.strictEqual(known.length, 1)
        })
      )
      assert.deepStrictEqual(yield* wayTo(store, ref("s", "t1")), ["t1"])
      assert.isTrue(Option.isSome(yield* store.load(sessionId("new"))))
    }))

  test("ignore a transaction of another database", (store) =>
    Effect.gen(function* () {
      const one = yield* created(store, session("s"))
      const foreign = yield* Effect.flatMap(SqlClient.SqlClient, (client) =>
        Effect.exit(client.withTransaction(Effect.zipRight(said(store, one, "t1"), Effect.fail("no"))))
      ).pipe(Effect.provide(SqliteClient.layer({ file: ":memory:" })))
      assert.isTrue(Exit.isFailure(foreign))
      assert.deepStrictEqual(yield* wayTo(store, ref("s", "t1")), ["t1"])
    }))

  test("are visible to another client, and missing tables are reported", (store) =>
    Effect.gen(function* () {
      const one = yield* said(store, yield* created(store, session("s")), "t1")
      yield* Effect.flatMap(SqlSessionStore.make, (another) => isKept(another, one)).pipe(
        Effect.provide(Layer.fresh(other))
      )
    }))

  const interrupted = (
    name: string,
    setUp: (store: SessionStore.Service, id: string) => Effect.Effect<Session, unknown>,
    operation: (store: SessionStore.Service, one: Session) => Effect.Effect<unknown, unknown>,
    view: (store: SessionStore.Service, one: Session) => Effect.Effect<boolean, unknown>
  ) =>
    test(`${name} completes or does nothing when interrupted at any point`, (store) =>
      Effect.gen(function* () {
        const runtime = yield* Effect.runtime<never>()
        const outcomes = new Set<boolean>()
        let isOver = false
        // What Postgres is waited for takes its time, and is the same code.
        for (let at = 1; !isOver; at += dialect === "sqlite" ? 1 : 5) {
          const one = yield* setUp(store, `s${at}`)
          const exit = yield* Effect.promise(
            () =>
              new Promise<Exit.Exit<unknown, unknown>>((resolve) => {
                const scheduler = YieldingScheduler.make((count) => {
                  if (count === at) fiber.unsafeInterruptAsFork(fiber.id())
                })
                const fiber = Runtime.runFork(runtime)(Effect.withScheduler(operation(store, one), scheduler), {
                  immediate: false
                })
                fiber.addObserver((exit) => {
                  isOver = scheduler.count() < at
                  resolve(exit)
                })
              })
          )
          if (Exit.isFailure(exit)) assert.isTrue(Cause.isInterruptedOnly(exit.cause), Cause.pretty(exit.cause))
          const isDone = yield* view(store, one)
          if (Exit.isSuccess(exit)) assert.isTrue(isDone)
          outcomes.add(isDone)
          assert.isBelow(at, 500)
        }
        assert.deepStrictEqual([...outcomes].sort(), [false, true])
      }))

  interrupted(
    "an append",
    (store, id) =>
      Effect.flatMap(created(store, session(id)), (one) =>
        Effect.as(store.append(addition(one, "t1")), addition(one, "t1").session)
      ),
    (store, one) => store.append(addition(one, "t2")),
    (store, one) =>
      Effect.gen(function* () {
        const { checkpoint, session: after } = addition(one, "t2")
        const isDone = Option.isSome(yield* store.turn(ref(one.id, "t2")))
        yield* isKept(store, isDone ? after : one)
        assert.deepStrictEqual(idsOf(yield* store.checkpoints(one.id, { limit: 9 })), [
          isDone ? (checkpoint?.id ?? "") : `${one.id} t1`
        ])
        return isDone
      })
  )

  interrupted(
    "a deletion",
    (store, id) =>
      Effect.gen(function* () {
        const one = yield* said(store, yield* created(store, session(id)), "t1", "t2", "t3")
        yield* forked(store, one, `${id} b`, ref(id, "t2"))
        return yield* checkpointed(store, one, `${id} c`)
      }),
    (store, one) => store.delete(one.id),
    (store, one) =>
      Effect.gen(function* () {
        const isDone = Option.isNone(yield* store.load(one.id))
        yield* turnsKept(store, one.id, ["t1", "t2", "t3"], isDone ? ["t1", "t2"] : ["t1", "t2", "t3"])
        assert.strictEqual(Option.isNone(yield* store.checkpoint(CheckpointId.make(`${one.id} c`))), isDone)
        return isDone
      })
  )
})

describe("the layers of a session store", () => {
  it.effect("reject a database without tables, which can be migrated first", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(Layer.build(SqlSessionStore.layer)))
      assert.strictEqual(error._tag, "MigrationError")
      assert.strictEqual("reason" in error ? error.reason : undefined, "absent")
      const store = yield* Effect.provide(SessionStore.SessionStore, SqlSessionStore.layerMigrated)
      yield* said(store, yield* created(store, session("s")), "t1")
    }).pipe(Effect.provide(Layer.orDie(SqliteClient.layer({ file: ":memory:" }))))
  )
})
