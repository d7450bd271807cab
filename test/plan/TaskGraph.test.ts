import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as TestClock from "effect/TestClock"
import * as Step from "../../src/observability/Step.js"
import * as TaskGraph from "../../src/plan/TaskGraph.js"
import * as Growth from "../support/Growth.js"

interface Work extends TaskGraph.Node {
  readonly ms: number
}

const work = (id: string, dependencies: ReadonlyArray<string> = [], ms = 10): Work => ({ id, dependencies, ms })

const shown = (id: string) => id

/** Runs tasks that take their time and notes when each began and ended. */
const timed = (tasks: ReadonlyArray<Work>, concurrency: number, fails: ReadonlySet<string> = new Set()) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const spans = new Map<string, readonly [number, number]>()
    const failures = new Map<string, ReadonlyArray<string>>()
    let most = 0
    let now = 0
    const fiber = yield* Effect.fork(
      TaskGraph.run<Work, string, never, never, never, never>({
        concurrency,
        feed: (pool) => Effect.sync(() => pool.add(tasks)).pipe(Effect.as("fed")),
        execute: (task, failed) =>
          Effect.gen(function* () {
            failures.set(task.id, failed)
            const from = clock.unsafeCurrentTimeMillis()
            most = Math.max(most, ++now)
            yield* Effect.sleep(task.ms)
            now--
            spans.set(task.id, [from, clock.unsafeCurrentTimeMillis()])
            return !fails.has(task.id) && failed.length === 0
          })
      })
    )
    yield* TestClock.adjust(100_000)
    return { result: yield* Fiber.join(fiber), spans, most, failures }
  })

describe("TaskGraph.check", () => {
  it("finds dangling references, except to ids with a result", () => {
    const tasks = [work("a", ["x", "y"]), work("b", ["a"])]
    assert.deepStrictEqual(
      TaskGraph.check(tasks, { known: new Set(["y"]), shown }).map(({ reason, task }) => [reason, task]),
      [["missing-reference", "a"]]
    )
  })

  it("finds every cycle once, with its path, but not the tasks that only wait for one", () => {
    const tasks = [
      work("after", ["a"]),
      work("a", ["b"]),
      work("b", ["c"]),
      work("c", ["a", "free"]),
      work("free"),
      work("self", ["self"]),
      work("x", ["y"]),
      work("y", ["x"])
    ]
    assert.deepStrictEqual(
      TaskGraph.check(tasks, { shown }).map(({ message }) => message),
      [
        "tasks wait for each other in a circle: a -> b -> c -> a",
        "self refers to itself",
        "tasks wait for each other in a circle: x -> y -> x"
      ]
    )
  })

  it("takes time linear in the number of tasks in a cycle", () => {
    Growth.assertLinear({
      input: (size) => Array.from({ length: size }, (_, i) => work(`t${i}`, [`t${(i + 1) % size}`])),
      size: 4_000,
      run: (tasks) => assert.lengthOf(TaskGraph.check(tasks, { shown }), 1)
    })
  })
})

describe("TaskGraph.run", () => {
  it.effect("takes as long as its longest chain without a bound", () =>
    Effect.gen(function* () {
      const { result, spans } = yield* timed(
        [work("a", [], 30), work("b", [], 10), work("c", ["b"], 10), work("d", ["a", "c"], 5), work("e", ["b"], 40)],
        8
      )
      assert.strictEqual(result, "fed")
      assert.deepStrictEqual(Object.fromEntries(spans), {
        b: [0, 10],
        c: [10, 20],
        a: [0, 30],
        d: [30, 35],
        e: [10, 50]
      })
    })
  )

  it.effect("never exceeds its concurrency, and is never idle while it could run a task", () =>
    Effect.gen(function* () {
      const tasks = Array.from({ length: 10 }, (_, i) => work(`t${i}`))
      const { most, spans } = yield* timed(tasks, 3)
      assert.strictEqual(most, 3)
      assert.strictEqual(Math.max(...Array.from(spans.values(), ([, to]) => to)), 40)
      assert.strictEqual((yield* timed(tasks, 0)).most, 1)
    })
  )

  it.effect("tells a task which of its dependencies failed, directly or through others", () =>
    Effect.gen(function* () {
      const { failures } = yield* timed(
        [work("a"), work("b"), work("c", ["a", "b"]), work("d", ["c"])],
        8,
        new Set(["b"])
      )
      assert.deepStrictEqual(Object.fromEntries(failures), { a: [], b: [], c: ["b"], d: ["c"] })
    })
  )

  it.effect("begins tasks while others are still being added, and each id once", () =>
    Effect.gen(function* () {
      const began: Array<string> = []
      const gate = yield* Deferred.make<void>()
      yield* TaskGraph.run<Work, void, never, never, never, never>({
        concurrency: 2,
        feed: (pool) =>
          Effect.gen(function* () {
            pool.add([work("a"), work("late", ["b"])])
            // Passed only when `a` has begun before the feed has ended.
            yield* Deferred.await(gate)
            assert.deepStrictEqual(began, ["a"])
            pool.add([work("a"), work("b")])
          }),
        execute: (task) =>
          Effect.suspend(() => {
            began.push(task.id)
            return Effect.as(Deferred.succeed(gate, undefined), true)
          })
      })
      assert.deepStrictEqual(began, ["a", "b", "late"])
    })
  )

  it.effect("neither begins nor waits for a task whose dependency never comes", () =>
    Effect.gen(function* () {
      const { spans } = yield* timed([work("a", ["nowhere"]), work("b")], 2)
      assert.deepStrictEqual(Array.from(spans.keys()), ["b"])
    })
  )

  it.effect("begins no dropped task, lets running ones continue, and can be waited on", () =>
    Effect.gen(function* () {
      const done: Array<string> = []
      const fiber = yield* Effect.fork(
        TaskGraph.run<Work, void, never, never, never, never>({
          concurrency: 1,
          feed: (pool) =>
            Effect.gen(function* () {
              pool.add([work("1"), work("2"), work("3", ["1"])])
              yield* Effect.sleep(5)
              pool.drop()
              yield* pool.idle
              assert.deepStrictEqual(done, ["1:10"])
              pool.add([work("1", [], 20)])
            }),
          execute: (task) =>
            Effect.sleep(task.ms).pipe(
              Effect.andThen(Effect.sync(() => void done.push(`${task.id}:${task.ms}`))),
              Effect.as(true)
            )
        })
      )
      yield* TestClock.adjust(1000)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(done, ["1:10", "1:20"])
    })
  )

  for (const where of ["feed", "task"] as const) {
    it.effect(`stops everything else and waits for it on a failure of the ${where}`, () =>
      Effect.gen(function* () {
        const ended: Array<string> = []
        const noting = (name: string) =>
          Effect.never.pipe(
            Effect.onInterrupt(() =>
              Effect.andThen(
                Effect.yieldNow(),
                Effect.sync(() => void ended.push(name))
              )
            )
          )
        const fiber = yield* Effect.fork(
          TaskGraph.run<Work, never, string, never, string, never>({
            concurrency: 4,
            feed: (pool) => {
              pool.add([work("bad"), work("good")])
              return where === "feed" ? Effect.delay(Effect.fail("no"), 20) : noting("feed")
            },
            execute: (task) =>
              task.id === "bad" && where === "task" ? Effect.delay(Effect.fail("no"), 20) : noting(task.id)
          })
        )
        yield* TestClock.adjust(100)
        assert.strictEqual(yield* Effect.flip(Fiber.join(fiber)), "no")
        assert.deepStrictEqual(ended.sort(), where === "feed" ? ["bad", "good"] : ["feed", "good"])
      })
    )
  }

  it.effect("dies with a defect of a task", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(
        TaskGraph.run<Work, never, never, never, never, never>({
          concurrency: 1,
          feed: (pool) => {
            pool.add([work("a")])
            return Effect.never
          },
          execute: () => Effect.die("bug")
        })
      )
      assert.isTrue(Exit.isFailure(exit) && exit.cause.toString().includes("bug"))
    })
  )

  it.live("leaves nothing running wherever it is interrupted", () =>
    Effect.gen(function* () {
      for (let yields = 0; yields < 60; yields++) {
        let running = 0
        const counted = <A, E>(effect: Effect.Effect<A, E>) =>
          Effect.acquireUseRelease(
            Effect.sync(() => void running++),
            () => effect,
            () => Effect.sync(() => void running--)
          )
        const fiber = yield* Effect.fork(
          TaskGraph.run<Work, void, never, never, never, never>({
            concurrency: 2,
            feed: (pool) =>
              counted(
                Effect.forEach(
                  ["a", "b", "c", "d"],
                  (id, i) =>
                    Effect.andThen(
                      Effect.sync(() => pool.add([work(id, i === 3 ? ["a"] : [])])),
                      Effect.yieldNow()
                    ),
                  { discard: true }
                )
              ),
            execute: () => counted(Effect.as(Effect.repeatN(Effect.yieldNow(), 5), true))
          })
        )
        for (let i = 0; i < yields; i++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(running, 0)
      }
    })
  )

  it.scoped("keeps changes of fiber refs by feed and tasks", () =>
    Effect.gen(function* () {
      const ref = yield* FiberRef.make(new Set<string>(), {
        fork: () => new Set(),
        join: (left, right) => new Set([...left, ...right])
      })
      const note = (name: string) => FiberRef.update(ref, (all) => new Set([...all, name]))
      yield* TaskGraph.run<Work, void, never, never, never, never>({
        concurrency: 2,
        feed: (pool) => Effect.andThen(note("feed"), () => pool.add([work("a"), work("b", ["a"])])),
        execute: (task) => Effect.as(note(task.id), true)
      })
      assert.deepStrictEqual(Array.from(yield* FiberRef.get(ref)).sort(), ["a", "b", "feed"])
    })
  )

  it.effect(
    "gives each task a place by its id while a run is recorded, and lets other tasks end before a failure",
    () =>
      Effect.gen(function* () {
        const places = new Map<string, string>()
        const recorder: Step.Service = { run: (_options, effect) => effect, isSuspended: () => false }
        const run = (order: ReadonlyArray<string>) =>
          TaskGraph.run<Work, void, never, never, string, never>({
            concurrency: 3,
            feed: (pool) => Effect.sync(() => pool.add(order.map((id) => work(id, id === "c" ? ["a"] : [])))),
            execute: (task) =>
              Effect.flatMap(Step.Place, (place) => {
                places.set(task.id, place.next())
                return task.id === "b" ? Effect.fail("suspended") : Effect.as(Effect.yieldNow(), true)
              })
          }).pipe(Effect.provideService(Step.Step, recorder), Effect.provideService(Step.Place, Step.makePlace()))
        assert.strictEqual(yield* Effect.flip(run(["b", "a", "c"])), "suspended")
        const first = Object.fromEntries(places)
        assert.deepStrictEqual(Object.keys(first).sort(), ["a", "b", "c"])
        assert.lengthOf(new Set(places.values()), 3)
        places.clear()
        yield* Effect.flip(run(["a", "c", "b"]))
        assert.deepStrictEqual(Object.fromEntries(places), first)
      })
  )

  it.effect("runs each task of any acyclic graph once, after its dependencies and within its bounds", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(FastCheck.tuple(FastCheck.array(FastCheck.nat(30), { maxLength: 4 }), FastCheck.nat(3)), {
            maxLength: 25
          }),
          FastCheck.integer({ min: 1, max: 5 }),
          FastCheck.integer({ min: 1, max: 7 }),
          async (shapes, concurrency, batch) => {
            // Only earlier ones are needed; they are handed in backwards, in batches.
            const tasks = shapes.map(([needs, ms], i) =>
              work(`t${i}`, Array.from(new Set(needs.filter((n) => n < i).map((n) => `t${n}`))), ms)
            )
            const ended = new Set<string>()
            const began: Array<string> = []
            let now = 0
            await Effect.runPromise(
              TaskGraph.run<Work, void, never, never, never, never>({
                concurrency,
                feed: (pool) =>
                  Effect.gen(function* () {
                    const left = [...tasks].reverse()
                    while (left.length > 0) {
                      pool.add(left.splice(0, batch))
                      yield* Effect.yieldNow()
                    }
                  }),
                execute: (task) =>
                  Effect.gen(function* () {
                    began.push(task.id)
                    assert.isAtMost(++now, concurrency)
                    for (const id of task.dependencies) assert.isTrue(ended.has(id))
                    yield* Effect.repeatN(Effect.yieldNow(), task.ms)
                    now--
                    ended.add(task.id)
                    return true
                  })
              })
            )
            assert.deepStrictEqual(began.slice().sort(), tasks.map(({ id }) => id).sort())
          }
        ),
        { numRuns: 100 }
      )
    )
  )
})
