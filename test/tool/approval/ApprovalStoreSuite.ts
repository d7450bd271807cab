/** What every place approvals are kept in must do. `layer` starts empty and keeps at least 100 settled requests and 100 decisions. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunId, SessionId, UserId } from "../../../src/domain/Ids.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../../src/tool/approval/ApprovalStore.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"

export const request = (
  id: string,
  over: Partial<ApprovalGate.ApprovalRequest> = {}
): ApprovalGate.ApprovalRequest => ({
  id,
  runId: RunId.make("run-1"),
  rootRunId: RunId.make("run-0"),
  agent: "clerk",
  toolCallId: "c1",
  tool: "pay",
  params: { amount: 5, to: { name: "Ann" } },
  ...over
})

const record = (
  id: string,
  over: Partial<ApprovalGate.ApprovalRequest> = {},
  requestedAt = 1000
): ApprovalStore.ApprovalRecord => ({ request: request(id, over), requestedAt })

const settlement = (at: number, decision: ApprovalGate.ApprovalDecision = ApprovalGate.approve()) =>
  ({ decision, settledBy: "decision", at, by: "boss" }) satisfies ApprovalStore.Settlement

const remembered = (key: string, over: Partial<ApprovalStore.Remembered> = {}): ApprovalStore.Remembered => ({
  key,
  scope: "run",
  scopeId: "run-0",
  agent: "clerk",
  tool: "pay",
  exact: false,
  decision: ApprovalGate.deny({ reason: "no" }),
  at: 1000,
  ...over
})

const ids = (records: ReadonlyArray<ApprovalStore.ApprovalRecord>) => records.map(({ request }) => request.id)

export const suite = <E>(name: string, layer: Layer.Layer<ApprovalStore.ApprovalStore, E>) => {
  const fresh = <A, E2>(body: (store: ApprovalStore.Service) => Effect.Effect<A, E2>) =>
    Effect.provide(Effect.flatMap(ApprovalStore.ApprovalStore, body), layer)

  describe(`ApprovalStore ${name}`, () => {
    it.effect("adds a request once, and returns the first one for a repeated id", () =>
      fresh((store) =>
        Effect.gen(function* () {
          const first = record("a", {
            userId: UserId.make("u1"),
            sessionId: SessionId.make("s1"),
            reason: "it is a lot",
            expiresAt: 5000
          })
          assert.deepStrictEqual(yield* store.add(first), { record: first, added: true })
          assert.deepStrictEqual(yield* store.add(record("a", { tool: "other" })), { record: first, added: false })
          const found = Option.getOrThrow(yield* store.get("a"))
          assert.deepStrictEqual(found, first)
          assert.deepStrictEqual(yield* Schema.decode(ApprovalStore.ApprovalRecord)(found), first)
          assert.isTrue(Option.isNone(yield* store.get("b")))
        })
      )
    )

    it.effect("counts one of several concurrent adds of an id", () =>
      fresh((store) =>
        Effect.gen(function* () {
          const results = yield* Effect.all(
            Array.from({ length: 20 }, (_, n) => store.add(record("a", {}, n))),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(results.filter(({ added }) => added).length, 1)
          const first = results.find(({ added }) => added)?.record
          for (const result of results) assert.deepStrictEqual(result.record, first)
        })
      )
    )

    it.effect("accepts one of several concurrent settlements, and returns it to all", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("a"))
          const results = yield* Effect.all(
            Array.from({ length: 20 }, (_, n) => store.settle("a", settlement(2000 + n))),
            { concurrency: "unbounded" }
          )
          const settled = results.map((result) => Option.getOrThrow(result))
          assert.strictEqual(settled.filter((result) => result.settled).length, 1)
          const winner = settled.find((result) => result.settled)?.record
          for (const result of settled) assert.deepStrictEqual(result.record, winner)
          assert.deepStrictEqual(yield* store.get("a"), Option.fromNullable(winner))
          assert.isTrue(Option.isNone(yield* store.settle("unknown", settlement(1))))
        })
      )
    )

    it.effect("keeps edited arguments of a settlement", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("a"))
          const params = { amount: 1, note: null, list: [{ deep: "ü\u0000" }] }
          const decision = ApprovalGate.approve({ params })
          yield* store.settle("a", settlement(2000, decision))
          assert.deepStrictEqual(Option.getOrThrow(yield* store.get("a")).settlement, settlement(2000, decision))
        })
      )
    )

    it.effect("lists waiting requests, oldest first, by every field", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("a"))
          yield* store.add(record("b", { tool: "mail", userId: UserId.make("u1") }))
          yield* store.add(record("c", { agent: "boss", sessionId: SessionId.make("s1") }, 2000))
          yield* store.add(record("d", { runId: RunId.make("r9"), rootRunId: RunId.make("r8") }, 3000))
          yield* store.add(record("e"))
          yield* store.settle("e", settlement(1))
          assert.deepStrictEqual(ids(yield* store.pending({})), ["a", "b", "c", "d"])
          assert.deepStrictEqual(ids(yield* store.pending({ limit: 2 })), ["a", "b"])
          assert.deepStrictEqual(ids(yield* store.pending({ limit: 0 })), [])
          assert.deepStrictEqual(ids(yield* store.pending({ limit: Number.POSITIVE_INFINITY, tool: "mail" })), ["b"])
          assert.deepStrictEqual(ids(yield* store.pending({ userId: "u1" })), ["b"])
          assert.deepStrictEqual(ids(yield* store.pending({ userId: null })), ["a", "c", "d"])
          assert.deepStrictEqual(ids(yield* store.pending({ userId: null, tool: "mail" })), [])
          assert.deepStrictEqual(ids(yield* store.pending({ userId: "" })), [])
          assert.deepStrictEqual(ids(yield* store.pending({ agent: "boss" })), ["c"])
          assert.deepStrictEqual(ids(yield* store.pending({ sessionId: "s1" })), ["c"])
          assert.deepStrictEqual(ids(yield* store.pending({ runId: "r9" })), ["d"])
          assert.deepStrictEqual(ids(yield* store.pending({ rootRunId: "r8" })), ["d"])
          assert.deepStrictEqual(ids(yield* store.pending({ rootRunId: "r8", tool: "mail" })), [])
        })
      )
    )

    it.effect("lists overdue requests", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("never"))
          yield* store.add(record("soon", { expiresAt: 2000 }))
          yield* store.add(record("late", { expiresAt: 3000 }))
          assert.deepStrictEqual(ids(yield* store.overdue(1999, 10)), [])
          assert.deepStrictEqual(ids(yield* store.overdue(2000, 10)), ["soon"])
          assert.strictEqual((yield* store.overdue(9000, 1)).length, 1)
          yield* store.settle("soon", settlement(2000))
          assert.deepStrictEqual(ids(yield* store.overdue(9000, 10)), ["late"])
        })
      )
    )

    it.effect("keeps questions, which their user lists and answers from another process", () =>
      fresh((store) =>
        Effect.gen(function* () {
          const form = {
            type: "object",
            properties: { row: { type: "integer", minimum: 1 }, side: { type: "string", enum: ["window", "ü\u0000"] } },
            required: ["row"],
            additionalProperties: false
          }
          const asked = request("q", { userId: UserId.make("u1"), params: null, question: { message: "Seat?", form } })
          const process = Effect.provideService(PendingApprovals.make(), ApprovalStore.ApprovalStore, store)
          // The process that asked ends, and is started again: it asks under the same id.
          const first = yield* process
          const waits = yield* Effect.fork(first.gate.elicit?.(asked, () => Effect.succeed([])) ?? Effect.never)
          while (Option.isNone(yield* store.get("q"))) yield* Effect.promise(() => new Promise(setImmediate))
          const other = yield* process
          assert.deepStrictEqual(yield* other.pending.list(), [])
          const [record] = yield* other.pending.list({ userId: "u1" })
          assert.deepStrictEqual(record?.request, asked)
          for (const params of [{}, { row: 0 }, { row: 1, side: "roof" }, { row: 1, more: 1 }]) {
            const error = yield* Effect.flip(
              other.pending.decide("q", ApprovalGate.approve({ params }), { userId: "u1" })
            )
            assert.strictEqual(error.reason, "answer")
          }
          const params = { row: 3, side: "ü\u0000" }
          assert.strictEqual(
            (yield* Effect.flip(other.pending.decide("q", ApprovalGate.approve({ params })))).reason,
            "unknown"
          )
          yield* other.pending.decide("q", ApprovalGate.approve({ params }), { userId: "u1" })
          yield* Fiber.interrupt(waits)
          const restarted = yield* process
          const decision = yield* restarted.gate.elicit?.(asked, () => Effect.succeed([])) ?? Effect.never
          assert.deepStrictEqual(decision, ApprovalGate.approve({ params }))
          const another = { ...asked, question: { message: "Name?", form } }
          const refused = yield* restarted.gate.elicit?.(another, () => Effect.succeed([])) ?? Effect.never
          assert.deepInclude(refused, { _tag: "Denied", cancelled: true })
        }).pipe(Effect.scoped)
      )
    )

    it.effect("withdraws only waiting requests, which can be asked again", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("a"))
          assert.deepStrictEqual(yield* store.withdraw("a"), Option.some(record("a")))
          assert.isTrue(Option.isNone(yield* store.withdraw("a")))
          assert.isTrue(Option.isNone(yield* store.get("a")))
          assert.isTrue((yield* store.add(record("a"))).added)
          yield* store.settle("a", settlement(2000))
          assert.isTrue(Option.isNone(yield* store.withdraw("a")))
          assert.isTrue(Option.isSome(yield* store.get("a")))
        })
      )
    )

    it.effect("prunes requests settled before a time, and no waiting ones", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.add(record("waits"))
          for (const [id, at] of [
            ["old", 1000],
            ["edge", 2000],
            ["new", 3000]
          ] as const) {
            yield* store.add(record(id))
            yield* store.settle(id, settlement(at))
          }
          assert.strictEqual(yield* store.prune(2000), 1)
          assert.isTrue(Option.isNone(yield* store.get("old")))
          for (const id of ["waits", "edge", "new"]) assert.isTrue(Option.isSome(yield* store.get(id)), id)
        })
      )
    )

    it.effect("remembers one decision per key, and recalls that of the first key with one", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.remember(remembered("k1"))
          yield* store.remember(remembered("k2", { decision: ApprovalGate.approve({ params: { amount: 1 } }) }))
          assert.deepStrictEqual(
            yield* store.recall(["k0", "k2", "k1"]),
            Option.some(remembered("k2", { decision: ApprovalGate.approve({ params: { amount: 1 } }) }))
          )
          assert.isTrue(Option.isNone(yield* store.recall(["__proto__", "constructor"])))
          assert.isTrue(Option.isNone(yield* store.recall([])))
          yield* store.remember(remembered("k1", { decision: ApprovalGate.approve(), at: 2000, by: "boss" }))
          assert.deepStrictEqual(
            (yield* store.remembered({})).map(({ at, key }) => [key, at]),
            [
              ["k2", 1000],
              ["k1", 2000]
            ]
          )
        })
      )
    )

    it.effect("lists and forgets decisions of one user, without a user, or for all", () =>
      fresh((store) =>
        Effect.gen(function* () {
          const { scopeId: _, ...everywhere } = remembered("all", { scope: "tool" })
          yield* store.remember(remembered("ann's", { userId: "ann" }))
          yield* store.remember(remembered("bob's", { userId: "bob", scope: "user", scopeId: "bob" }))
          yield* store.remember(remembered("nobody's"))
          yield* store.remember(everywhere)
          const keys = (filter: ApprovalStore.RememberedFilter) =>
            Effect.map(store.remembered(filter), (found) => found.map(({ key }) => key).sort())
          assert.deepStrictEqual(yield* keys({ userId: "ann" }), ["ann's"])
          assert.deepStrictEqual(yield* keys({ userId: "bob", tool: "pay" }), ["bob's"])
          assert.deepStrictEqual(yield* keys({ userId: "" }), [])
          assert.deepStrictEqual(yield* keys({ userId: "*" }), [])
          assert.deepStrictEqual(yield* keys({ userId: null }), ["nobody's"])
          assert.deepStrictEqual(yield* keys({ userId: null, agent: "other" }), [])
          assert.deepStrictEqual(yield* keys({}), ["all", "ann's", "bob's", "nobody's"])
          yield* store.remember(remembered("nobody's", { userId: "ann", at: 2000 }))
          assert.deepStrictEqual(yield* keys({ userId: null }), [])
          assert.strictEqual(yield* store.forget({ userId: "ann" }), 2)
          assert.strictEqual(yield* store.forget({ userId: null }), 0)
          assert.strictEqual(yield* store.forget({ userId: "bob", scope: "tool" }), 0)
          assert.deepStrictEqual(yield* keys({}), ["all", "bob's"])
        })
      )
    )

    it.effect("forgets by every field, and all", () =>
      fresh((store) =>
        Effect.gen(function* () {
          yield* store.remember(remembered("k1"))
          yield* store.remember(remembered("k2", { scopeId: "run-9" }))
          yield* store.remember(remembered("k3", { agent: "boss" }))
          yield* store.remember(remembered("k4", { tool: "mail" }))
          const { scopeId: _, ...everywhere } = remembered("k5", { scope: "tool" })
          yield* store.remember(everywhere)
          assert.strictEqual(yield* store.forget({ scopeId: "run-9" }), 1)
          assert.strictEqual(yield* store.forget({ agent: "boss" }), 1)
          assert.strictEqual(yield* store.forget({ tool: "mail" }), 1)
          assert.deepStrictEqual(
            (yield* store.remembered({ scope: "tool" })).map(({ key }) => key),
            ["k5"]
          )
          assert.strictEqual(yield* store.forget({ scope: "tool" }), 1)
          assert.strictEqual(yield* store.forget({ scope: "user" }), 0)
          assert.strictEqual(yield* store.forget({}), 1)
          assert.deepStrictEqual(yield* store.remembered({}), [])
        })
      )
    )
  })
}
