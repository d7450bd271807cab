import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../../src/domain/AgentEvent.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as SqlRunLog from "../../../src/persistence/run/SqlRunLog.js"
import * as RunLogSuite from "../../observability/RunLogSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const { event } = RunLogSuite

const large = "x".repeat(20_000)

const started = (run: string, fields: object): AgentEvent =>
  ({
    _tag: "Started",
    input: "",
    strategy: "s",
    agent: "a",
    at: 0,
    seq: 0,
    runId: RunId.make(run),
    ...fields
  }) as AgentEvent

const at = (run: string, seq: number, time: number): AgentEvent => ({ ...event(run, seq), at: time })

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql<{ readonly runs: number; readonly events: number }>`
      SELECT (SELECT COUNT(*) FROM lex_runs) AS runs, (SELECT COUNT(*) FROM lex_run_events) AS events`,
    ([found]) => [Number(found?.runs), Number(found?.events)]
  )
)

SqlBackends.suite("SqlRunLog", (backend) => {
  RunLogSuite.suite("SQL", Layer.provide(SqlRunLog.layer(), backend.layer))

  SqlStoreCases.suite(backend, {
    make: SqlRunLog.make({ retain: 1 }),
    migrated: SqlRunLog.layerMigrated(),
    write: (log, name) => log.append([at(name, 0, 9e9), { ...at(name, 1, 9e9), text: large } as AgentEvent]),
    has: (log, name) => Effect.map(log.read(RunId.make(name)), (events) => events.length === 2),
    everything: (log) =>
      Effect.gen(function* () {
        yield* log.append([at("old", 0, 0)])
        yield* TestClock.adjust("1 day")
        yield* Effect.forEach(Array.from({ length: 200 }), (_, seq) => log.append([at("more", seq, 9e9)]))
        yield* log.read(RunId.make("more"), { from: 1, limit: 501 })
        yield* log.append(Array.from({ length: 600 }, (_, seq) => at("long", seq, 9e9)))
        yield* log.read(RunId.make("long"))
      })
  })

  const withClient = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(effect, backend.layer)

  it.effect("stores each event once when two clients write the same ones", () =>
    withClient(
      Effect.gen(function* () {
        const mine = yield* SqlRunLog.make()
        const events = Array.from({ length: 50 }, (_, seq) => event("a", seq))
        yield* Effect.provide(
          Effect.flatMap(SqlRunLog.make(), (theirs) =>
            Effect.forEach(
              Array.from({ length: 16 }, (_, n) => n),
              (n) => (n % 2 === 0 ? mine : theirs).append(events.slice(n, n + 30)),
              { concurrency: "unbounded", discard: true }
            )
          ),
          backend.other
        )
        assert.deepStrictEqual(yield* mine.read(RunId.make("a")), events.slice(0, 45))
      })
    )
  )

  it.effect("stores a batch as a whole or not at all", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlRunLog.make()
        const broken = { ...event("a", 150), seq: null } as unknown as AgentEvent
        const batch = [...Array.from({ length: 150 }, (_, seq) => event("a", seq)), broken]
        const error = yield* Effect.flip(log.append(batch))
        assert.strictEqual(error.code, "LEX_ERR_AGT_106")
        assert.strictEqual(error.operation, "append")
        assert.deepStrictEqual(yield* log.read(RunId.make("a")), [])
        yield* log.append(batch.slice(0, 150))
        assert.lengthOf(yield* log.read(RunId.make("a")), 150)
      })
    )
  )

  it.effect("writes the row of a run until a transaction of a caller that has it is committed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const log = yield* SqlRunLog.make()
      const append = (seq: number) => sql.withTransaction(log.append([event("a", seq)]))
      yield* Effect.exit(sql.withTransaction(Effect.zipRight(log.append([event("a", 0)]), Effect.fail("undone"))))
      assert.deepStrictEqual(yield* rows, [0, 0])
      yield* append(0)
      yield* sql`DELETE FROM lex_runs`
      yield* append(1)
      assert.deepStrictEqual(yield* rows, [1, 2])
      log.committed?.([event("a", 1)])
      yield* sql`DELETE FROM lex_runs`
      yield* append(2)
      assert.deepStrictEqual(yield* rows, [0, 3])
    }).pipe(withClient)
  )

  it.effect("finds a run by user and session, which its children inherit", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlRunLog.make()
        const sql = yield* SqlClient.SqlClient
        const child = { parentRunId: RunId.make("root") }
        yield* log.append([started("root", { userId: "u1" }), started("child", { ...child, agent: "b" })])
        yield* log.append([started("late", child)])
        yield* log.append([
          {
            _tag: "Finished",
            reason: "completed",
            sessionId: "s1",
            durationMs: 1,
            agent: "a",
            seq: 1,
            at: 1,
            runId: RunId.make("root")
          }
        ])
        yield* log.append([started("later", child), event("other", 0)])
        const found = yield* sql<{ readonly [column: string]: unknown }>`
          SELECT run_id, parent_run_id, agent, session_id, user_id FROM lex_runs ORDER BY run_id`
        assert.deepStrictEqual(
          found.map((row) => ["run_id", "parent_run_id", "agent", "session_id", "user_id"].map((name) => row[name])),
          [
            ["child", "root", "b", null, "u1"],
            ["late", "root", "a", null, "u1"],
            ["later", "root", "a", "s1", "u1"],
            ["other", null, "a", null, null],
            ["root", null, "a", "s1", "u1"]
          ]
        )
      })
    )
  )

  it.effect("deletes a run after its retention while writing others", () =>
    withClient(
      Effect.gen(function* () {
        const forever = yield* SqlRunLog.make({ retain: Number.POSITIVE_INFINITY })
        const week = yield* SqlRunLog.make({ retain: "7 days" })
        const sql = yield* SqlClient.SqlClient
        const day = 86_400_000
        yield* forever.append([at("over", 0, 0), at("over", 1, 1)])
        yield* forever.append([at("long", 0, 0)])
        yield* forever.append([at("long", 1, 3 * day)])
        yield* TestClock.adjust(8 * day)
        const write = (log: typeof week, run: string) =>
          sql.withTransaction(
            Effect.forEach(Array.from({ length: 200 }), (_, seq) => log.append([at(run, seq, 8 * day)]), {
              discard: true
            })
          )
        yield* write(forever, "new 1")
        assert.deepStrictEqual(yield* rows, [3, 204])
        yield* write(week, "new 2")
        assert.deepStrictEqual(yield* forever.read(RunId.make("over")), [])
        assert.lengthOf(yield* forever.read(RunId.make("long")), 2)
        assert.deepStrictEqual(yield* rows, [3, 402])
      })
    )
  )

  it.effect("deletes a long run in pieces", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlRunLog.make({ retain: 1000 })
        yield* log.append(Array.from({ length: 5000 }, (_, seq) => at("long", seq, 0)))
        yield* TestClock.adjust("1 day")
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(
          Effect.forEach(Array.from({ length: 400 }), () => log.append([at("new", 0, 86_400_000)]), { discard: true })
        )
        assert.deepStrictEqual(yield* rows, [1, 1])
      })
    )
  )

  it.effect("skips events of a newer version with a warning, and keeps new fields", () => {
    const logged: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void logged.push(String(message)))
    )
    return Effect.gen(function* () {
      const log = yield* SqlRunLog.make()
      const newer = { ...event("a", 1), _tag: "Unheard" } as unknown as AgentEvent
      const richer: AgentEvent = Object.assign(event("a", 2), { more: [1] })
      const changed = { ...event("a", 3), text: { parts: ["secret"] } } as unknown as AgentEvent
      yield* log.append([event("a", 0), newer, richer, changed, event("a", 4)])
      assert.deepStrictEqual(yield* log.read(RunId.make("a")), [event("a", 0), richer, event("a", 4)])
      assert.deepStrictEqual(yield* log.read(RunId.make("a"), { limit: 2 }), [event("a", 0), richer])
      assert.lengthOf(logged, 2)
      assert.match(logged[0] ?? "", /^2 events of a run were passed over/)
      assert.notInclude(logged.join(), "secret")
    }).pipe(Effect.provide(Layer.merge(backend.layer, logger)))
  })

  it.effect("names a broken event in its error", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlRunLog.make()
        const sql = yield* SqlClient.SqlClient
        yield* log.append([0, 1, 2].map((seq) => event("a", seq)))
        yield* sql`UPDATE lex_run_events SET body = 'secret' WHERE seq = 1`
        const error = yield* Effect.flip(log.read(RunId.make("a")))
        assert.strictEqual(error.message, "What the database holds of event 1 cannot be read")
        assert.notInclude(JSON.stringify(error), "secret")
        assert.lengthOf(yield* log.read(RunId.make("a"), { from: 2 }), 1)
      })
    )
  )
})
