import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { RunId, SessionId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as Step from "../../../src/observability/Step.js"
import { ApprovalError } from "../../../src/tool/approval/ApprovalError.js"
import * as ApprovalGate from "../../../src/tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../../src/tool/approval/ApprovalStore.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import { request } from "./ApprovalStoreSuite.js"

const ask = (asked: ApprovalGate.ApprovalRequest) =>
  Effect.flatMap(ApprovalGate.ApprovalGate, (gate) => gate.request(asked))

/** Asks, and lets the request come to wait. */
const asking = (asked: ApprovalGate.ApprovalRequest) => Effect.tap(Effect.fork(ask(asked)), () => TestClock.adjust(0))

const pending = PendingApprovals.PendingApprovals

const waiting = Effect.map(
  Effect.flatMap(pending, (approvals) => approvals.list()),
  (records) => records.map((record) => record.request.id)
)

const test = <E>(
  name: string,
  body: () => Effect.Effect<void, E, PendingApprovals.PendingApprovals | ApprovalGate.ApprovalGate>,
  options?: Parameters<typeof PendingApprovals.layerMemory>[0]
) => it.effect(name, () => Effect.provide(body(), PendingApprovals.layerMemory(options)))

const reasonOf = <A, R>(effect: Effect.Effect<A, ApprovalError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

const other = RunId.make("run-9")

describe("PendingApprovals", () => {
  test("waits until a request is approved, with other arguments if given", () =>
    Effect.gen(function* () {
      const a = yield* asking(request("a"))
      const b = yield* asking(request("b"))
      assert.deepStrictEqual(yield* waiting, ["a", "b"])
      const record = yield* PendingApprovals.approve("b", { params: { amount: 1 }, by: "boss" })
      assert.deepStrictEqual(record.settlement, {
        decision: { _tag: "Approved", params: { amount: 1 } },
        settledBy: "decision",
        at: 0,
        by: "boss"
      })
      assert.deepStrictEqual(yield* Fiber.join(b), { _tag: "Approved", params: { amount: 1 } })
      assert.deepStrictEqual(yield* waiting, ["a"])
      yield* PendingApprovals.deny("a", { reason: "not now" })
      assert.deepStrictEqual(yield* Fiber.join(a), { _tag: "Denied", reason: "not now" })
    }))

  test("rejects an unknown or decided id, and keeps the first decision", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a")), "unknown")
      const fiber = yield* asking(request("a"))
      const both = yield* Effect.all(
        [Effect.either(PendingApprovals.approve("a")), Effect.either(PendingApprovals.deny("a"))],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        both.map((result) => result._tag),
        ["Right", "Left"]
      )
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Approved")
      const error = yield* Effect.flip(PendingApprovals.deny("a"))
      assert.instanceOf(error, ApprovalError)
      assert.deepInclude({ ...error }, { reason: "decided", requestId: "a", code: "LEX_ERR_AGT_112" })
    }))

  test("gives the same decision for the same id, without asking", () =>
    Effect.gen(function* () {
      const fiber = yield* asking(request("a"))
      yield* PendingApprovals.approve("a", { params: { amount: 2 } })
      const decision = yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* ask(request("a")), decision)
    }))

  test("never applies a decision to another call under the same id", () =>
    Effect.gen(function* () {
      const fiber = yield* asking(request("a"))
      yield* PendingApprovals.approve("a")
      yield* Fiber.join(fiber)
      for (const over of [{ params: { amount: 5000 } }, { tool: "wire" }, { agent: "other" }, { runId: other }]) {
        assert.strictEqual((yield* ask(request("a", over)))._tag, "Denied")
      }
    }))

  test("wakes two runs with one id together, and one that leaves does not withdraw it", () =>
    Effect.gen(function* () {
      const first = yield* asking(request("a"))
      const second = yield* asking(request("a"))
      const third = yield* asking(request("a"))
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(yield* waiting, ["a"])
      yield* PendingApprovals.approve("a")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Approved")
      assert.strictEqual((yield* Fiber.join(third))._tag, "Approved")
    }))

  test("withdraws the request of an interrupted run", () =>
    Effect.gen(function* () {
      const fiber = yield* asking(request("a"))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* waiting, [])
      assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a")), "unknown")
    }))

  test("keeps the request of a suspended durable run, which finds the decision on resume", () =>
    Effect.gen(function* () {
      const sleeping: Step.Service = { run: (_options, effect) => effect, isSuspended: () => true }
      const fiber = yield* Effect.provideService(asking(request("a")), Step.Step, sleeping)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* waiting, ["a"])
      yield* PendingApprovals.approve("a")
      assert.strictEqual((yield* ask(request("a")))._tag, "Approved")
    }))

  test(
    "denies undecided requests at expiry; later answers are rejected",
    () =>
      Effect.gen(function* () {
        const fiber = yield* asking(request("a"))
        const sooner = yield* asking(request("b", { expiresAt: 60_000 }))
        yield* TestClock.adjust("1 minute")
        assert.include((yield* Fiber.join(sooner)) as object, { _tag: "Denied" })
        yield* TestClock.adjust("39 days")
        assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
        yield* TestClock.adjust("1 day")
        const decision = yield* Fiber.join(fiber)
        assert.strictEqual(decision._tag, "Denied")
        assert.include(decision._tag === "Denied" ? decision.reason : "", "expired")
        assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a")), "expired")
        assert.deepStrictEqual(yield* ask(request("a")), decision)
      }),
    { expiresAfter: "40 days", keepFor: "60 days" }
  )

  it.effect("expires requests without their run, too: in a list, on a decision, explicitly", () =>
    Effect.gen(function* () {
      const store = yield* ApprovalStore.makeMemory()
      yield* Effect.forEach(["a", "b", "c"], (id) =>
        store.add({ request: request(id, { expiresAt: 1000 }), requestedAt: 0 })
      )
      yield* store.add({ request: request("d", { expiresAt: 2000 }), requestedAt: 0 })
      const { pending } = yield* Effect.provideService(PendingApprovals.make(), ApprovalStore.ApprovalStore, store)
      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* reasonOf(pending.decide("a", ApprovalGate.approve())), "expired")
      assert.strictEqual(Option.getOrThrow(yield* pending.get("a")).settlement?.settledBy, "expiry")
      assert.strictEqual(yield* pending.expire, 2)
      assert.strictEqual(yield* pending.expire, 0)
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual(yield* pending.list(), [])
      assert.strictEqual(Option.getOrThrow(yield* pending.get("d")).settlement?.decision._tag, "Denied")
    }).pipe(Effect.scoped)
  )

  it.effect("denies more overdue requests than one batch", () =>
    Effect.gen(function* () {
      const store = yield* ApprovalStore.makeMemory()
      for (let n = 0; n < 250; n++) yield* store.add({ request: request(`${n}`, { expiresAt: 0 }), requestedAt: 0 })
      const { pending } = yield* Effect.provideService(PendingApprovals.make(), ApprovalStore.ApprovalStore, store)
      assert.strictEqual(yield* pending.expire, 250)
    }).pipe(Effect.scoped)
  )

  describe("remembered decisions", () => {
    const user = { userId: UserId.make("u1"), sessionId: SessionId.make("s1") }

    let asked = 0

    /** Whether each request is answered without asking, and how. */
    const answers = (requests: ReadonlyArray<Partial<ApprovalGate.ApprovalRequest>>) =>
      Effect.forEach(requests, (over) =>
        Effect.gen(function* () {
          const fiber = yield* asking(request(`later-${asked++}`, over))
          const exit = yield* Fiber.poll(fiber)
          if (Option.isSome(exit)) return (yield* Fiber.join(fiber))._tag
          yield* Fiber.interrupt(fiber)
          return "asked"
        })
      )

    const first = (over: Partial<ApprovalGate.ApprovalRequest>, options: PendingApprovals.DecideOptions) =>
      Effect.gen(function* () {
        const fiber = yield* asking(request("first", over))
        yield* SystemAccess.grant(PendingApprovals.approve("first", options))
        yield* Fiber.join(fiber)
      })

    test("apply to the top run with equal arguments, and ask for others", () =>
      Effect.gen(function* () {
        yield* first({}, { remember: "run" })
        const cases = [{ runId: other }, { params: { amount: 6 } }, { params: {} }, { rootRunId: other }]
        assert.deepStrictEqual(yield* answers(cases), ["Approved", "asked", "asked", "asked"])
      }))

    test("apply to the top run with any arguments if chosen", () =>
      Effect.gen(function* () {
        yield* first({}, { remember: "run", arguments: "any" })
        const cases = [
          { params: { amount: 6 } },
          { runId: other },
          { rootRunId: other },
          { tool: "wire" },
          { agent: "other" }
        ]
        assert.deepStrictEqual(yield* answers(cases), ["Approved", "Approved", "asked", "asked", "asked"])
      }))

    test("apply to the session, the user and the tool", () =>
      Effect.gen(function* () {
        yield* first(user, { remember: "session" })
        const elsewhere = { ...user, rootRunId: other }
        const stranger = { userId: UserId.make("u2"), sessionId: SessionId.make("s2"), rootRunId: other }
        const cases = [elsewhere, { ...elsewhere, sessionId: SessionId.make("s2") }, stranger, { rootRunId: other }]
        assert.deepStrictEqual(yield* answers(cases), ["Approved", "asked", "asked", "asked"])
        const { decide, forget } = yield* pending
        const remember = (scope: ApprovalStore.Scope) =>
          Effect.gen(function* () {
            yield* SystemAccess.grant(forget())
            yield* asking(request(scope, user))
            yield* SystemAccess.grant(
              decide(scope, ApprovalGate.deny({ reason: "never" }), { remember: scope, arguments: "any" })
            )
          })
        yield* remember("user")
        assert.deepStrictEqual(yield* answers(cases.map((over) => ({ ...over, params: { user: 1 } }))), [
          "Denied",
          "Denied",
          "asked",
          "asked"
        ])
        yield* remember("tool")
        assert.deepStrictEqual(yield* answers(cases.map((over) => ({ ...over, params: { tool: 1 } }))), [
          "Denied",
          "Denied",
          "Denied",
          "Denied"
        ])
      }))
    test("apply only to equal arguments, in any key order", () =>
      Effect.gen(function* () {
        yield* first({}, { remember: "tool" })
        const cases = [{ params: { to: { name: "Ann" }, amount: 5 } }, { params: { amount: 5 } }]
        assert.deepStrictEqual(yield* answers(cases), ["Approved", "asked"])
      }))

    test("never carry an edit over to other arguments", () =>
      Effect.gen(function* () {
        const fiber = yield* asking(request("first"))
        yield* PendingApprovals.approve("first", { params: { amount: 1 }, remember: "run", arguments: "any" })
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(yield* ask(request("again")), { _tag: "Approved", params: { amount: 1 } })
        assert.deepStrictEqual(yield* answers([{ params: { amount: 6 } }]), ["asked"])
      }))

    test("prefer a decision for equal arguments to a wider one", () =>
      Effect.gen(function* () {
        yield* asking(request("narrow", { params: { amount: 666 } }))
        yield* SystemAccess.grant(PendingApprovals.deny("narrow", { remember: "tool" }))
        yield* asking(request("wide"))
        yield* PendingApprovals.approve("wide", { remember: "run", arguments: "any" })
        assert.deepStrictEqual(yield* answers([{ params: { amount: 666 } }, {}]), ["Denied", "Approved"])
      }))

    test("decide nothing without a scope to remember for", () =>
      Effect.gen(function* () {
        yield* asking(request("a"))
        assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a", { remember: "user" })), "scope")
        assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a", { remember: "session" })), "scope")
        assert.deepStrictEqual(yield* waiting, ["a"])
      }))

    test("apply to the user of the request, whatever the ids of other sessions and runs", () =>
      Effect.gen(function* () {
        const as = (userId: string | undefined) => ({
          ...(userId === undefined ? {} : { userId: UserId.make(userId) }),
          sessionId: SessionId.make("s1")
        })
        const all = (n: number | string) => ["u1", "u2", undefined].map((userId) => ({ ...as(userId), params: { n } }))
        for (const scope of ["run", "session"] as const) {
          yield* asking(request(`of ${scope}`, { ...as("u1"), params: { scope } }))
          yield* PendingApprovals.approve(`of ${scope}`, { userId: "u1", remember: scope, arguments: "any" })
          assert.deepStrictEqual(yield* answers(all(scope)), ["Approved", "asked", "asked"], scope)
          const { forget, remembered } = yield* pending
          assert.deepStrictEqual(
            (yield* remembered({ userId: "u1" })).map((one) => [one.scope, one.userId]),
            [[scope, "u1"]]
          )
          for (const userId of ["u2", undefined]) {
            assert.deepStrictEqual(yield* remembered({ userId }), [])
            assert.strictEqual(yield* forget({ userId }), 0)
          }
          assert.strictEqual((yield* SystemAccess.grant(remembered())).length, 1)
          assert.strictEqual(yield* forget({ userId: "u1" }), 1)
        }
        yield* asking(request("nobody's", as(undefined)))
        yield* PendingApprovals.approve("nobody's", { remember: "session", arguments: "any" })
        assert.deepStrictEqual(yield* answers(all("last")), ["asked", "asked", "Approved"])
      }))

    test("require the system to apply to everyone", () =>
      Effect.gen(function* () {
        yield* asking(request("a", user))
        yield* asking(request("b"))
        const { forget, remembered } = yield* pending
        const refusals = [
          PendingApprovals.approve("a", { userId: "u1", remember: "tool" }),
          SystemAccess.grant(PendingApprovals.approve("a", { userId: "u1", remember: "tool" })),
          PendingApprovals.approve("b", { remember: "tool" })
        ]
        for (const refused of refusals) assert.strictEqual(yield* reasonOf(refused), "scope")
        yield* SystemAccess.grant(PendingApprovals.approve("a", { remember: "tool" }))
        assert.deepStrictEqual(yield* answers([{}, user, { userId: UserId.make("u2") }]), [
          "Approved",
          "Approved",
          "Approved"
        ])
        for (const access of [{}, { userId: "u1" }]) {
          assert.deepStrictEqual(yield* remembered(access), [])
          assert.strictEqual(yield* forget(access), 0)
        }
        assert.strictEqual(yield* SystemAccess.grant(forget({ scope: "tool" })), 1)
      }))

    test("are asked again after they are forgotten; earlier answers remain", () =>
      Effect.gen(function* () {
        yield* first({}, { remember: "run", by: "boss" })
        assert.strictEqual((yield* ask(request("second")))._tag, "Approved")
        const { forget, get, remembered } = yield* pending
        assert.deepInclude(Option.getOrThrow(yield* get("second")).settlement as object, {
          settledBy: "remembered",
          by: "boss"
        })
        assert.strictEqual((yield* remembered({ tool: "pay" })).length, 1)
        assert.strictEqual(yield* forget({ tool: "pay" }), 1)
        assert.deepStrictEqual(yield* answers([{}]), ["asked"])
        assert.strictEqual((yield* ask(request("second")))._tag, "Approved")
      }))
  })

  test("limits access to requests to their user", () =>
    Effect.gen(function* () {
      const u1 = { userId: UserId.make("u1") }
      yield* asking(request("mine", u1))
      yield* asking(request("nobody's"))
      const { changes, decide, get, list } = yield* pending
      const deny = ApprovalGate.deny()
      const seen = (access?: PendingApprovals.Access) =>
        Effect.map(list(access), (records) => records.map((one) => one.request.id))
      const told = (access?: PendingApprovals.Access) =>
        Effect.suspend(() => {
          const heard: Array<string> = []
          const read = Stream.runForEach(changes(access), (one) =>
            Effect.sync(() => heard.push(`${one._tag} ${one.record.request.id}`))
          )
          return Effect.as(Effect.fork(read), heard)
        })
      const heard = [yield* told(u1), yield* told({ userId: "u2" }), yield* told(), yield* SystemAccess.grant(told())]
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* seen(u1), ["mine"])
      assert.deepStrictEqual(yield* seen({ userId: "u2" }), [])
      assert.deepStrictEqual(yield* seen({ userId: "" }), [])
      assert.deepStrictEqual(yield* seen(), ["nobody's"])
      assert.deepStrictEqual(yield* SystemAccess.grant(seen()), ["mine", "nobody's"])
      assert.deepStrictEqual(yield* SystemAccess.grant(seen({ userId: "u2" })), [])
      for (const access of [undefined, { userId: "u2" }, { userId: "" }]) {
        assert.isTrue(Option.isNone(yield* get("mine", access)))
        assert.strictEqual(yield* reasonOf(decide("mine", deny, access)), "unknown")
        assert.strictEqual(yield* reasonOf(SystemAccess.grant(decide("mine", deny, { userId: "u2" }))), "unknown")
      }
      assert.strictEqual(yield* reasonOf(decide("nobody's", deny, u1)), "unknown")
      assert.isTrue(Option.isNone(yield* get("nobody's", u1)))
      assert.deepStrictEqual(yield* SystemAccess.grant(seen()), ["mine", "nobody's"])
      yield* decide("mine", ApprovalGate.approve(), u1)
      assert.strictEqual(yield* reasonOf(decide("mine", deny)), "unknown")
      assert.strictEqual(yield* reasonOf(decide("mine", deny, u1)), "decided")
      yield* SystemAccess.grant(decide("nobody's", deny))
      yield* asking(request("late", u1))
      yield* TestClock.adjust(0)
      const mine = ["Requested mine", "Settled mine", "Requested late"]
      const nobodys = ["Requested nobody's", "Settled nobody's"]
      assert.deepStrictEqual(heard.slice(0, 3), [mine, [], nobodys])
      assert.sameMembers(heard[3] ?? [], [...mine, ...nobodys])
      assert.isTrue(Option.isSome(yield* get("mine", u1)))
    }))

  test("streams waiting requests and then changes, each request once", () =>
    Effect.gen(function* () {
      yield* asking(request("a"))
      const { changes } = yield* pending
      const reader = yield* Effect.fork(Stream.runCollect(Stream.take(changes(), 5)))
      yield* TestClock.adjust(0)
      const b = yield* asking(request("b"))
      yield* PendingApprovals.deny("a")
      yield* Fiber.interrupt(b)
      yield* asking(request("a2"))
      const seen = Chunk.toReadonlyArray(yield* Fiber.join(reader))
      assert.deepStrictEqual(
        seen.map(({ _tag, record }) => `${_tag} ${record.request.id}`),
        ["Requested a", "Requested b", "Settled a", "Withdrawn b", "Requested a2"]
      )
    }))

  test(
    "limits the number of waiting requests",
    () =>
      Effect.gen(function* () {
        yield* asking(request("a"))
        const decision = yield* ask(request("b"))
        assert.include(decision._tag === "Denied" ? decision.reason : "", "More than 1")
        yield* PendingApprovals.approve("a")
        yield* asking(request("c"))
        assert.deepStrictEqual(yield* waiting, ["c"])
      }),
    { maxPending: 1 }
  )

  test(
    "keeps settled requests for a time",
    () =>
      Effect.gen(function* () {
        yield* asking(request("a"))
        yield* PendingApprovals.approve("a")
        yield* TestClock.adjust("1 hour")
        yield* asking(request("b"))
        yield* PendingApprovals.approve("b")
        const { get } = yield* pending
        assert.isTrue(Option.isSome(yield* get("a")))
        yield* TestClock.adjust(1)
        yield* asking(request("c"))
        yield* PendingApprovals.approve("c")
        assert.isTrue(Option.isNone(yield* get("a")))
        assert.isTrue(Option.isSome(yield* get("b")))
      }),
    { keepFor: "1 hour" }
  )

  it.effect("reads a decision another process wrote into the store", () =>
    Effect.gen(function* () {
      const store = yield* ApprovalStore.makeMemory()
      const of = (options?: PendingApprovals.Options) =>
        Effect.provideService(PendingApprovals.make(options), ApprovalStore.ApprovalStore, store)
      const here = yield* of({ poll: "5 seconds" })
      const there = yield* of()
      const fibers = yield* Effect.forEach(["a", "b", "c"], (id) => Effect.fork(here.gate.request(request(id))))
      yield* TestClock.adjust(0)
      yield* there.pending.decide("a", ApprovalGate.approve())
      yield* store.withdraw("b")
      yield* TestClock.adjust("10 seconds")
      const exits = yield* Effect.forEach(fibers, Fiber.poll)
      assert.deepStrictEqual(exits.map(Option.isSome), [true, true, false])
      assert.strictEqual((yield* Fiber.join(fibers[0] as (typeof fibers)[number]))._tag, "Approved")
      assert.strictEqual((yield* Fiber.join(fibers[1] as (typeof fibers)[number]))._tag, "Denied")
    }).pipe(Effect.scoped)
  )

  it.effect("denies when the storage fails, and fails answers", () =>
    Effect.gen(function* () {
      const error = new ApprovalError({ reason: "storage", message: "down" })
      const memory = yield* ApprovalStore.makeMemory()
      const broken = { ...memory, add: () => Effect.fail(error), pending: () => Effect.fail(error) }
      const { gate, pending } = yield* Effect.provideService(
        PendingApprovals.make(),
        ApprovalStore.ApprovalStore,
        broken
      )
      assert.strictEqual((yield* gate.request(request("a")))._tag, "Denied")
      assert.strictEqual(yield* reasonOf(pending.list()), "storage")
    }).pipe(Effect.scoped)
  )

  it.effect("accepts an answer to a request that is still being stored", () =>
    Effect.gen(function* () {
      const memory = yield* ApprovalStore.makeMemory()
      const slow = {
        ...memory,
        add: (record: ApprovalStore.ApprovalRecord) => Effect.delay(memory.add(record), "1 second")
      }
      const { gate, pending } = yield* Effect.provideService(PendingApprovals.make(), ApprovalStore.ApprovalStore, slow)
      const run = yield* Effect.fork(gate.request(request("a")))
      yield* TestClock.adjust(0)
      const answer = yield* Effect.fork(pending.decide("a", ApprovalGate.approve()))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(answer)).settlement?.decision._tag, "Approved")
      assert.strictEqual((yield* Fiber.join(run))._tag, "Approved")
      const stopped = yield* Effect.fork(gate.request(request("b")))
      yield* TestClock.adjust(0)
      const late = yield* Effect.fork(Effect.flip(pending.decide("b", ApprovalGate.approve())))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(stopped)
      assert.strictEqual((yield* Fiber.join(late)).reason, "unknown")
    }).pipe(Effect.scoped)
  )

  it.effect("applies a decision that cannot be remembered", () =>
    Effect.gen(function* () {
      const memory = yield* ApprovalStore.makeMemory()
      const error = new ApprovalError({ reason: "storage", message: "full" })
      const layer = PendingApprovals.layer().pipe(
        Layer.provide(Layer.succeed(ApprovalStore.ApprovalStore, { ...memory, remember: () => Effect.fail(error) }))
      )
      yield* Effect.gen(function* () {
        const fiber = yield* asking(request("a"))
        assert.strictEqual(yield* reasonOf(PendingApprovals.approve("a", { remember: "run" })), "storage")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Approved")
      }).pipe(Effect.provide(layer))
    })
  )

  test("lets thousands wait at once and continue one by one", () =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 3000 }, (_, n) => `r${n}`)
      const fibers = yield* Effect.forEach(ids, (id) => Effect.fork(ask(request(id))))
      yield* TestClock.adjust(0)
      assert.strictEqual((yield* waiting).length, ApprovalStore.DEFAULT_LIMIT)
      yield* Effect.forEach(ids, (id) => PendingApprovals.approve(id), { discard: true })
      const decisions = yield* Effect.forEach(fibers, Fiber.join)
      assert.isTrue(decisions.every(({ _tag }) => _tag === "Approved"))
    }))
})
