import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as RunSchedules from "../../../src/agent/dispatch/RunSchedules.js"
import * as Scheduler from "../../../src/agent/dispatch/Scheduler.js"
import * as InMemoryScheduleStore from "../../../src/agent/record/InMemoryScheduleStore.js"
import * as RunErrors from "../../../src/agent/record/RunError.js"
import * as ScheduleErrors from "../../../src/agent/record/ScheduleError.js"
import * as ScheduleStore from "../../../src/agent/record/ScheduleStore.js"
import * as RunAdmission from "../../../src/agent/runs/RunAdmission.js"
import { Runs } from "../../../src/agent/runs/Runs.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as FakeRuns from "../../support/FakeRuns.js"

const HOUR = 3_600_000
const DAY = 24 * HOUR
const WEEK = 7 * DAY
const ann = { userId: "ann" }

/** A process with schedules on a store; the tests end it, or it ends with them. */
const open = Effect.fnUntraced(function* (
  fake: FakeRuns.FakeRuns,
  store: ScheduleStore.Service,
  options?: Partial<Scheduler.Options>
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = Scheduler.layer({ agents: ["helper", "clerk"], poll: "1 minute", ...options }).pipe(
    Layer.provide([Layer.succeed(Runs, fake.runs), Layer.succeed(ScheduleStore.ScheduleStore, store)])
  )
  const context = yield* Layer.buildWithScope(layer, scope)
  return { schedules: Context.get(context, RunSchedules.RunSchedules), end: Scope.close(scope, Exit.void) }
})

const setup = Effect.fnUntraced(function* (options?: Partial<Scheduler.Options>) {
  const fake = FakeRuns.make({ endAtOnce: true })
  const store = InMemoryScheduleStore.make()
  const { end, schedules } = yield* open(fake, store, options)
  return { fake, store, schedules, end }
})

/** The firings that began a run, from the ids of the runs. */
const fired = ({ started }: FakeRuns.FakeRuns): ReadonlyArray<number> =>
  started.map(({ runId }) => Number(runId?.split("@")[1]))

const hourly = { agent: "helper", input: "hello", cron: "0 * * * *", ...ann }

const some = <A>(found: Option.Option<A>): A => Option.getOrThrow(found)

describe("Scheduler", () => {
  it.scoped("starts a run at each firing, for the owner of the schedule", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      const created = yield* schedules.create({
        ...hourly,
        id: "report",
        labels: { team: "x" },
        settings: { temperature: 0 },
        policy: { limits: { maxModelCalls: 3 }, compensate: false },
        sessionId: "s",
        tenantId: "t"
      })
      assert.deepInclude(created, { id: "report", state: "active", nextAt: HOUR, missed: "skip", overlap: "allow" })
      yield* TestClock.adjust(HOUR - 1)
      assert.deepStrictEqual(fake.started, [])
      yield* TestClock.adjust(2 * HOUR + 1)
      assert.deepStrictEqual(fired(fake), [HOUR, 2 * HOUR, 3 * HOUR])
      const { runId, ...request } = fake.started[0]!
      assert.deepStrictEqual<unknown>(request, {
        agent: "helper",
        input: "hello",
        labels: { team: "x", schedule: "report" },
        settings: { temperature: 0 },
        policy: { limits: { maxModelCalls: 3 }, compensate: false },
        sessionId: "s",
        tenantId: "t",
        userId: "ann"
      })
      const { lastFiredAt, lastRunId, nextAt, pending } = some(yield* schedules.get("report", ann))
      assert.deepStrictEqual([lastFiredAt, nextAt, pending], [3 * HOUR, 4 * HOUR, []])
      const { records } = yield* fake.runs.list({ ...ann, labels: { schedule: "report" } })
      assert.deepStrictEqual([records.length, records.at(-1)?.runId as string], [3, runId])
      assert.isTrue(records.some((record) => record.runId === lastRunId))
    })
  )

  it.scoped("fires at a fixed distance, from its begin to its end", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ agent: "helper", input: "a", every: "90 seconds", ...ann, id: "plain" })
      yield* TestClock.adjust("4 minutes")
      assert.deepStrictEqual(fired(fake), [90_000, 180_000])
      yield* schedules.remove("plain", ann)
      fake.started.length = 0
      const times = { startsAt: HOUR, endsAt: HOUR + 20_000 }
      yield* schedules.create({ agent: "helper", input: "a", every: "10 seconds", ...times, ...ann, id: "bounded" })
      yield* TestClock.adjust(2 * HOUR)
      assert.deepStrictEqual(fired(fake), [HOUR, HOUR + 10_000, HOUR + 20_000])
      const ended = some(yield* schedules.get("bounded", ann))
      assert.deepStrictEqual([ended.state, ended.nextAt], ["ended", undefined])
      assert.strictEqual((yield* Effect.flip(schedules.resume("bounded", ann))).reason, "invalid")
      const again = yield* schedules.update("bounded", { endsAt: 3 * HOUR }, ann)
      assert.deepStrictEqual([again.state, again.nextAt], ["active", 2 * HOUR + 250_000 - (250_000 % 10_000)])
    })
  )

  it.scoped("fires in the zone of a cron expression", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(DateTime.unsafeMake("2026-03-27T12:00:00Z").epochMillis)
      const { fake, schedules } = yield* setup({ poll: "1 hour" })
      yield* schedules.create({ ...hourly, cron: "30 2 * * *", timeZone: "Europe/Berlin" })
      const cron = Cron.unsafeParse("30 2 * * *", "America/New_York")
      const { timing } = yield* schedules.create({ ...hourly, agent: "clerk", cron })
      assert.deepInclude(timing, { _tag: "Cron", zone: "America/New_York" })
      yield* TestClock.adjust(3 * DAY)
      const times = (agent: string) =>
        fake.started.flatMap((request) =>
          request.agent === agent
            ? [DateTime.formatIso(DateTime.unsafeMake(Number(request.runId?.split("@")[1]))).slice(5, 16)]
            : []
        )
      assert.deepStrictEqual(times("helper"), ["03-28T01:30", "03-29T01:30", "03-30T00:30"])
      assert.deepStrictEqual(times("clerk"), ["03-28T06:30", "03-29T06:30", "03-30T06:30"])
    })
  )

  for (const [missed, expected] of [
    ["skip", []],
    ["once", [WEEK - HOUR]],
    ["all", Array.from({ length: 5 }, (_, i) => WEEK - (5 - i) * HOUR)]
  ] as const) {
    it.scoped(`starts of the firings of a week without a process those of the policy ${missed}`, () =>
      Effect.gen(function* () {
        const { end, fake, schedules, store } = yield* setup({ maxCatchUp: 5 })
        yield* schedules.create({ ...hourly, id: "a", missed })
        yield* end
        yield* TestClock.adjust(WEEK - 10 * 60_000)
        assert.deepStrictEqual(fake.started, [])
        const again = yield* open(fake, store, { maxCatchUp: 5 })
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(fired(fake), expected)
        const { dropped, nextAt } = some(yield* again.schedules.get("a", ann))
        assert.strictEqual(nextAt, WEEK)
        const last = { skip: WEEK - HOUR, once: WEEK - 2 * HOUR, all: WEEK - 6 * HOUR }[missed]
        assert.deepStrictEqual(dropped, { at: last, reason: "missed" })
        yield* TestClock.adjust(HOUR)
        assert.deepStrictEqual(fired(fake), [...expected, WEEK])
      })
    )
  }

  it.scoped("takes a firing within the tolerance for one in time", () =>
    Effect.gen(function* () {
      const { end, fake, schedules, store } = yield* setup()
      yield* schedules.create(hourly)
      yield* end
      yield* TestClock.adjust(HOUR + 5 * 60_000)
      const strict = yield* open(fake, store, { tolerance: "4 minutes", agents: ["clerk"] })
      yield* strict.end
      yield* open(fake, store, { tolerance: "5 minutes" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired(fake), [HOUR])
    })
  )

  it.scoped("starts one run for each firing, with two processes on one store", () =>
    Effect.gen(function* () {
      const { fake, schedules, store } = yield* setup()
      yield* open(fake, store)
      for (let i = 0; i < 5; i++) yield* schedules.create({ ...hourly, id: `s${i}`, input: `${i}` })
      yield* TestClock.adjust(3 * HOUR)
      assert.strictEqual(fake.started.length, 15)
      assert.strictEqual(new Set(fake.started.map(({ runId }) => runId)).size, 15)
    })
  )

  it.scoped("starts a run once if its process ends between the start and the next write", () =>
    Effect.gen(function* () {
      const fake = FakeRuns.make({ endAtOnce: true })
      const store = InMemoryScheduleStore.make()
      const storage = new ScheduleErrors.ScheduleError({ reason: "storage", message: "gone" })
      let isBroken = false
      const failing: ScheduleStore.Service = {
        ...store,
        replace: (schedule) => (isBroken && schedule.pending.length === 0 ? storage : store.replace(schedule))
      }
      const first = yield* open(fake, failing)
      yield* first.schedules.create({ ...hourly, id: "a" })
      isBroken = true
      yield* TestClock.adjust(HOUR + 5000)
      yield* first.end
      assert.deepStrictEqual(fired(fake), [HOUR])
      assert.deepStrictEqual(some(yield* store.get("a", ann)).pending, [HOUR])
      yield* TestClock.adjust(30 * 60_000)
      const second = yield* open(fake, store)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(some(yield* second.schedules.get("a", ann)).pending, [])
      yield* TestClock.adjust(HOUR)
      assert.deepStrictEqual(fired(fake), [HOUR, 2 * HOUR])
      assert.isAbove(fake.calls(), 2)
    })
  )

  it.scoped("starts what was decided if its process ends before the start, whatever changed meanwhile", () =>
    Effect.gen(function* () {
      const { end, fake, schedules, store } = yield* setup()
      yield* schedules.create({ ...hourly, id: "a" })
      fake.refuse = new RunErrors.RunError({ reason: "storage", message: "gone" })
      yield* TestClock.adjust(HOUR)
      yield* end
      fake.refuse = undefined
      const stuck = some(yield* store.get("a", ann))
      assert.deepStrictEqual([stuck.pending, stuck.error?.message], [[HOUR], "gone"])
      yield* TestClock.adjust(DAY + 600_000)
      const second = yield* open(fake, store)
      yield* second.schedules.update("a", { input: "other" }, ann)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired(fake), [HOUR])
      assert.isUndefined(some(yield* store.get("a", ann)).error)
    })
  )

  it.scoped("tries a start again that others may take, and drops one that nobody can", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, id: "a" })
      fake.refuse = new RunErrors.RunError({ reason: "full", message: "full" })
      yield* TestClock.adjust(HOUR + 60_000)
      assert.isAtLeast(fake.calls(), 2)
      fake.refuse = undefined
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(fired(fake), [HOUR])
      fake.refuse = new RunErrors.RunError({ reason: "invalid", message: "never" })
      yield* TestClock.adjust(HOUR)
      const { dropped, error, pending } = some(yield* schedules.get("a", ann))
      assert.deepStrictEqual<unknown>(
        [dropped, error?.message, pending],
        [{ at: 2 * HOUR, reason: "refused" }, "never", []]
      )
    })
  )

  it.scoped("leaves schedules of agents that the process does not have to others", () =>
    Effect.gen(function* () {
      const { end, fake, schedules, store } = yield* setup()
      yield* schedules.create({ ...hourly, agent: "clerk" })
      yield* end
      yield* open(fake, store, { agents: [{ name: "helper" }] })
      yield* TestClock.adjust(HOUR)
      assert.deepStrictEqual(fake.started, [])
      yield* open(fake, store)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired(fake), [HOUR])
    })
  )

  it.scoped("starts no run while the last one goes on, if its overlap is skip", () =>
    Effect.gen(function* () {
      const fake = FakeRuns.make()
      const { schedules } = yield* open(fake, InMemoryScheduleStore.make())
      yield* schedules.create({ ...hourly, id: "skips", overlap: "skip" })
      yield* schedules.create({ ...hourly, id: "allows" })
      yield* TestClock.adjust(3 * HOUR)
      const of = (id: string) => fake.started.filter(({ labels }) => labels?.["schedule"] === id)
      assert.deepStrictEqual([of("skips").length, of("allows").length], [1, 3])
      const skipped = some(yield* schedules.get("skips", ann))
      assert.deepStrictEqual(skipped.dropped, { at: 3 * HOUR, reason: "overlap" })
      yield* fake.end(of("skips")[0]!.runId!)
      yield* TestClock.adjust(HOUR)
      assert.strictEqual(of("skips").length, 2)
      yield* fake.end(of("skips")[1]!.runId!)
      // A run that was started by hand goes on, too.
      yield* schedules.trigger("skips", ann)
      yield* TestClock.adjust(HOUR)
      assert.strictEqual(of("skips").length, 3)
    })
  )

  it.scoped("starts one of several missed runs, if its overlap is skip", () =>
    Effect.gen(function* () {
      const { end, fake, schedules, store } = yield* setup()
      yield* schedules.create({ ...hourly, missed: "all", overlap: "skip", id: "a" })
      yield* end
      yield* TestClock.adjust(DAY)
      const { schedules: again } = yield* open(fake, store)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(fired(fake), [DAY])
      assert.deepStrictEqual(some(yield* again.get("a", ann)).dropped, { at: DAY - HOUR, reason: "overlap" })
    })
  )

  it.scoped("does not fire while it is paused, and misses nothing by it", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, missed: "all", id: "a" })
      yield* TestClock.adjust(HOUR)
      const paused = yield* schedules.pause("a", ann)
      assert.deepStrictEqual([paused.state, paused.nextAt], ["paused", undefined])
      yield* TestClock.adjust(10 * HOUR + 60_000)
      assert.strictEqual((yield* schedules.update("a", { cron: "30 * * * *" }, ann)).state, "paused")
      const resumed = yield* schedules.resume("a", ann)
      assert.deepStrictEqual([resumed.state, resumed.nextAt], ["active", 11 * HOUR + 30 * 60_000])
      yield* TestClock.adjust(HOUR)
      assert.deepStrictEqual(fired(fake), [HOUR, 11 * HOUR + 30 * 60_000])
      assert.strictEqual((yield* schedules.resume("a", ann)).revision, some(yield* schedules.get("a", ann)).revision)
    })
  )

  describe("a run that was recorded by a process that died before it began", () => {
    /** Records runs, and begins none. */
    const dying = (fake: FakeRuns.FakeRuns): FakeRuns.FakeRuns => ({
      ...fake,
      runs: {
        ...fake.runs,
        start: (request) =>
          Effect.flatMap(RunAdmission.admit(request, undefined), ({ fingerprint, record }) =>
            Effect.zipRight(fake.store.insert(record, fingerprint), Effect.never)
          )
      }
    })

    it.scoped("begins although its schedule is paused", () =>
      Effect.gen(function* () {
        const fake = FakeRuns.make({ endAtOnce: true })
        const store = InMemoryScheduleStore.make()
        const first = yield* open(dying(fake), store)
        yield* first.schedules.create({ ...hourly, id: "a" })
        yield* TestClock.adjust(HOUR)
        yield* first.end
        const { schedules } = yield* open(fake, store, { agents: ["clerk"] })
        assert.deepStrictEqual((yield* schedules.pause("a", ann)).pending, [HOUR])
        yield* open(fake, store)
        yield* TestClock.adjust(2 * HOUR)
        assert.deepStrictEqual(fired(fake), [HOUR])
        const { lastFiredAt, pending, state } = some(yield* schedules.get("a", ann))
        assert.deepStrictEqual([lastFiredAt, pending, state], [HOUR, [], "paused"])
      })
    )

    it.scoped("begins although its schedule is paused while starts fail, and firings without a record do not", () =>
      Effect.gen(function* () {
        const fake = FakeRuns.make({ endAtOnce: true })
        const store = InMemoryScheduleStore.make()
        const first = yield* open(dying(fake), store)
        yield* first.schedules.create({ ...hourly, missed: "all", id: "a" })
        yield* TestClock.adjust(HOUR)
        yield* first.end
        const known = some(yield* first.schedules.get("a", ann))
        const error = { tag: "RunError", message: "full" }
        const failing = { ...known, pending: [HOUR, 2 * HOUR], error, revision: known.revision + 1 }
        assert.isTrue(yield* store.replace(failing))
        const { schedules } = yield* open(fake, store, { agents: ["clerk"] })
        assert.deepStrictEqual((yield* schedules.pause("a", ann)).pending, [HOUR])
        yield* open(fake, store)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(fired(fake), [HOUR])
      })
    )

    it.scoped("begins with the next firing of a schedule without overlap, which it holds up until it ends", () =>
      Effect.gen(function* () {
        const fake = FakeRuns.make()
        const store = InMemoryScheduleStore.make()
        const first = yield* open(dying(fake), store)
        yield* first.schedules.create({ ...hourly, overlap: "skip", id: "a" })
        yield* Effect.fork(first.schedules.trigger("a", { key: "now", ...ann }))
        yield* TestClock.adjust(1)
        yield* first.end
        const { schedules } = yield* open(fake, store)
        assert.deepStrictEqual(fake.started, [])
        yield* TestClock.adjust(HOUR)
        assert.strictEqual(fake.started.length, 1)
        const runId = some(yield* schedules.get("a", ann)).lastRunId ?? ""
        assert.strictEqual(fake.started[0]?.runId, runId)
        assert.isTrue(runId.endsWith("!now"))
        yield* fake.end(runId)
        yield* TestClock.adjust(HOUR)
        assert.strictEqual(fake.started.length, 2)
      })
    )
  })

  it.scoped("changes what it is given, and keeps the rest", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, id: "a", labels: { team: "x" } })
      yield* schedules.update("a", { input: "new", agent: "clerk", settings: { temperature: 1 } }, ann)
      yield* TestClock.adjust(HOUR)
      assert.deepInclude(fake.started[0], { input: "new", agent: "clerk", settings: { temperature: 1 } })
      assert.deepStrictEqual(fake.started[0]?.labels, { team: "x", schedule: "a" })
      yield* schedules.update("a", { every: "10 minutes", labels: {}, missed: "all", overlap: "skip" }, ann)
      yield* TestClock.adjust(10 * 60_000)
      assert.deepStrictEqual(fired(fake), [HOUR, HOUR + 10 * 60_000])
      assert.deepStrictEqual(fake.started[1]?.labels, { schedule: "a" })
      yield* schedules.update("a", { policy: { compensate: false } }, ann)
      yield* TestClock.adjust(10 * 60_000)
      assert.deepStrictEqual(
        fake.started.map(({ policy }) => policy),
        [undefined, undefined, { compensate: false }]
      )
      const moved = yield* schedules.update("a", { startsAt: 5 * HOUR }, ann)
      assert.strictEqual(moved.nextAt, 5 * HOUR)
      for (const changes of [
        { agent: "nobody" },
        { cron: "x" },
        { endsAt: 1 },
        { labels: { schedule: "b" } },
        { policy: { limit: {} } as never }
      ]) {
        const error = yield* Effect.flip(schedules.update("a", changes, ann))
        assert.include(["invalid", "unknown-agent"], error.reason)
        assert.isDefined(error.hint)
      }
      assert.deepStrictEqual(some(yield* schedules.get("a", ann)), moved)
    })
  )

  it.scoped("starts nothing after it was removed", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, id: "a" })
      yield* schedules.remove("a", ann)
      yield* TestClock.adjust(2 * HOUR)
      assert.deepStrictEqual(fake.started, [])
      assert.strictEqual((yield* Effect.flip(schedules.remove("a", ann))).reason, "unknown-schedule")
      // The same id again is another schedule, whose runs have other ids.
      yield* schedules.create({ ...hourly, input: "other", id: "a" })
      yield* TestClock.adjust(HOUR)
      assert.deepStrictEqual(fired(fake), [3 * HOUR])
    })
  )

  it.scoped("starts a run by hand, and the same one for the same key", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, id: "a" })
      yield* schedules.pause("a", ann)
      const first = yield* schedules.trigger("a", { ...ann, key: "k" })
      const again = yield* schedules.trigger("a", { ...ann, key: "k" })
      const other = yield* schedules.trigger("a", ann)
      assert.deepStrictEqual([first.runId === again.runId, first.runId === other.runId], [true, false])
      assert.strictEqual(fake.started.length, 2)
      for (const key of ["", "x".repeat(101), "\n"]) {
        assert.strictEqual((yield* Effect.flip(schedules.trigger("a", { ...ann, key }))).reason, "invalid")
      }
      fake.refuse = new RunErrors.RunError({ reason: "full", message: "full" })
      assert.strictEqual((yield* Effect.flip(schedules.trigger("a", ann))).reason, "full")
    })
  )

  it.scoped("gives the known schedule to the same request with the same id, and refuses another one", () =>
    Effect.gen(function* () {
      const { schedules } = yield* setup()
      const every = { agent: "helper", input: "x", every: "1 hour", id: "b", ...ann } as const
      const [first, second] = [yield* schedules.create({ ...hourly, id: "a" }), yield* schedules.create(every)]
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* schedules.create({ ...hourly, id: "a" }), first)
      assert.deepStrictEqual(yield* schedules.create(every), second)
      for (const other of [{ input: "b" }, { cron: "1 * * * *" }, { userId: "bob" }, { missed: "all" as const }]) {
        const error = yield* Effect.flip(schedules.create({ ...hourly, id: "a", ...other }))
        assert.deepStrictEqual([error.reason, error.code], ["conflict", "LEX_ERR_AGT_125"])
      }
    })
  )

  it.scoped("refuses requests that are not valid, and says what is", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const strange: ReadonlyArray<Partial<RunSchedules.CreateRequest>> = [
        { id: "" },
        { id: "x".repeat(201) },
        { id: "a\u0000" },
        { cron: "" },
        { cron: "* * * *" },
        { cron: "61 * * * *" },
        { cron: "*/10 * * * * *" },
        { cron: "0 ".repeat(300) },
        { cron: "0 0 30 2 *" },
        { cron: undefined },
        { every: "1 hour" },
        { cron: undefined, every: 999 },
        { cron: undefined, every: "infinity" as never },
        { cron: undefined, every: Number.NaN },
        { cron: undefined, every: "soon" as never },
        { cron: undefined, every: "1 hour", timeZone: "UTC" },
        { timeZone: "Europe/Nowhere" },
        { timeZone: "x".repeat(10_000) },
        { startsAt: Number.NaN },
        { endsAt: 1e300 },
        { endsAt: -1 },
        { startsAt: 2 * HOUR, endsAt: HOUR },
        { userId: "" },
        { tenantId: "\n" },
        { sessionId: "x".repeat(257) },
        { labels: { schedule: "a" } },
        { labels: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`l${i}`, ""])) },
        { labels: { "": "x" } },
        { missed: "never" as never },
        { overlap: "never" as never },
        { input: 5 as never },
        { settings: { temperature: 7 } },
        { policy: { limits: { maxModelCalls: -1 } } },
        { policy: { limits: { timeout: "soon" } } },
        { policy: { compensates: false } as never },
        { settings: { providerOptions: cyclic } }
      ]
      for (const fields of strange) {
        const error = yield* Effect.flip(schedules.create({ ...hourly, ...fields }))
        assert.strictEqual(error.reason, "invalid", error.message)
        assert.isTrue(error.hint !== undefined && error.message.length < 300, error.message)
      }
      for (const [agent, hint] of [
        ["helpr", '"helper"'],
        ["x".repeat(5000), "Agents: "]
      ] as const) {
        const error = yield* Effect.flip(schedules.create({ ...hourly, agent }))
        assert.strictEqual(error.reason, "unknown-agent")
        assert.include(error.hint, hint)
      }
      assert.deepStrictEqual((yield* schedules.list(ann)).schedules, [])
      assert.deepStrictEqual(fake.started, [])
    })
  )

  it.scoped("hides a schedule from everybody but its owner and the system", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* setup()
      yield* schedules.create({ ...hourly, id: "anns" })
      yield* schedules.create({ ...hourly, id: "nobodys", userId: undefined })
      yield* SystemAccess.grant(schedules.create({ ...hourly, id: "systems", userId: undefined }))
      const reaches = Effect.fnUntraced(function* (id: string, access?: { readonly userId?: string }) {
        const calls: ReadonlyArray<Effect.Effect<unknown, ScheduleErrors.ScheduleError | RunErrors.RunError>> = [
          schedules.pause(id, access),
          schedules.resume(id, access),
          schedules.update(id, { input: "hi" }, access),
          schedules.trigger(id, access)
        ]
        const isFound = Option.isSome(yield* schedules.get(id, access))
        for (const call of calls) {
          const exit = yield* Effect.either(call)
          assert.strictEqual(exit._tag === "Right", isFound, `${id} for ${access?.userId}`)
          if (exit._tag === "Left") assert.strictEqual(exit.left.reason, "unknown-schedule")
        }
        if (!isFound) assert.strictEqual((yield* Effect.flip(schedules.remove(id, access))).reason, "unknown-schedule")
        return isFound
      })
      const ids = ["anns", "nobodys", "systems"]
      const seen = (access?: { readonly userId?: string }) => Effect.filter(ids, (id) => reaches(id, access))
      assert.deepStrictEqual(yield* seen(ann), ["anns"])
      assert.deepStrictEqual(yield* seen({ userId: "eve" }), [])
      assert.deepStrictEqual(yield* seen(), ["nobodys"])
      assert.deepStrictEqual(yield* SystemAccess.grant(seen()), ids)
      fake.started.length = 0
      yield* TestClock.adjust(HOUR)
      assert.strictEqual(fake.started.length, 3)
      const visible = (access?: { readonly userId?: string }) =>
        Effect.map(fake.runs.list(access), ({ records }) =>
          records.filter(({ runId }) => runId.includes("@")).map(({ labels }) => labels["schedule"])
        )
      assert.deepStrictEqual(yield* visible(ann), ["anns"])
      assert.deepStrictEqual(yield* visible(), ["nobodys"])
      assert.sameMembers((yield* SystemAccess.grant(visible())) as Array<string>, ids)
    })
  )

  it.scoped("never acts for the system because its layer was built by it", () =>
    Effect.gen(function* () {
      const { fake, schedules } = yield* SystemAccess.grant(setup())
      yield* schedules.create({ ...hourly, userId: undefined, id: "a" })
      yield* TestClock.adjust(HOUR)
      assert.strictEqual((yield* fake.runs.list()).records.length, 1)
    })
  )

  it.scoped("sees within its poll what another process has created", () =>
    Effect.gen(function* () {
      const { end, fake, schedules, store } = yield* setup()
      yield* schedules.create({ ...hourly, id: "far", cron: "0 0 1 1 *" })
      yield* open(fake, store, { poll: "30 seconds" })
      yield* TestClock.adjust("1 second")
      yield* schedules.create({ agent: "helper", input: "x", every: "1 minute", id: "near", ...ann })
      yield* end
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(fired(fake), [61_000])
    })
  )
})
