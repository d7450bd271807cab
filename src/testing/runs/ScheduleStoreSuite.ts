/**
 * The contract of `ScheduleStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { YieldWrap } from "effect/Utils"
import type { RunSchedule } from "../../agent/record/RunSchedule.js"
import * as ScheduleStore from "../../agent/record/ScheduleStore.js"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import * as PortSuite from "../suite/PortSuite.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"

/**
 * One promise of the port and its test.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = PortSuite.Case<ScheduleStore.ScheduleStore>

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
  body: (store: ScheduleStore.Service) => Generator<YieldWrap<Effect.Effect<any, unknown>>, void, never>
): Case => ({ name, test: Effect.flatMap(ScheduleStore.ScheduleStore, (store) => Effect.gen(() => body(store))) })

interface Fields extends Partial<Omit<RunSchedule, "userId">> {
  readonly userId?: string | undefined
}

/** An active schedule of Ann that is due a second after `epoch`. */
const schedule = (id: string, fields: Fields = {}): RunSchedule => {
  const { userId, ...others } = { userId: "ann", ...fields }
  return {
    id,
    key: `key of ${id}`,
    agent: "helper",
    input: "hello",
    labels: {},
    timing: { _tag: "Every", millis: 1000, from: epoch },
    missed: "skip",
    overlap: "allow",
    state: "active",
    createdAt: epoch,
    updatedAt: epoch,
    revision: 0,
    nextAt: epoch + 1000,
    pending: [],
    ...(userId === undefined ? {} : { userId: UserId.make(userId) }),
    ...others
  }
}

const add = (store: ScheduleStore.Service, id: string, fields?: Fields) =>
  Effect.map(store.insert(schedule(id, fields), id), (inserted) => inserted.schedule)

const ids = (page: ScheduleStore.Page): ReadonlyArray<string> => page.schedules.map(({ id }) => id)

const due = (store: ScheduleStore.Service, now: number, agents: ReadonlyArray<string> = ["helper"]) =>
  Effect.map(store.due({ now, agents, limit: 100 }), (found) => found.map(({ id }) => id))

const keeping: ReadonlyArray<Case> = [
  make("keeps every field of a schedule", function* (store) {
    const full = schedule("full ü\ud83d\ude00", {
      tenantId: UserId.make("tenant"),
      sessionId: SessionId.make("s \u2028"),
      input: [
        { type: "text", text: "a\u0000b \ud83d" },
        { type: "file", mediaType: "text/plain", data: new Uint8Array([104, 105]) }
      ],
      settings: { temperature: 0.5, stop: ["x"] },
      policy: {
        limits: { timeout: "10 minutes", llmTimeout: 500, maxModelCalls: 3, maxCostUsd: 0.5 },
        retry: { maxRetries: 2, base: "1 second", factor: 1.5, jitter: false },
        fallback: ["small", "b\u0000 \ud83d"],
        compensate: false
      },
      labels: { team: "a\u0000b", constructor: "1" },
      timing: {
        _tag: "Cron",
        text: "0 9 * * *",
        zone: "Europe/Berlin",
        second: 0,
        minutes: [0],
        hours: [9],
        days: [],
        months: [],
        weekdays: [],
        and: false
      },
      missed: "all",
      overlap: "skip",
      startsAt: epoch,
      endsAt: epoch + 9,
      pending: [epoch + 1, epoch + 2],
      lastFiredAt: epoch + 2,
      lastRunId: RunId.make("run"),
      dropped: { at: epoch, reason: "missed" },
      error: { tag: "RunError", message: "no \ud800" }
    })
    yield* store.insert(full, "f")
    equal(Option.getOrUndefined(yield* store.get(full.id, { userId: "ann" })), full, "the schedule")
  }),
  make("returns the known schedule to the same request, and refuses another one with its id", function* (store) {
    equal((yield* store.insert(schedule("a"), "one")).added, true, "the first")
    const again = yield* store.insert(schedule("a", { key: "other", createdAt: epoch + 5 }), "one")
    equal([again.added, again.schedule.createdAt], [false, epoch], "the second")
    equal((yield* failure(store.insert(schedule("a"), "two"), "another request")).reason, "conflict", "the reason")
    for (const userId of ["bob", undefined]) {
      const error = yield* failure(store.insert(schedule("a", { userId }), "one"), "a foreign id")
      equal(error.reason, "conflict", `the id of another owner for ${userId}`)
    }
  }),
  make("adds one of concurrent schedules of an id", function* (store) {
    const added = yield* Parallel.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      (i) => store.insert(schedule("a", { key: `${i}` }), "same"),
      8
    )
    equal(added.filter((one) => one.added).length, 1, "added schedules")
  }),
  make("replaces a schedule only from the revision before", function* (store) {
    const first = yield* add(store, "a")
    const next: RunSchedule = { ...first, revision: 1, state: "paused", labels: { a: "1" } }
    equal(yield* store.replace({ ...next, revision: 2 }), false, "a revision that was left out")
    equal(yield* store.replace({ ...next, revision: 0 }), false, "the same revision")
    equal(yield* store.replace({ ...next, key: "other" }), false, "another schedule with this id")
    equal(yield* store.replace(next), true, "the next revision")
    equal(yield* store.replace(next), false, "the next revision again")
    equal(Option.getOrUndefined(yield* store.get("a", { userId: "ann" })), next, "the schedule")
    equal(yield* store.replace(schedule("nobody", { revision: 1 })), false, "an unknown schedule")
  }),
  make("lets one of concurrent changes win", function* (store) {
    const first = yield* add(store, "a")
    const changes = yield* Parallel.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      (i) => store.replace({ ...first, revision: 1, nextAt: epoch + i }),
      8
    )
    equal(changes.filter((isDone) => isDone).length, 1, "changes that were made")
  }),
  make("removes the schedule that is meant, and no other with its id", function* (store) {
    const first = yield* add(store, "a")
    equal(yield* store.remove({ id: "a", key: "other" }), false, "another schedule with this id")
    equal(yield* store.remove(first), true, "the schedule")
    equal(yield* store.remove(first), false, "the schedule again")
    equal((yield* store.insert(schedule("a"), "new")).added, true, "the id is free again")
  }),
  make("erases the schedules of one user", function* (store) {
    yield* add(store, "a")
    yield* add(store, "b", { state: "paused" })
    yield* add(store, "c", { userId: "bob" })
    yield* add(store, "d", { userId: undefined })
    equal(yield* store.erase("ann"), 2, "erased schedules")
    equal(ids(yield* SystemAccess.grant(store.list())), ["d", "c"], "the others")
    equal(yield* due(store, epoch + 1000), ["c", "d"], "the others that are due")
  })
]

const finding: ReadonlyArray<Case> = [
  make("shows a schedule to its owner, and to the system that names no user", function* (store) {
    yield* add(store, "anns", { createdAt: epoch + 3 })
    yield* add(store, "bobs", { userId: "bob", createdAt: epoch + 2 })
    yield* add(store, "nobodys", { userId: undefined, createdAt: epoch + 1 })
    yield* add(store, "systems", { userId: undefined, system: true })
    const all = ["anns", "bobs", "nobodys", "systems"]
    const seen = Effect.fnUntraced(function* (userId?: string) {
      const listed = ids(yield* store.list({ userId }))
      const got: Array<string> = []
      for (const id of all) if (Option.isSome(yield* store.get(id, { userId }))) got.push(id)
      equal(got, listed, "schedules that are found by id")
      return listed
    })
    equal(yield* seen("ann"), ["anns"], "schedules of Ann")
    equal(yield* seen(), ["nobodys"], "schedules of nobody")
    equal(yield* seen("eve"), [], "schedules of Eve")
    equal(yield* SystemAccess.grant(seen()), all, "schedules for the system")
    equal(yield* SystemAccess.grant(seen("bob")), ["bobs"], "schedules of Bob for the system")
  }),
  make("selects schedules by agent and state, page by page", function* (store) {
    for (let i = 0; i < 7; i++) {
      const agent = i % 2 === 0 ? "helper" : "clerk"
      yield* add(store, `s${i}`, { agent, state: i < 4 ? "active" : "paused", createdAt: epoch + Math.floor(i / 2) })
    }
    const ann = { userId: "ann" }
    equal(ids(yield* store.list({ ...ann, agent: "clerk" })), ["s5", "s3", "s1"], "schedules of an agent")
    equal(ids(yield* store.list({ ...ann, state: "paused" })), ["s6", "s5", "s4"], "paused schedules")
    equal(ids(yield* store.list({ ...ann, agent: "clerk", state: "active" })), ["s3", "s1"], "both")
    const found: Array<string> = []
    let cursor: string | undefined
    do {
      const page: ScheduleStore.Page = yield* store.list({ ...ann, limit: 3, cursor })
      holds(page.schedules.length <= 3, "the size of a page")
      found.push(...ids(page))
      cursor = page.next
    } while (cursor !== undefined)
    equal(found, ["s6", "s5", "s4", "s3", "s2", "s1", "s0"], "all pages")
    equal((yield* failure(store.list({ cursor: "x" }), "a strange cursor")).reason, "invalid", "the reason")
  }),
  make("finds no schedule by an id that nobody has, however strange", function* (store) {
    yield* add(store, "a")
    for (const id of ["", "A", "a ", "%", "'; DROP TABLE lex_run_schedules --", "\u0000", "x".repeat(10_000)]) {
      equal(Option.isNone(yield* store.get(id, { userId: "ann" })), true, `the id ${id.slice(0, 20)}`)
      equal(yield* store.remove({ id, key: "key of a" }), false, `a removal of ${id.slice(0, 20)}`)
    }
  }),
  make("knows which schedules are due: pending firings, and the next ones of active schedules", function* (store) {
    const active = yield* add(store, "active")
    yield* add(store, "later", { nextAt: epoch + 5000 })
    yield* add(store, "paused", { state: "paused", nextAt: epoch })
    yield* add(store, "ended", { state: "ended", nextAt: undefined })
    yield* add(store, "pending", { state: "ended", nextAt: undefined, pending: [epoch + 500, epoch + 700] })
    yield* add(store, "clerks", { agent: "clerk", nextAt: epoch + 1 })
    equal(yield* due(store, epoch + 499), [], "before the first")
    equal(yield* due(store, epoch + 1000), ["pending", "active"], "at the time of the second")
    equal(yield* due(store, epoch + 1000, ["clerk"]), ["clerks"], "of another agent")
    equal(yield* due(store, epoch + 9000, ["clerk", "helper"]), ["clerks", "pending", "active", "later"], "of both")
    equal(Option.getOrUndefined(yield* store.nextDue(["helper"])), epoch + 500, "the first that is due")
    equal(Option.isNone(yield* store.nextDue(["nobody"])), true, "of an agent without schedules")
    yield* store.replace({ ...active, revision: 1, nextAt: epoch + 8000 })
    equal(yield* due(store, epoch + 1000), ["pending"], "after a change")
  }),
  make("reads due schedules page by page", function* (store) {
    for (const id of ["c", "a", "b", "d", "e"]) yield* add(store, id, { nextAt: epoch + (id < "d" ? 1 : 2) })
    const found: Array<string> = []
    let after: RunSchedule | undefined
    do {
      const page = yield* store.due({ now: epoch + 5, agents: ["helper"], limit: 2, after })
      found.push(...page.map(({ id }) => id))
      after = page.at(-1)
    } while (after !== undefined)
    equal(found, ["a", "b", "c", "d", "e"], "all pages")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...keeping, ...finding]

const { check, run } = PortSuite.make(cases, { epoch })

export {
  /**
   * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. It must
   * build an empty store.
   *
   * @example
   * ```ts
   * import type { ScheduleStore } from "effect-lexigram/agent"
   * import { ScheduleStoreSuite } from "effect-lexigram/testing"
   * import * as Effect from "effect/Effect"
   * import type * as Layer from "effect/Layer"
   *
   * declare const test: (name: string, run: () => Promise<void>) => void
   * declare const mine: Layer.Layer<ScheduleStore.ScheduleStore>
   *
   * for (const one of ScheduleStoreSuite.cases) {
   *   test(one.name, () => Effect.runPromise(ScheduleStoreSuite.check(one, mine)))
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
