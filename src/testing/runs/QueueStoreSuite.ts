/**
 * The contract of `QueueStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import type { QueuedRun } from "../../agent/record/QueuedRun.js"
import * as QueueStore from "../../agent/record/QueueStore.js"
import { RunId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import * as PortSuite from "../suite/PortSuite.js"
import { equal, failure } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<QueueStore.QueueStore>

/**
 * The outcome of a case.
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = PortSuite.Outcome

const epoch = 1_750_000_000_000

const make = (
  name: string,
  body: (store: QueueStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(QueueStore.QueueStore, (store) => Effect.gen(() => body(store))) })

interface Fields extends Partial<Omit<QueuedRun, "userId">> {
  readonly userId?: string | undefined
}

/** A run of Ann, whose rank is `epoch` unless the fields say otherwise. */
const queued = (id: string, fields: Fields = {}): QueuedRun => {
  const { userId, ...others } = { userId: "ann", ...fields }
  const agent = fields.agent ?? "helper"
  return {
    runId: RunId.make(id),
    agent,
    request: { agent, runId: id, input: "hello" },
    fingerprint: id,
    priority: 0,
    rank: epoch,
    notBefore: epoch,
    createdAt: epoch,
    ...(userId === undefined ? {} : { userId: UserId.make(userId) }),
    ...others
  }
}

const add = (store: QueueStore.Service, id: string, fields?: Fields, maxWaiting = 1000) =>
  store.add(queued(id, fields), { now: epoch, maxWaiting })

const options = {
  worker: "w1",
  leaseUntil: epoch + 1000,
  now: epoch,
  agents: ["helper", "clerk"],
  concurrency: 1000,
  perOwner: 1000,
  perAgent: 1000
}

const claim = (store: QueueStore.Service, fields?: Partial<QueueStore.ClaimOptions>) =>
  Effect.map(store.claim({ ...options, ...fields }), (runs) => runs.map(({ runId }) => runId as string))

const adding: ReadonlyArray<Case> = [
  make("keeps every field of a run", function* (store) {
    const full = queued("full ü\ud83d\ude00", {
      request: {
        agent: "helper",
        runId: "full",
        input: [{ type: "text", text: "a\u0000b \ud83d" }],
        labels: { constructor: "1" },
        userId: "ann",
        settings: { temperature: 0.5 },
        history: [{ role: "user", content: "before" }],
        classifications: ["pii"],
        clientTools: [{ name: "weather", parameters: { type: "object" }, expiresAfter: 1000 }],
        output: { name: "forecast", description: "\u0000", schema: { type: "object", required: ["degrees"] } },
        toolChoice: { tool: "weather" },
        startWith: "called"
      },
      priority: 3
    })
    yield* store.add(full, { now: epoch, maxWaiting: 1 })
    const place = Option.getOrUndefined(yield* store.get(full.runId, { userId: "ann" }))
    equal(place, { run: full, state: "waiting", ahead: 0 }, "its place")
    equal(yield* store.claim(options), [full], "as claimed")
  }),
  make("adds a run once, and refuses another one with its id", function* (store) {
    equal((yield* add(store, "a")).added, true, "the first")
    equal((yield* add(store, "a")).added, false, "the same again")
    for (const fields of [{ fingerprint: "other" }, { userId: "bob" }, { userId: undefined }]) {
      const error = yield* failure(add(store, "a", fields), "another request")
      equal("reason" in error && error.reason, "conflict", "the reason")
    }
    const added = yield* Parallel.forEach([1, 2, 3, 4, 5, 6], () => add(store, "b"), 6)
    equal(added.filter((one) => one.added).length, 1, "concurrent calls that added it")
    equal(yield* SystemAccess.grant(store.counts()), { waiting: 2, running: 0 }, "runs that wait")
  }),
  make("refuses more runs than may wait, and counts those that are delayed", function* (store) {
    yield* add(store, "a", {}, 2)
    yield* add(store, "b", { notBefore: epoch + 5 }, 2)
    const error = yield* failure(add(store, "c", {}, 2), "one too many")
    equal(error._tag, "QueueFullError", "the error")
    equal((yield* add(store, "a", {}, 2)).added, false, "a known run")
    yield* claim(store)
    equal((yield* add(store, "c", {}, 2)).added, true, "after a claim")
  }),
  make("shows a run to its owner, and to the system that names no user", function* (store) {
    yield* add(store, "anns")
    yield* add(store, "nobodys", { userId: undefined })
    yield* add(store, "systems", { userId: undefined, system: true })
    const seen = (userId?: string) =>
      Effect.filter(["anns", "nobodys", "systems"], (id) => Effect.map(store.get(id, { userId }), Option.isSome))
    equal(yield* seen("ann"), ["anns"], "runs of Ann")
    equal(yield* seen("eve"), [], "runs of Eve")
    equal(yield* seen(), ["nobodys"], "runs of nobody")
    equal(yield* SystemAccess.grant(seen()), ["anns", "nobodys", "systems"], "runs for the system")
    equal((yield* store.counts({ userId: "ann" })).waiting, 1, "the count of Ann")
    equal((yield* store.counts()).waiting, 1, "the count of nobody")
    equal((yield* SystemAccess.grant(store.counts())).waiting, 3, "the count of the system")
    for (const id of ["", "ANNS", "'; DROP TABLE lex_queue --", "\u0000", "x".repeat(10_000)]) {
      equal(Option.isNone(yield* store.get(id, { userId: "ann" })), true, `the id ${id.slice(0, 20)}`)
    }
  })
]

const claiming: ReadonlyArray<Case> = [
  make("claims the runs of one owner by their rank, and says how many are ahead", function* (store) {
    for (const [id, rank] of [
      ["c", 3],
      ["a", 1],
      ["b", 2]
    ] as const)
      yield* add(store, id, { rank })
    const ahead = Option.map(yield* store.get("c", { userId: "ann" }), (place) => place.ahead)
    equal(Option.getOrUndefined(ahead), 2, "runs ahead")
    equal(yield* claim(store), ["a", "b", "c"], "the claims")
    equal(yield* claim(store), [], "what is left")
    const place = Option.getOrUndefined(yield* store.get("c", { userId: "ann" }))
    equal([place?.state, place?.ahead], ["claimed", 0], "a claimed run")
  }),
  make("lets the owners take turns, however many runs one of them has", function* (store) {
    for (let i = 0; i < 6; i++) yield* add(store, `a${i}`, { rank: i })
    yield* add(store, "b0", { userId: "bob", rank: 10 })
    yield* add(store, "b1", { userId: "bob", rank: 11 })
    yield* add(store, "c0", { userId: "eve", rank: 20 })
    equal(yield* claim(store), ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4", "a5"], "the turns")
  }),
  make("gives an owner that comes later its turn soon, and no more than that", function* (store) {
    for (let i = 0; i < 6; i++) yield* add(store, `a${i}`, { rank: i })
    equal(yield* claim(store, { concurrency: 2 }), ["a0", "a1"], "the first claims")
    for (let i = 0; i < 4; i++) yield* add(store, `b${i}`, { userId: "bob", rank: 10 + i })
    const next = yield* claim(store, { concurrency: 6 })
    equal([...next].sort(), ["a2", "a3", "b0", "b1"], "the next claims")
  }),
  make("keeps the limits of all runs, of owners and of agents", function* (store) {
    for (let i = 0; i < 4; i++) {
      yield* add(store, `a${i}`, { rank: i })
      yield* add(store, `b${i}`, { userId: "bob", agent: "clerk", rank: i })
    }
    equal((yield* claim(store, { concurrency: 3, perOwner: 1 })).length, 2, "one of each owner")
    equal((yield* claim(store, { concurrency: 3 })).length, 1, "three of all")
    const more = yield* claim(store, { perAgent: 3 })
    equal(more.length, 3, "three of each agent")
    equal(yield* claim(store, { perOwner: 3 }), [], "three of each owner")
    const [gone] = more
    yield* store.remove(gone ?? "")
    equal((yield* claim(store, { perAgent: 3 })).length, 1, "after one has ended")
    equal(yield* SystemAccess.grant(store.counts()), { waiting: 1, running: 6 }, "the counts")
  }),
  make("claims runs of the given agents, even behind others", function* (store) {
    for (let i = 0; i < 3; i++) yield* add(store, `a${i}`, { rank: i })
    yield* add(store, "b", { agent: "clerk", rank: 9 })
    equal(yield* claim(store, { agents: ["clerk"] }), ["b"], "runs of the clerk")
    equal(yield* claim(store, { agents: [] }), [], "runs of nobody")
  }),
  make("claims a delayed run when its time has come", function* (store) {
    yield* add(store, "a", { notBefore: epoch + 10, rank: epoch + 10 })
    equal(Option.getOrUndefined(yield* store.get("a", { userId: "ann" }))?.state, "delayed", "its state")
    equal(yield* claim(store, { now: epoch + 9 }), [], "before")
    equal(yield* claim(store, { now: epoch + 10 }), ["a"], "at its time")
  }),
  make("claims each run once, also by concurrent calls", function* (store) {
    for (let i = 0; i < 40; i++) yield* add(store, `r${i}`, { userId: `u${i % 3}`, rank: i })
    const found = yield* Parallel.forEach(
      Array.from({ length: 8 }, (_, i) => `w${i}`),
      (worker) => claim(store, { worker, concurrency: 30 }),
      8
    )
    equal(found.flat().length, 30, "claims")
    equal(new Set(found.flat()).size, 30, "claimed runs")
  })
]

const leasing: ReadonlyArray<Case> = [
  make("lets another process take over claims whose lease has ended, and counts them meanwhile", function* (store) {
    yield* add(store, "a", { rank: 1 })
    yield* add(store, "b", { rank: 2 })
    yield* claim(store, { concurrency: 1 })
    const second = { worker: "w2", leaseUntil: epoch + 5000, agents: ["helper"] }
    const taken = (now: number) =>
      Effect.map(store.takeOver({ ...second, now }), (runs) => runs.map(({ runId }) => runId as string))
    equal(yield* taken(epoch + 999), [], "before the end of the lease")
    equal(yield* claim(store, { worker: "w2", concurrency: 1, now: epoch + 9999 }), [], "claims beside it")
    equal(yield* store.takeOver({ ...second, agents: ["clerk"], now: epoch + 1000 }), [], "of another agent")
    equal(yield* taken(epoch + 1000), ["a"], "at the end of the lease")
    equal(yield* taken(epoch + 1000), [], "a second time")
    equal(yield* store.renew({ worker: "w1", leaseUntil: epoch + 9000 }), [], "what is left to the first process")
    equal(yield* store.renew({ worker: "w2", leaseUntil: epoch + 9000 }), ["a"], "what the second process has")
    equal(yield* taken(epoch + 8999), [], "within the renewed lease")
  }),
  make("cancels a run that nobody has claimed", function* (store) {
    yield* add(store, "a")
    yield* add(store, "b", { notBefore: epoch + 10 })
    yield* add(store, "c", { rank: epoch + 1 })
    const worker = { worker: "w1", leaseUntil: epoch + 10 }
    equal(yield* store.cancel("a", worker), true, "a waiting run")
    equal(yield* store.cancel("b", worker), true, "a delayed run")
    equal(yield* store.cancel("a", worker), false, "a cancelled run")
    equal(yield* store.cancel("nobody", worker), false, "an unknown run")
    equal(yield* claim(store, { now: epoch + 20 }), ["c"], "the other run")
    equal(yield* store.cancel("c", worker), false, "a claimed run")
    equal(yield* SystemAccess.grant(store.counts()), { waiting: 0, running: 3 }, "the counts")
    const left = yield* store.takeOver({ worker: "w2", leaseUntil: epoch + 99, now: epoch + 10, agents: ["helper"] })
    equal(left.filter(({ cancelled }) => cancelled === true).length, 2, "cancelled runs, for another process")
    for (const id of ["a", "b"]) yield* store.remove(id)
    equal((yield* add(store, "a")).added, true, "the id is free again")
  }),
  make("removes a run only after it was claimed", function* (store) {
    yield* add(store, "a")
    yield* store.remove("a")
    equal(yield* claim(store), ["a"], "the waiting run")
    yield* store.remove("a")
    equal(Option.isNone(yield* store.get("a", { userId: "ann" })), true, "the claimed run")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...adding, ...claiming, ...leasing]

const { check, run } = PortSuite.make(cases, { epoch })

export {
  /**
   * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. It must
   * build an empty store.
   *
   * @example
   * ```ts
   * import type { QueueStore } from "effect-lexigram/agent"
   * import { QueueStoreSuite } from "effect-lexigram/testing"
   * import * as Effect from "effect/Effect"
   * import type * as Layer from "effect/Layer"
   *
   * declare const test: (name: string, run: () => Promise<void>) => void
   * declare const mine: Layer.Layer<QueueStore.QueueStore>
   *
   * for (const one of QueueStoreSuite.cases) {
   *   test(one.name, () => Effect.runPromise(QueueStoreSuite.check(one, mine)))
   * }
   * ```
   *
   * @since 0.1.0
   * @category combinators
   */
  check,
  /**
   * Runs every case in sequence. A broken promise is an outcome, not a failure.
   *
   * @since 0.1.0
   * @category combinators
   */
  run
}
