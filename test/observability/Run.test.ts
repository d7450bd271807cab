import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as Stepwise from "../../src/internal/fiber/Stepwise.js"
import * as Run from "../../src/observability/Run.js"

const id = (text: string) => RunId.make(text)

const make = (options?: {
  readonly settle?: () => Effect.Effect<void> | undefined
  readonly live?: boolean
  readonly telemetry?: Run.TelemetryOptions
}) =>
  Effect.map(Effect.clock, (clock) => {
    const events: Array<AgentEvent> = []
    const sink: Run.Sink = {
      push: (event) => void events.push(event),
      settle: options?.settle ?? (() => undefined),
      live: options?.live ?? true
    }
    const run = Run.make({
      runId: id("r"),
      agent: "a",
      clock,
      sink,
      ...(options?.telemetry === undefined ? {} : { telemetry: options.telemetry })
    })
    return { events, run }
  })

const thought = (step: number) => ({ _tag: "Thought", step, text: "t" }) as const
const finished = { _tag: "Finished", reason: "completed", durationMs: 1 } as const

describe("Run", () => {
  it.effect("stamps run, agent, time and consecutive numbers", () =>
    Effect.gen(function* () {
      const { events, run } = yield* make()
      yield* TestClock.adjust(5)
      yield* run.emit(thought(1))
      yield* TestClock.adjust(5)
      yield* run.emitAll([thought(2), thought(3)])
      assert.isUndefined(run.unsafeEmit(thought(4)))
      assert.deepStrictEqual(
        events.map(({ agent, at, runId, seq }) => [runId, agent, seq, at]),
        [
          ["r", "a", 0, 5],
          ["r", "a", 1, 10],
          ["r", "a", 2, 10],
          ["r", "a", 3, 10]
        ]
      )
      assert.notProperty(events[0]!, "parentRunId")
    })
  )

  it.effect("runs inside it number for themselves, whatever runs beside them, in the same sink", () =>
    Effect.gen(function* () {
      const { events, run } = yield* make()
      const work = (current: Run.Service, depth: number): Effect.Effect<void> =>
        Effect.gen(function* () {
          for (let step = 0; step < 20; step++) {
            yield* current.emit(thought(step))
            yield* Effect.yieldNow()
          }
          if (depth === 0) return
          yield* Effect.forEach(
            [1, 2, 3],
            (n) => work(current.child(id(`${current.runId}.${n}`), `child${n}`), depth - 1),
            { concurrency: "unbounded", discard: true }
          )
          current.terminal(finished)
        })
      yield* work(run, 2)
      const runs = new Map<string, Array<AgentEvent>>()
      for (const event of events) runs.set(event.runId, [...(runs.get(event.runId) ?? []), event])
      assert.strictEqual(runs.size, 13)
      for (const [runId, own] of runs) {
        assert.deepStrictEqual(
          own.map((event) => event.seq),
          own.map((_, index) => index)
        )
        const parent = runId === "r" ? undefined : runId.slice(0, -2)
        assert.isTrue(own.every((event) => event.parentRunId === parent))
      }
      assert.strictEqual(run.child(id("x"), "b").child(id("y"), "c").depth, 2)
    })
  )

  it.effect("ends once: a second end and what comes behind it are dropped", () =>
    Effect.gen(function* () {
      let settled = 0
      const { events, run } = yield* make({
        settle: () =>
          Effect.sync(() => {
            settled++
          })
      })
      yield* run.emit(thought(1))
      run.terminal(finished)
      run.terminal({ _tag: "Error", interrupted: true, error: { tag: "X", message: "x" } })
      yield* run.emit(thought(2))
      yield* run.emitAll([thought(3)])
      assert.isUndefined(run.unsafeEmit(thought(4)))
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["Thought", "Finished"]
      )
      assert.strictEqual(settled, 1)
    })
  )

  it.effect("a child that ended does not end its parent, nor the parent its child", () =>
    Effect.gen(function* () {
      const { events, run } = yield* make()
      const child = run.child(id("c"), "b")
      child.terminal(finished)
      yield* run.emit(thought(1))
      run.terminal(finished)
      const late = run.child(id("d"), "b")
      yield* late.emit(thought(2))
      assert.deepStrictEqual(
        events.map((event) => `${event.runId}:${event._tag}`),
        ["c:Finished", "r:Thought", "r:Finished", "d:Thought"]
      )
    })
  )

  it.effect("nothing to emit waits for nobody", () =>
    Effect.gen(function* () {
      const { run } = yield* make({ settle: () => Effect.never })
      yield* run.emitAll([])
    })
  )

  it.effect("quiet keeps it and its children from being live, and nothing else", () =>
    Effect.gen(function* () {
      const { events, run } = yield* make()
      assert.isTrue(run.live && run.child(id("c"), "b").live)
      const quiet = Run.quiet(run)
      assert.isFalse(quiet.live || quiet.child(id("c"), "b").live || quiet.child(id("c"), "b").child(id("d"), "e").live)
      assert.strictEqual(Run.quiet(quiet), quiet)
      yield* quiet.emit(thought(1))
      yield* run.emit(thought(2))
      assert.deepStrictEqual(
        events.map((event) => event.seq),
        [0, 1]
      )
      assert.strictEqual(quiet.child(id("c"), "b").parentRunId, "r")
    })
  )

  it.effect("telemetry of the parent holds for children; metrics only where they are on", () =>
    Effect.gen(function* () {
      const { run } = yield* make({ telemetry: { tracing: false, metrics: false, content: true } })
      const child = run.child(id("c"), "b")
      assert.deepStrictEqual(child.telemetry, run.telemetry)
      assert.isUndefined(child.metrics)
      const { run: other } = yield* make()
      assert.isDefined(other.metrics)
      assert.notStrictEqual(other.metrics, other.child(id("c"), "b").metrics)
    })
  )

  it.effect("outside of a run everything is silent", () =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      assert.isFalse(Run.isCurrent(run) || run.live)
      yield* run.emit(thought(1))
      yield* Run.emit(thought(1))
      yield* run.emitAll([thought(1)])
      run.terminal(finished)
      assert.isUndefined(run.unsafeEmit(thought(1)))
      assert.isFalse(Run.isCurrent(run.child(id("c"), "b")))
      const { events, run: own } = yield* make()
      assert.isTrue(Run.isCurrent(own))
      yield* Effect.provideService(Run.emit(thought(1)), Run.Run, own)
      assert.lengthOf(events, 1)
    })
  )

  /** A screen that shows everything, and counts what it is asked. */
  const counting = (onPush: (count: number) => void) => {
    const pushed: Array<number> = []
    const screen: Run.Screen = {
      open: () => ({
        push: (text) => {
          pushed.push(text.length)
          onPush(pushed.length)
          return text
        },
        end: () => ""
      })
    }
    return { pushed, screen }
  }

  const long = "a".repeat(40 * Stepwise.perStep)
  const bodies = [
    { _tag: "Thought", step: 1, text: long },
    { _tag: "Message", text: "", output: Array.from({ length: 40 }, () => ({ a: "a".repeat(Stepwise.perStep) })) }
  ] as const

  it.effect("texts that a screen must see are given to it in slices, and the event loop turns between them", () =>
    Effect.gen(function* () {
      for (const body of bodies) {
        const { events, run } = yield* make()
        let turns = 0
        const turn = (): NodeJS.Immediate =>
          setImmediate(() => {
            turns++
            timer = turn()
          })
        let timer = turn()
        const { pushed, screen } = counting(() => {})
        yield* Run.screened(run, screen).emit(body)
        clearImmediate(timer)
        assert.isAtMost(Math.max(...pushed), Stepwise.perStep)
        assert.isAtLeast(turns, 30)
        assert.deepInclude(events[0], body)
        const inside = Run.make({
          runId: id("c"),
          agent: "b",
          clock: yield* Effect.clock,
          sink: run.sink,
          parent: Run.screened(run, screen)
        })
        const wait = inside.unsafeEmit(body)
        assert.lengthOf(events, 1)
        yield* wait!
        assert.deepInclude(events[1], body)
      }
    })
  )

  it.effect("the judgement of a long text can be interrupted", () =>
    Effect.gen(function* () {
      for (const body of bodies) {
        const { events, run } = yield* make()
        const begun = yield* Effect.makeLatch()
        const { pushed, screen } = counting((count) => void (count === 3 && begun.unsafeOpen()))
        const fiber = yield* Effect.fork(Run.screened(run, screen).emitAll([body]))
        yield* begun.await
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
        assert.isBelow(pushed.length, 12)
        assert.deepStrictEqual(events, [])
      }
    })
  )
})
