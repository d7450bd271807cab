import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { RunId, SessionId } from "../../../src/domain/Ids.js"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import { CheckpointId } from "../../../src/session/turn/Session.js"
import * as SessionStore from "../../../src/session/turn/SessionStore.js"
import {
  behind,
  checkpoint,
  epoch,
  next,
  ref,
  session,
  sessionId,
  turnsOf,
  userId
} from "../../../src/testing/session/SessionFixtures.js"
import { checkpointed, created, forked, restored, said } from "../../../src/testing/session/SessionStoreCase.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const large = "x".repeat(20_000)

const exchanged = Effect.fnUntraced(function* (store: SessionStore.Service) {
  const ref = { sessionId: SessionId.make("s"), runId: RunId.make("r") }
  yield* store.lease({ owner: "idle", until: epoch })
  yield* store.open({ ...ref, owner: "me", turns: [] })
  yield* store.exchange(ref)
  yield* store.orphans({ at: epoch, limit: 10 })
  yield* store.withdraw(ref)
  yield* store.orphans({ at: epoch, limit: 10 })
})

/** Everything a store can be asked for, so that each of its statements is seen. */
const everything = Effect.fnUntraced(function* (store: SessionStore.Service) {
  const limits = { perUser: 100, perParent: 100 }
  yield* store.create({ session: session("limited"), limits })
  let one = yield* said(store, yield* created(store, session("s", { variables: { large } })), "t1", "t2")
  one = yield* checkpointed(store, one, "c", {}, 3)
  one = yield* checkpointed(store, one, "m", {
    kind: "merge",
    merge: { sessionId: sessionId("other"), strategy: "append", state: one }
  })
  yield* Effect.either(store.append({ session: one, turns: turnsOf(one, ["t1"]) }))
  yield* store.append({ session: behind(one, turnsOf(one, ["t1"])), turns: turnsOf(one, ["t1"]) })
  const turns = turnsOf(one, ["t3"]).map((turn) => ({ ...turn, content: large }))
  const after = behind(one, turns)
  const changed = { ...after, variables: { large: `${large}!` } }
  yield* store.append({
    session: changed,
    turns,
    isStateChanged: true,
    checkpoint: checkpoint("k", changed),
    keepCheckpoints: 1
  })
  yield* forked(store, changed, "b", ref("s", "t2"))
  one = yield* said(store, yield* restored(store, changed, "k"), "t4")
  yield* store.save({ session: next(one, { status: "closed" }) })
  yield* store.save({ session: next(next(one), { status: "active" }), limits })
  yield* exchanged(store)
  yield* store.load(SessionId.make("s"))
  yield* store.turn(ref("s", "t1"))
  yield* store.turns(ref("s", "t4"), { limit: 2 })
  yield* store.turns(ref("s", "t4"), { limit: 2, since: ref("s", "t1") })
  const after1 = { at: epoch, id: SessionId.make("s") }
  for (const order of ["created", "updated"] as const) {
    for (const query of [
      {},
      { userId: userId("ann") },
      { userId: null, statuses: ["active"] },
      { statuses: ["closed", "expired"], after: after1 },
      { userId: userId("ann"), after: after1 }
    ] as const) {
      yield* store.list({ order, limit: 10, ...query })
    }
  }
  yield* store.list({ parentSessionId: SessionId.make("s"), limit: 10, after: after1 })
  yield* store.list({ rootSessionId: SessionId.make("s"), limit: 10 })
  yield* store.idle({ since: epoch + 100, limit: 10 })
  yield* store.idle({ since: epoch + 100, limit: 10, after: after1 })
  yield* store.checkpoint(CheckpointId.make("k"))
  yield* store.checkpoints(SessionId.make("s"), { limit: 10 })
  yield* store.checkpoints(SessionId.make("s"), { limit: 10, before: 9, kinds: ["auto"] })
  yield* store.lastMerge(SessionId.make("s"), SessionId.make("other"))
  yield* store.deleteCheckpoint(CheckpointId.make("m"))
  yield* store.delete(SessionId.make("s"))
  yield* store.delete(SessionId.make("b"))
  yield* store.expire({ since: epoch + 100, at: epoch + 200, limit: 10 })
  yield* store.health
})

interface Seen {
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

/** On Postgres as if whole tables were dear to read: those of a test are so small that an index is not worth it. */
const plans = (statements: ReadonlyArray<Seen>) =>
  Effect.flatMap(Database.open, (database) => {
    const distinct = [...new Map(statements.map((one) => [one.sql, one])).values()]
    const explain = (access: Database.Access, how: string) =>
      Effect.forEach(distinct, ({ params, sql }) =>
        Effect.map(access.rows(`${how} ${sql}`, params as ReadonlyArray<string>), (rows) => ({
          sql,
          lines: rows.map((row) => String(row["detail"] ?? row["QUERY PLAN"]))
        }))
      )
    return database.dialect.name === "sqlite"
      ? explain(database, "EXPLAIN QUERY PLAN")
      : database.transaction((tx) =>
          Effect.zipRight(
            Effect.zipRight(tx.run("SET LOCAL enable_seqscan = off"), tx.run("SET LOCAL enable_bitmapscan = off")),
            explain(tx, "EXPLAIN")
          )
        )
  })

/** Within the limit of a list each status and each kind comes in order from its index. */
const isScan = (line: string): boolean =>
  /Seq Scan on lex_/.test(line) || (/\bSCAN (?:lex_|[sctfqpb]\b|st\b)/.test(line) && !/json_each/.test(line))

const isSort = (line: string): boolean =>
  /USE TEMP B-TREE FOR (?:LAST TERM OF )?ORDER BY|(?:^|-> +)(?:Incremental )?Sort /.test(line)

SqlBackends.suite("statements of sessions", ({ layer }) => {
  it.effect("use an index, and sort at most a page", () =>
    Effect.gen(function* () {
      const seen: Array<Seen> = []
      yield* Effect.flatMap(SessionStore.SessionStore, everything).pipe(
        Effect.provide(Layer.provide(SqlSessionStore.layer, SqlBackends.watched(seen)))
      )
      const explained = yield* plans(
        // Whether there is a row at all is no question for an index.
        seen.filter(({ sql }) => sql.includes("lex_session") && !sql.includes("lex_sessions LIMIT 1"))
      )
      assert.isAbove(explained.length, 40)
      for (const { lines, sql } of explained) {
        assert.deepStrictEqual(lines.filter(isScan), [], `${sql}\n${lines.join("\n")}`)
        // What the branches of one session need is few; of a list only what its parts give together is sorted.
        if (!sql.includes("need (run, place)")) {
          assert.isAtMost(lines.filter(isSort).length, 1, `${sql}\n${lines.join("\n")}`)
        }
      }
    }).pipe(Effect.provide(layer))
  )
})
