import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId, SessionId, UserId } from "../../src/domain/Ids.js"
import * as Database from "../../src/persistence/Database.js"
import * as OwnedRuns from "../../src/persistence/OwnedRuns.js"
import * as SqlApprovalStore from "../../src/persistence/SqlApprovalStore.js"
import * as SqlAuditLog from "../../src/persistence/SqlAuditLog.js"
import * as SqlRunLog from "../../src/persistence/SqlRunLog.js"
import * as ApprovalGate from "../../src/tool/ApprovalGate.js"
import * as RunLogSuite from "../observability/RunLogSuite.js"
import * as SqlBackends from "../support/SqlBackends.js"
import * as ApprovalStoreSuite from "../tool/ApprovalStoreSuite.js"

const run = (id: string, fields: object, events: number): ReadonlyArray<AgentEvent> => [
  {
    _tag: "Started",
    input: "",
    strategy: "s",
    agent: "a",
    at: 0,
    seq: 0,
    runId: RunId.make(id),
    ...fields
  } as AgentEvent,
  ...Array.from({ length: events }, (_, seq) => RunLogSuite.event(id, seq + 1))
]

const asked = (id: string, runId: string, fields: Partial<ApprovalGate.ApprovalRequest>) => ({
  ...ApprovalStoreSuite.request(id),
  runId: RunId.make(runId),
  rootRunId: RunId.make("r0"),
  ...fields
})

const settlement = { decision: ApprovalGate.approve(), settledBy: "decision", at: 2 } as const

const write = Effect.gen(function* () {
  const log = yield* SqlRunLog.make()
  const approvals = yield* SqlApprovalStore.make()
  const audit = yield* SqlAuditLog.make()
  yield* log.append(run("r1", { userId: "u1", sessionId: "s1" }, 450))
  yield* log.append(run("r1.1", { parentRunId: "r1" }, 1))
  yield* log.append(run("r1.1.1", { parentRunId: "r1.1" }, 1))
  yield* log.append(run("r2", { userId: "u1", sessionId: "s2" }, 1))
  yield* log.append(run("r3", { userId: "u2", sessionId: "s1" }, 1))
  const ask = (...args: Parameters<typeof asked>) => approvals.add({ request: asked(...args), requestedAt: 1 })
  yield* ask("a1", "r1.1", {})
  yield* ask("a2", "r9", { userId: UserId.make("u1"), sessionId: SessionId.make("s9") })
  yield* ask("a3", "r3", { rootRunId: RunId.make("r2") })
  yield* approvals.settle("a1", settlement)
  const decision = { agent: "a", tool: "t", exact: false, decision: ApprovalGate.approve(), at: 1 }
  yield* approvals.remember({ ...decision, key: "k1", scope: "user", scopeId: "u1" })
  yield* approvals.remember({ ...decision, key: "k2", scope: "session", scopeId: "u1" })
  yield* audit.record({ eventType: "llm_call", runId: RunId.make("r1.1.1") })
  yield* audit.record({ eventType: "llm_call", userId: UserId.make("u1"), tokens: 7 })
  yield* audit.record({ eventType: "llm_call", userId: UserId.make("u2"), runId: RunId.make("r3") })
})

const counted = (owner: OwnedRuns.Owner) =>
  Effect.flatMap(Database.open, (database) =>
    Effect.map(
      Effect.forEach(OwnedRuns.make(database.dialect), ({ name, pages }) => {
        const found: Array<unknown> = []
        return Effect.map(
          pages(database, owner, (values) => Effect.sync(() => void found.push(...values))),
          () => [name, found] as const
        )
      }),
      (parts) => Object.fromEntries(parts)
    )
  )

const counts = (owner: OwnedRuns.Owner) =>
  Effect.map(counted(owner), (parts) => Object.values(parts).map((values) => values.length))

SqlBackends.suite("OwnedRuns", (backend) => {
  it.effect("no whole table is read", () => {
    const seen: Array<SqlBackends.Seen> = []
    return Effect.gen(function* () {
      yield* write
      yield* Effect.gen(function* () {
        for (const by of ["user", "session", "run"] as const) {
          yield* counts({ by, id: "r1" })
          const database = yield* Database.open
          for (const part of OwnedRuns.make(database.dialect)) yield* part.erase(database, { by, id: "none" })
        }
      }).pipe(Effect.provide(SqlBackends.watched(seen)))
      assert.isAbove(seen.length, 30)
      const isSlow = (plan: string) => /^SCAN lex_|Seq Scan on lex_/m.test(plan)
      assert.deepStrictEqual(
        (yield* SqlBackends.plans(backend, seen)).filter(({ plan }) => isSlow(plan)),
        []
      )
    }).pipe(Effect.provide(backend.layer))
  })

  it.effect("everything of a user, a session or a run is found, with the runs it has begun", () =>
    Effect.gen(function* () {
      yield* write
      // Approvals, decisions, audit events, events of runs.
      assert.deepStrictEqual(yield* counts({ by: "user", id: "u1" }), [2, 1, 2, 457])
      assert.deepStrictEqual(yield* counts({ by: "session", id: "s1" }), [2, 0, 2, 457])
      assert.deepStrictEqual(yield* counts({ by: "session", id: "u1" }), [0, 1, 0, 0])
      assert.deepStrictEqual(yield* counts({ by: "run", id: "r1.1" }), [1, 0, 1, 4])
      assert.deepStrictEqual(yield* counts({ by: "run", id: "r2" }), [1, 0, 0, 2])
      assert.deepStrictEqual(yield* counts({ by: "user", id: "' OR 1 = 1 --" }), [0, 0, 0, 0])
      const { approvals, audit, runs } = yield* counted({ by: "user", id: "u1" })
      assert.deepStrictEqual(approvals, [
        { request: asked("a2", "r9", { userId: UserId.make("u1"), sessionId: SessionId.make("s9") }), requestedAt: 1 },
        { request: asked("a1", "r1.1", {}), requestedAt: 1, settlement }
      ])
      assert.deepStrictEqual(
        audit?.map((event) => (event as { readonly tokens?: number }).tokens),
        [7, undefined]
      )
      assert.deepStrictEqual(runs?.[450], RunLogSuite.event("r1", 450))
    }).pipe(Effect.provide(backend.layer))
  )

  it.effect("what is erased is gone, once, and what belongs to others stays", () =>
    Effect.gen(function* () {
      yield* write
      const database = yield* Database.open
      const erase = (owner: OwnedRuns.Owner) =>
        database.transaction((tx) => Effect.forEach(OwnedRuns.make(database.dialect), (part) => part.erase(tx, owner)))
      assert.deepStrictEqual(yield* erase({ by: "user", id: "u1" }), [2, 1, 2, 457 + 4])
      assert.deepStrictEqual(yield* erase({ by: "user", id: "u1" }), [0, 0, 0, 0])
      assert.deepStrictEqual(yield* counts({ by: "user", id: "u1" }), [0, 0, 0, 0])
      assert.deepStrictEqual(yield* counts({ by: "user", id: "u2" }), [1, 0, 1, 2])
      assert.deepStrictEqual(yield* counts({ by: "session", id: "u1" }), [0, 1, 0, 0])
    }).pipe(Effect.provide(backend.layer))
  )
})
