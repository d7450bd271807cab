import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { RunId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as AuditLog from "../../../src/governance/store/AuditLog.js"
import * as DefaultAuditLog from "../../../src/governance/store/DefaultAuditLog.js"
import * as SqlAuditLog from "../../../src/persistence/governance/SqlAuditLog.js"
import * as AuditLogSuite from "../../governance/store/AuditLogSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM lex_audit`, (found) => Number(found[0]?.n))
)

const tokens = (log: AuditLog.Service, filter: AuditLog.Filter) =>
  Effect.map(SystemAccess.grant(log.read({ limit: Number.POSITIVE_INFINITY, ...filter })), (events) =>
    events.map(({ tokens }) => tokens)
  )

SqlBackends.suite("SqlAuditLog", (backend) => {
  AuditLogSuite.suite("SQL", Layer.provide(SqlAuditLog.layer(), backend.layer))

  SqlStoreCases.suite(backend, {
    make: SqlAuditLog.make({ retain: "1 day" }),
    migrated: SqlAuditLog.layerMigrated(),
    write: (log, name) => log.record({ eventType: "llm_call", agent: name, metadata: { text: name.repeat(3000) } }),
    has: (log, name) =>
      Effect.map(
        log.read({ agent: name }),
        (events) => events.length > 0 && events.every(({ metadata }) => metadata?.["text"] === name.repeat(3000))
      ),
    failing: (log) => log.read({ agent: "secret" }),
    everything: (log) =>
      Effect.gen(function* () {
        const filters: ReadonlyArray<AuditLog.Filter> = [
          {},
          { status: "denied" },
          { userId: UserId.make("u") },
          { agent: "a", status: "success", eventTypes: ["llm_call", "created"] },
          { runId: RunId.make("r"), userId: UserId.make("u"), model: "m", since: 1, until: 9 },
          { model: "m" },
          { eventTypes: ["created", "llm_call"] }
        ]
        for (const filter of filters) {
          yield* log.read(filter)
          yield* SystemAccess.grant(log.read(filter))
        }
        yield* Effect.forEach(Array.from({ length: 200 }), () => log.record({ eventType: "created" }))
      })
  })

  const withClient = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(effect, backend.layer)

  it.effect("returns matching events in order over all pages for any filter", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlAuditLog.make()
        const memory = yield* Effect.provide(AuditLog.AuditLog, DefaultAuditLog.layerMemory())
        const both = [log, memory]
        const pick = <A>(values: ReadonlyArray<A>, index: number): A => values[index % values.length] as A
        const record = (index: number) => {
          const userId = pick([UserId.make("u1"), UserId.make("__proto__"), undefined], index)
          const runId = pick([RunId.make("r1"), RunId.make("日本"), undefined, undefined], index)
          const agent = pick(["a", "a\u0000", "A", undefined, undefined], index)
          const entry: AuditLog.AuditEntry = {
            eventType: pick(["llm_call", "tool_call", "created", "rate_limited"], index),
            status: pick(["success", "success", "denied"], index),
            tokens: index,
            ...(userId === undefined ? {} : { userId }),
            ...(runId === undefined ? {} : { runId }),
            ...(agent === undefined ? {} : { agent })
          }
          return Effect.zipRight(
            Effect.forEach(both, (one) => one.record(entry)),
            index % 3 === 0 ? TestClock.adjust(1) : Effect.void
          )
        }
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(Effect.forEach(Array.from({ length: 520 }), (_, index) => record(index)))
        const filters: ReadonlyArray<AuditLog.Filter> = [
          {},
          { userId: UserId.make("__proto__") },
          { agent: "a\u0000" },
          { agent: "A", status: "denied" },
          { status: "success", eventTypes: ["created", "llm_call"] },
          { eventTypes: ["created", "rate_limited", "created"] },
          { eventTypes: ["created", "rate_limited"], limit: 7 },
          { eventTypes: ["tool_call"], since: 50, until: 60 },
          { runId: RunId.make("日本"), userId: UserId.make("u1"), eventTypes: [] },
          { runId: RunId.make("日本"), userId: UserId.make("u1"), agent: "a", since: 3 },
          { since: 20, until: 20 },
          { model: "none" }
        ]
        for (const filter of filters) {
          assert.deepStrictEqual(yield* tokens(log, filter), yield* tokens(memory, filter), JSON.stringify(filter))
        }
        assert.lengthOf(yield* tokens(log, {}), 520)
      })
    )
  )

  it.effect("deletes events older than the retention while writing others, not otherwise", () =>
    withClient(
      Effect.gen(function* () {
        const forever = yield* SqlAuditLog.make()
        const week = yield* SqlAuditLog.make({ retain: "7 days" })
        const sql = yield* SqlClient.SqlClient
        const record = (log: AuditLog.Service, eventType: AuditLog.AuditEventType) =>
          sql.withTransaction(Effect.forEach(Array.from({ length: 200 }), () => log.record({ eventType })))
        yield* record(forever, "created")
        yield* TestClock.adjust("7 days")
        yield* record(week, "llm_call")
        assert.strictEqual(yield* rows, 400)
        yield* TestClock.adjust(1)
        yield* record(forever, "llm_call")
        assert.strictEqual(yield* rows, 600)
        yield* record(week, "llm_call")
        assert.deepStrictEqual(yield* forever.read({ eventTypes: ["created"] }), [])
        assert.strictEqual(yield* rows, 600)
      })
    )
  )

  it.effect("logs an event that cannot be written without its content, and continues the run", () => {
    const logged: Array<unknown> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ annotations, message }) => void logged.push([message, [...annotations]]))
    )
    return Effect.gen(function* () {
      const log = yield* SqlAuditLog.make({ patience: "1 second" })
      const sql = yield* SqlClient.SqlClient
      yield* Effect.acquireUseRelease(
        sql.unsafe("ALTER TABLE lex_audit RENAME TO gone_audit"),
        () => log.record({ eventType: "created", agent: "secret" }),
        () => Effect.orDie(sql.unsafe("ALTER TABLE gone_audit RENAME TO lex_audit"))
      )
      assert.include(JSON.stringify(logged), "The database has not the tables that are needed")
      assert.notInclude(JSON.stringify(logged), "secret")
    }).pipe(Effect.provide(Layer.merge(backend.layer, logger)))
  })

  it.effect("skips events of a newer version and fails for broken ones", () =>
    withClient(
      Effect.gen(function* () {
        const log = yield* SqlAuditLog.make()
        const sql = yield* SqlClient.SqlClient
        for (const agent of ["a", "b", "c"]) yield* log.record({ eventType: "created", agent })
        yield* sql`UPDATE lex_audit SET body = REPLACE(body, '"created"', '"unheard_of"') WHERE agent = 'b'`
        assert.deepStrictEqual(
          (yield* log.read()).map(({ agent }) => agent),
          ["c", "a"]
        )
        yield* sql`UPDATE lex_audit SET body = 'secret' WHERE agent = 'b'`
        const error = yield* Effect.flip(log.read())
        assert.strictEqual(error._tag, "GovernancePersistenceError")
        assert.notInclude(String(error), "secret")
      })
    )
  )
})
