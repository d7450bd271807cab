import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { RunId, SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SqlApprovalStore from "../../../src/persistence/run/SqlApprovalStore.js"
import type { ApprovalError } from "../../../src/tool/approval/ApprovalError.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import type * as ApprovalStore from "../../../src/tool/approval/ApprovalStore.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"
import * as ApprovalStoreSuite from "../../tool/approval/ApprovalStoreSuite.js"

const record = (id: string, over: Partial<ApprovalGate.ApprovalRequest> = {}, requestedAt = 1000) => ({
  request: ApprovalStoreSuite.request(id, over),
  requestedAt
})

const settlement = (at: number, by = "boss"): ApprovalStore.Settlement => ({
  decision: ApprovalGate.approve(),
  settledBy: "decision",
  at,
  by
})

const remembered = (key: string, at: number): ApprovalStore.Remembered => ({
  key,
  scope: "user",
  scopeId: "u1",
  agent: "clerk",
  tool: "pay",
  exact: false,
  decision: ApprovalGate.approve(),
  at
})

const params = (name: string) => ({ text: name.repeat(2000) })

SqlBackends.suite("SqlApprovalStore", (backend) => {
  ApprovalStoreSuite.suite("SQL", Layer.provide(SqlApprovalStore.layer(), backend.layer))

  SqlStoreCases.suite(backend, {
    make: SqlApprovalStore.make({ maxRemembered: 20 }),
    migrated: SqlApprovalStore.layerMigrated(),
    write: (store, name) => store.add(record(name, { params: params(name) })),
    has: (store, name) =>
      Effect.map(store.get(name), (found) => {
        const text = Option.map(found, ({ request }) => (request.params as { readonly text: string }).text)
        return Option.getOrUndefined(text) === name.repeat(2000)
      }),
    // All there is, and all of nobody's, may be forgotten; the newest that are not too many are as many as may be kept.
    allowed: [/^DELETE FROM lex_decisions WHERE 1 = 1( AND user_id IS NULL)?$/, /OFFSET/],
    everything: (store) =>
      Effect.gen(function* () {
        const filters: ReadonlyArray<ApprovalStore.Filter> = [
          {},
          { userId: "u" },
          { userId: null },
          { userId: null, tool: "t" },
          { sessionId: "s", tool: "t" },
          { runId: "r", agent: "a" },
          { rootRunId: "r" },
          { agent: "a", tool: "t" },
          { agent: "a" }
        ]
        for (const filter of filters) yield* store.pending(filter)
        yield* store.overdue(1, 5)
        yield* store.settle("name 1", settlement(1))
        yield* store.withdraw("name 2")
        yield* store.prune(5)
        yield* Effect.forEach(Array.from({ length: 100 }), (_, index) => store.remember(remembered(`k${index}`, index)))
        yield* store.recall(["a", "b"])
        for (const filter of [
          {},
          { scope: "user" as const },
          { userId: "u", tool: "t" },
          { userId: null },
          { scopeId: "u", tool: "t", agent: "a" },
          { agent: "a" }
        ]) {
          yield* store.remembered(filter)
          yield* store.forget(filter)
        }
      })
  })

  const withClient = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(effect, backend.layer)

  it.effect("accepts one of two concurrent settlements and rejects withdrawals after it", () =>
    withClient(
      Effect.gen(function* () {
        const mine = yield* SqlApprovalStore.make()
        const race = Effect.flatMap(SqlApprovalStore.make(), (theirs) =>
          Effect.forEach(
            Array.from({ length: 8 }, (_, round) => `request ${round}`),
            (id) =>
              Effect.gen(function* () {
                const added = yield* Effect.forEach(
                  Array.from({ length: 8 }, (_, n) => n),
                  (n) => (n % 2 === 0 ? mine : theirs).add(record(id, {}, n)),
                  { concurrency: "unbounded" }
                )
                assert.lengthOf(
                  added.filter(({ added }) => added),
                  1
                )
                const settle = (n: number): Effect.Effect<string, ApprovalError> =>
                  n === 15
                    ? Effect.map(mine.withdraw(id), (taken) => (Option.isSome(taken) ? "withdrawn" : "late"))
                    : Effect.map((n % 2 === 0 ? mine : theirs).settle(id, settlement(2000 + n)), (result) =>
                        Option.isSome(result) && result.value.settled ? `settled at ${2000 + n}` : "late"
                      )
                const settled = yield* Effect.forEach(
                  Array.from({ length: 16 }, (_, n) => n),
                  settle,
                  { concurrency: "unbounded" }
                )
                const winners = settled.filter((one) => one !== "late")
                const kept = Option.match(yield* mine.get(id), {
                  onNone: () => "withdrawn",
                  onSome: ({ settlement }) => `settled at ${settlement?.at}`
                })
                assert.deepStrictEqual(winners, [kept])
              }),
            { discard: true }
          )
        )
        yield* Effect.provide(race, backend.other)
      })
    )
  )

  it.effect("lists more than a page in order, for any filter", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlApprovalStore.make()
        const sql = yield* SqlClient.SqlClient
        const owners = [
          { userId: UserId.make("__proto__") },
          { sessionId: SessionId.make("日本") },
          { agent: "a\u0000" }
        ]
        yield* sql.withTransaction(
          Effect.forEach(
            Array.from({ length: 620 }, (_, index) => index),
            (index) =>
              store.add(record(`${index}`, { ...owners[index % 3], expiresAt: 5000 - index }, 1000 + (index % 7)))
          )
        )
        const ids = (records: ReadonlyArray<ApprovalStore.ApprovalRecord>) => records.map(({ request }) => request.id)
        const order = Array.from({ length: 620 }, (_, index) => index).sort((a, b) => (a % 7) - (b % 7) || a - b)
        const all = yield* store.pending({ limit: Number.POSITIVE_INFINITY })
        assert.deepStrictEqual(ids(all), order.map(String))
        assert.lengthOf(yield* store.pending({}), 100)
        for (const [index, filter] of [
          { userId: "__proto__" },
          { sessionId: "日本" },
          { agent: "a\u0000" }
        ].entries()) {
          const wanted = order.filter((n) => n % 3 === index).map(String)
          assert.deepStrictEqual(ids(yield* store.pending({ ...filter, limit: 1000 })), wanted)
        }
        const overdue = yield* store.overdue(5000, Number.POSITIVE_INFINITY)
        assert.deepStrictEqual(
          ids(overdue),
          Array.from({ length: 620 }, (_, index) => `${619 - index}`)
        )
        yield* sql.withTransaction(Effect.forEach(overdue, ({ request }) => store.settle(request.id, settlement(1))))
        assert.strictEqual(yield* store.prune(2), 620)
      })
    )
  )

  it.effect("distinguishes ids of any kind and length", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlApprovalStore.make()
        const long = Array.from({ length: 5000 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 90))).join(
          ""
        )
        const names = [
          "__proto__",
          "a",
          "A",
          "a ",
          "a'b\"c",
          "%",
          "\u0000",
          "\ud800",
          "日本\u{1f600}",
          long,
          `${long}!`
        ]
        for (const name of names) {
          yield* store.add(record(name, { tool: name, agent: name }))
          yield* store.remember({ ...remembered(name, 1), tool: name })
        }
        for (const name of names) {
          assert.deepStrictEqual(yield* store.get(name), Option.some(record(name, { tool: name, agent: name })))
          assert.lengthOf(yield* store.pending({ tool: name, agent: name }), 1)
          assert.deepStrictEqual(
            yield* store.recall(["none", name]),
            Option.some({ ...remembered(name, 1), tool: name })
          )
          assert.strictEqual(yield* store.forget({ tool: name }), 1)
        }
      })
    )
  )

  it.effect("keeps about the configured number of decisions, newest first", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlApprovalStore.make({ maxRemembered: 8 })
        for (let index = 0; index < 30; index++) yield* store.remember(remembered(`k${index}`, index))
        const kept = yield* store.remembered({})
        assert.deepStrictEqual(
          kept.map(({ at }) => at),
          [22, 23, 24, 25, 26, 27, 28, 29]
        )
        const all = yield* SqlApprovalStore.make({ maxRemembered: Number.POSITIVE_INFINITY })
        for (let index = 30; index < 60; index++) yield* all.remember(remembered(`k${index}`, index))
        assert.lengthOf(yield* all.remembered({}), 38)
      })
    )
  )

  it.effect("fails for a broken record without quoting it", () =>
    withClient(
      Effect.gen(function* () {
        const store = yield* SqlApprovalStore.make()
        const sql = yield* SqlClient.SqlClient
        yield* store.add(record("a", { runId: RunId.make("r") }))
        yield* store.remember(remembered("k", 1))
        for (const body of ["secret", '{"secret":1}', "null"]) {
          yield* sql`UPDATE lex_approvals SET body = ${body}`
          yield* sql`UPDATE lex_decisions SET body = ${body}`
          const errors = [
            yield* Effect.flip(store.get("a")),
            yield* Effect.flip(store.pending({})),
            yield* Effect.flip(store.recall(["k"]))
          ]
          for (const error of errors) {
            assert.strictEqual(error.reason, "storage")
            assert.notInclude(JSON.stringify(error) + String(error), "secret")
          }
        }
      })
    )
  )
})
