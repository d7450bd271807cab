import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as QueueRunner from "../../../src/agent/dispatch/QueueRunner.js"
import * as RunQueue from "../../../src/agent/dispatch/RunQueue.js"
import * as InMemoryQueueStore from "../../../src/agent/record/InMemoryQueueStore.js"
import * as QueueStore from "../../../src/agent/record/QueueStore.js"
import * as RunErrors from "../../../src/agent/record/RunError.js"
import * as RunStore from "../../../src/agent/record/RunStore.js"
import { Runs } from "../../../src/agent/runs/Runs.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as FakeRuns from "../../support/FakeRuns.js"
import * as SeededRandom from "../../support/SeededRandom.js"

const ann = { userId: "ann" }
const hello = { agent: "helper", input: "hello", ...ann }

/** A process with the queue; a test ends it, or it ends with the test. */
const open = Effect.fnUntraced(function* (
  fake: FakeRuns.FakeRuns,
  store: QueueStore.Service,
  options?: Partial<QueueRunner.Options>
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
  const layer = QueueRunner.layer({ agents: ["helper", { name: "clerk" }], concurrency: 2, ...options }).pipe(
    Layer.provide([
      Layer.succeed(Runs, fake.runs),
      Layer.succeed(RunStore.RunStore, fake.store),
      Layer.succeed(QueueStore.QueueStore, store)
    ])
  )
  const context = yield* Layer.buildWithScope(layer, scope)
  yield* TestClock.adjust(1)
  return {
    queue: Context.get(context, RunQueue.RunQueue),
    runs: Context.get(context, Runs),
    end: Scope.close(scope, Exit.void)
  }
})

const setup = Effect.fnUntraced(function* (options?: Partial<QueueRunner.Options>, resume = true) {
  const fake = FakeRuns.make({ resume })
  const store = InMemoryQueueStore.make()
  return { fake, store, ...(yield* open(fake, store, options)) }
})

const ids = ({ started }: FakeRuns.FakeRuns) => started.map(({ runId }) => runId)

const gone = new RunErrors.RunError({ reason: "storage", message: "gone" })

/** Lets fibers that are ready go on. */
const settle = TestClock.adjust(2)

describe("QueueRunner", () => {
  it.scoped("starts as many runs as may go on, and the next ones when these end", () =>
    Effect.gen(function* () {
      const { fake, queue, runs } = yield* setup()
      for (let i = 0; i < 5; i++) {
        const record = yield* queue.enqueue({ ...hello, runId: `r${i}`, labels: { n: `${i}` } })
        assert.deepStrictEqual(
          [record.runId as string, record.state, record.labels],
          [`r${i}`, "queued", { n: `${i}` }]
        )
        yield* settle
      }
      assert.deepStrictEqual(ids(fake), ["r0", "r1"])
      assert.deepStrictEqual(yield* queue.counts(ann), { waiting: 3, running: 2 })
      // They are in the list of the runs, and under their ids.
      const { records } = yield* runs.list({ ...ann, states: ["queued"] })
      assert.sameMembers(
        records.map(({ runId }) => runId as string),
        ["r2", "r3", "r4"]
      )
      assert.strictEqual(Option.getOrThrow(yield* runs.poll("r4", ann)).record.state, "queued")
      assert.deepInclude(Option.getOrThrow(yield* queue.get("r4", ann)), { state: "waiting", ahead: 2 })
      yield* fake.end("r1")
      yield* settle
      assert.deepStrictEqual(ids(fake), ["r0", "r1", "r2"])
      yield* fake.end("r0", "failed")
      yield* fake.end("r2")
      yield* settle
      assert.deepStrictEqual(ids(fake), ["r0", "r1", "r2", "r3", "r4"])
      for (const id of ["r3", "r4"]) yield* fake.end(id)
      yield* settle
      assert.deepStrictEqual(yield* queue.counts(ann), { waiting: 0, running: 0 })
      assert.isTrue(Option.isNone(yield* queue.get("r4", ann)))
    })
  )

  it.scoped("starts a run that waited with all that its request says", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup({ concurrency: 1 })
      yield* queue.enqueue({ ...hello, runId: "first" })
      const request: RunQueue.EnqueueRequest = {
        ...hello,
        runId: "second",
        clientTools: [{ name: "weather", description: "The weather", parameters: { type: "object" }, expiresAfter: 7 }],
        output: { name: "forecast", schema: { type: "object", properties: { degrees: { type: "integer" } } } },
        toolChoice: { tool: "weather" }
      }
      yield* queue.enqueue(request)
      yield* settle
      assert.deepStrictEqual(ids(fake), ["first"])
      yield* fake.end("first")
      yield* settle
      assert.deepStrictEqual(fake.started[1], request)
      for (const fields of [{ output: { schema: { type: "array" } } }, { toolChoice: "any" as "auto" }]) {
        const error = yield* Effect.flip(queue.enqueue({ ...hello, ...fields }))
        assert.strictEqual("reason" in error && error.reason, "invalid")
      }
    })
  )

  it.scoped("keeps the limits of owners and agents", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup({ concurrency: 10, perOwner: 2, perAgent: 3 })
      for (let i = 0; i < 4; i++) {
        for (const userId of ["ann", "bob", "eve"]) {
          yield* queue.enqueue({ ...hello, userId, runId: `${userId}${i}`, agent: i === 3 ? "clerk" : "helper" })
        }
      }
      yield* TestClock.adjust("1 second")
      const count = (f: (request: (typeof fake.started)[number]) => boolean) => fake.started.filter(f).length
      assert.strictEqual(
        count(({ agent }) => agent === "helper"),
        3
      )
      for (const user of ["ann", "bob", "eve"])
        assert.isAtMost(
          count(({ userId }) => userId === user),
          2
        )
      assert.isAbove(
        count(({ agent }) => agent === "clerk"),
        0
      )
    })
  )

  it.scoped("does not let one owner with many runs starve another one", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup({ concurrency: 1 })
      for (let i = 0; i < 500; i++) yield* queue.enqueue({ ...hello, runId: `a${i}` })
      yield* settle
      for (let i = 0; i < 5; i++) yield* queue.enqueue({ ...hello, userId: "bob", runId: `b${i}` })
      for (let i = 0; i < 11; i++) {
        yield* fake.end(ids(fake).at(-1) ?? "")
        yield* settle
      }
      assert.deepStrictEqual(
        ids(fake).filter((id) => id?.startsWith("b")),
        ["b0", "b1", "b2", "b3", "b4"]
      )
    })
  )

  it.scoped("starts runs of a higher priority first, and no priority starves the others", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup({ concurrency: 1, ageing: "10 seconds" })
      yield* queue.enqueue({ ...hello, runId: "first" })
      yield* settle
      yield* queue.enqueue({ ...hello, runId: "low", priority: -1 })
      yield* queue.enqueue({ ...hello, runId: "plain" })
      yield* queue.enqueue({ ...hello, runId: "high", priority: 5 })
      // After the time that its priority is worth, a new run of a higher one comes later.
      yield* TestClock.adjust("61 seconds")
      yield* queue.enqueue({ ...hello, runId: "late", priority: 5 })
      for (const id of ["first", "high", "plain", "low"]) {
        assert.strictEqual(ids(fake).at(-1), id)
        yield* fake.end(id)
        yield* settle
      }
      assert.strictEqual(ids(fake).at(-1), "late")
    })
  )

  it.scoped("refuses runs when it is full, or waits for a place", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup({ concurrency: 1, maxWaiting: 2, poll: "5 seconds" })
      yield* queue.enqueue({ ...hello, runId: "r0" })
      yield* settle
      for (const runId of ["r1", "r2"]) yield* queue.enqueue({ ...hello, runId })
      const error = yield* Effect.flip(queue.enqueue({ ...hello, runId: "r3" }))
      assert.deepInclude(error, { _tag: "QueueFullError", code: "LEX_ERR_AGT_126", maxWaiting: 2 })
      assert.include(error.hint, "enqueueOrWait")
      assert.strictEqual((yield* queue.enqueue({ ...hello, runId: "r1" })).state, "queued")
      const waiting = yield* Effect.fork(queue.enqueueOrWait({ ...hello, runId: "r3" }))
      yield* TestClock.adjust("1 minute")
      assert.isNull(waiting.unsafePoll())
      yield* fake.end("r0")
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).runId as string, "r3")
    })
  )

  it.scoped("starts a run not before its time", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup()
      yield* queue.enqueue({ ...hello, runId: "late", notBefore: 60_000 })
      yield* TestClock.adjust("58 seconds")
      assert.deepStrictEqual(ids(fake), [])
      assert.strictEqual(Option.getOrThrow(yield* queue.get("late", ann)).state, "delayed")
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(ids(fake), ["late"])
    })
  )

  for (const resume of [true, false]) {
    it.scoped(`cancels a run that waits, with runs that ${resume ? "" : "do not "}survive their process`, () =>
      Effect.gen(function* () {
        const { fake, queue, runs } = yield* setup({ concurrency: 1 }, resume)
        for (const runId of ["r0", "r1", "r2"]) {
          yield* queue.enqueue({ ...hello, runId })
          yield* settle
        }
        assert.strictEqual(Option.getOrThrow(yield* runs.poll("r1", ann)).record.state, "queued")
        const interrupting = yield* Effect.fork(runs.interrupt("r1", ann))
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(interrupting)).state, "interrupted")
        assert.isFalse(yield* queue.cancel("r1", ann))
        assert.isFalse(yield* queue.cancel("r0", ann))
        assert.isFalse(yield* queue.cancel("r2", { userId: "eve" }))
        assert.strictEqual((yield* Effect.flip(runs.interrupt("r2", { userId: "eve" }))).reason, "unknown-run")
        // One that goes on is interrupted itself.
        assert.strictEqual((yield* runs.interrupt("r0", ann)).state, "interrupted")
        yield* settle
        assert.deepStrictEqual(ids(fake), ["r0", "r2"])
      })
    )
  }

  it.scoped("gives the known run to the same request, queued or ended, and refuses another one", () =>
    Effect.gen(function* () {
      const { fake, queue } = yield* setup()
      yield* queue.enqueue({ ...hello, runId: "r" })
      yield* queue.enqueue({ ...hello, runId: "r", priority: 2 })
      yield* settle
      yield* fake.end("r")
      yield* settle
      assert.strictEqual((yield* queue.enqueue({ ...hello, runId: "r" })).state, "completed")
      for (const other of [{ input: "other" }, { userId: "bob" }]) {
        const error = yield* Effect.flip(queue.enqueue({ ...hello, runId: "r", ...other }))
        assert.deepInclude(error, { reason: "conflict" })
      }
      assert.deepStrictEqual(ids(fake), ["r"])
    })
  )

  it.scoped("refuses requests that are not valid, and says what is", () =>
    Effect.gen(function* () {
      const { queue } = yield* setup()
      const strange: ReadonlyArray<Partial<RunQueue.EnqueueRequest>> = [
        { runId: "" },
        { runId: "x".repeat(257) },
        { userId: "\n" },
        { labels: { "": "x" } },
        { priority: 1001 },
        { priority: Number.NaN },
        { notBefore: 1e300 },
        { input: 5 as never },
        { settings: { temperature: 7 } },
        { agent: "helpr" }
      ]
      for (const fields of strange) {
        const error = yield* Effect.flip(queue.enqueue({ ...hello, ...fields }))
        assert.include(["invalid", "unknown-agent"], (error as RunErrors.RunError).reason, JSON.stringify(fields))
        assert.isDefined(error.hint)
      }
      assert.deepStrictEqual(yield* SystemAccess.grant(queue.counts()), { waiting: 0, running: 0 })
    })
  )

  it.scoped("starts runs for their owners: nobody's and the system's are not those of a user", () =>
    Effect.gen(function* () {
      const { fake, queue, runs } = yield* SystemAccess.grant(setup({ concurrency: 9 }))
      yield* queue.enqueue({ ...hello, userId: undefined, runId: "nobodys" })
      yield* SystemAccess.grant(queue.enqueue({ ...hello, userId: undefined, runId: "systems" }))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(fake.started.length, 2)
      assert.isTrue(Option.isSome(yield* runs.poll("nobodys")))
      assert.isTrue(Option.isNone(yield* runs.poll("systems")))
      assert.isTrue(Option.isSome(yield* SystemAccess.grant(runs.poll("systems"))))
    })
  )

  it.scoped("starts each run once, with two processes on one queue", () =>
    Effect.gen(function* () {
      const { fake, queue, store } = yield* setup({ concurrency: 3 })
      yield* open(fake, store, { concurrency: 3 })
      for (let i = 0; i < 20; i++) yield* queue.enqueue({ ...hello, runId: `r${i}` })
      let most = 0
      for (let round = 0; round < 30; round++) {
        yield* TestClock.adjust("1 second")
        const going = (yield* fake.store.list({ ...ann, states: ["running"] })).records
        most = Math.max(most, going.length)
        for (const { runId } of going.slice(0, 2)) yield* fake.end(runId)
      }
      assert.deepStrictEqual([fake.started.length, new Set(ids(fake)).size, most], [20, 20, 3])
    })
  )

  it.scoped("counts the runs of a process that ended until they end, and another one waits for them", () =>
    Effect.gen(function* () {
      const { end, fake, queue, store } = yield* setup({ concurrency: 1 })
      yield* queue.enqueue({ ...hello, runId: "r0" })
      yield* settle
      yield* queue.enqueue({ ...hello, runId: "r1" })
      yield* end
      yield* open(fake, store, { concurrency: 1 })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(ids(fake), ["r0"])
      yield* fake.end("r0")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(ids(fake), ["r0", "r1"])
    })
  )

  it.scoped("takes over the claims of a process that died, after its lease", () =>
    Effect.gen(function* () {
      const fake = FakeRuns.make()
      const store = InMemoryQueueStore.make()
      // This one dies between its claim and its start, and renews nothing.
      const dead: QueueStore.Service = { ...store, renew: () => gone, takeOver: () => Effect.succeed([]) }
      const halted: FakeRuns.FakeRuns = { ...fake, runs: { ...fake.runs, start: () => Effect.never } }
      const first = yield* open(halted, dead, { lease: "30 seconds" })
      yield* first.queue.enqueue({ ...hello, runId: "r0" })
      yield* settle
      yield* open(fake, store, { lease: "30 seconds" })
      yield* TestClock.adjust("29 seconds")
      assert.deepStrictEqual(ids(fake), [])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(ids(fake), ["r0"])
    })
  )

  it.scoped("ends a run as lost that did not survive its process, and goes on with the next", () =>
    Effect.gen(function* () {
      const fake = FakeRuns.make({ resume: false })
      const store = InMemoryQueueStore.make()
      const dead: QueueStore.Service = { ...store, renew: () => gone }
      const first = yield* open(fake, dead, { concurrency: 1, lease: "30 seconds" })
      yield* first.queue.enqueue({ ...hello, runId: "r0" })
      yield* settle
      yield* first.queue.enqueue({ ...hello, runId: "r1" })
      yield* first.end
      const { runs } = yield* open(fake, store, { concurrency: 1 })
      yield* TestClock.adjust("33 seconds")
      const { record } = Option.getOrThrow(yield* runs.poll("r0", ann))
      assert.deepStrictEqual([record.state, record.error?.tag], ["failed", "RunLost"])
      assert.deepStrictEqual(ids(fake), ["r0", "r1"])
    })
  )

  it.scoped("tries a start again that failed for a time, and drops one that is refused", () =>
    Effect.gen(function* () {
      const { fake, queue, runs } = yield* setup()
      fake.refuse = new RunErrors.RunError({ reason: "full", message: "full" })
      yield* queue.enqueue({ ...hello, runId: "r0" })
      yield* TestClock.adjust("3 seconds")
      fake.refuse = undefined
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(ids(fake), ["r0"])
      fake.refuse = new RunErrors.RunError({ reason: "invalid", message: "never" })
      yield* queue.enqueue({ ...hello, runId: "r1" })
      yield* TestClock.adjust("2 seconds")
      const { record } = Option.getOrThrow(yield* runs.poll("r1", ann))
      assert.deepStrictEqual([record.state, record.error?.message], ["failed", "never"])
      assert.strictEqual((yield* queue.counts(ann)).running, 1)
    })
  )

  it.scoped("starts every run once, in random order and with processes that come and go", () =>
    Effect.gen(function* () {
      const { below } = SeededRandom.make(11)
      const fake = FakeRuns.make()
      const store = InMemoryQueueStore.make()
      const options = { concurrency: 4, perOwner: 2, lease: "10 seconds" } as const
      let processes = [yield* open(fake, store, options)]
      let made = 0
      for (let round = 0; round < 60; round++) {
        const at = processes[below(processes.length)]!
        if (round < 40) {
          for (let i = below(4); i > 0; i--) {
            const userId = `u${below(3)}`
            yield* at.queue.enqueue({ ...hello, userId, runId: `r${made++}`, priority: below(5) - 2 })
          }
        }
        if (below(5) === 0) processes.push(yield* open(fake, store, options))
        if (below(4) === 0 && processes.length > 1) {
          yield* at.end
          processes = processes.filter((one) => one !== at)
        }
        yield* TestClock.adjust("1 second")
        const going = (yield* SystemAccess.grant(fake.store.list({ states: ["running"], limit: 500 }))).records
        assert.isAtMost(going.length, 4)
        for (const user of ["u0", "u1", "u2"]) {
          assert.isAtMost(going.filter(({ userId }) => userId === user).length, 2)
        }
        for (const { runId } of going) if (below(2) === 0) yield* fake.end(runId)
      }
      for (let round = 0; round < 200 && fake.started.length < made; round++) {
        for (const { runId } of yield* FakeRuns.all(fake))
          yield* fake.end(runId).pipe(Effect.when(() => ids(fake).includes(runId)))
        yield* TestClock.adjust("1 second")
      }
      assert.deepStrictEqual([fake.started.length, new Set(ids(fake)).size], [made, made])
    })
  )
})
