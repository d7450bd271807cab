import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { AgentEvent, Body } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import { WholeTexts } from "../../src/observability/log/WholeTexts.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as RunLogWriter from "../../src/observability/RunLogWriter.js"

const runId = RunId.make("r")

const eventsOf = (...bodies: ReadonlyArray<Body>): ReadonlyArray<AgentEvent> =>
  bodies.map((body, seq) => ({ runId, agent: "a", seq, at: 0, ...body }) as AgentEvent)

const delta = (text: string): Body => ({ _tag: "TextDelta", text })
const started: Body = { _tag: "Started", input: "i", strategy: "s" }
const called: Body = { _tag: "ToolCall", step: 1, id: "c", name: "t", params: {} }
const thought: Body = { _tag: "Thought", step: 1, text: "t" }
const used: Body = { _tag: "UsageReported", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }
const message: Body = { _tag: "Message", text: "Hello" }
const finished: Body = { _tag: "Finished", reason: "completed", durationMs: 1 }

/** A log that tells its batches, each after a wait if there is one. */
const watched = (wait: Effect.Effect<void> = Effect.void) => {
  const memory = RunLog.makeMemory()
  const batches: Array<ReadonlyArray<string>> = []
  const log: RunLog.Service = {
    ...memory,
    append: (events) =>
      wait.pipe(
        Effect.zipRight(memory.append(events)),
        Effect.tap(() => Effect.sync(() => void batches.push(events.map(({ _tag }) => _tag))))
      )
  }
  return { log, batches, writer: RunLogWriter.make(log) }
}

const push = ({ writer }: { readonly writer: RunLogWriter.Writer }, events: ReadonlyArray<AgentEvent>) =>
  events.map((event) => {
    writer.push(event)
    return writer.settle()
  })

/** What a reader of deltas shows. */
const shown = (events: Iterable<AgentEvent>): string => {
  let text = ""
  for (const event of events) {
    if (event._tag === "TextDelta") text += event.text
    else if (event._tag === "TextRetracted") text = ""
  }
  return text
}

const stream = (log: RunLog.Service, from?: number) =>
  Stream.runCollect(RunLog.stream(runId, { from })).pipe(
    Effect.map(Chunk.toReadonlyArray),
    Effect.provideService(RunLog.RunLog, log)
  )

describe("RunLogWriter", () => {
  it.effect("writes behind the run, and no deltas", () => {
    const given = watched()
    return Effect.gen(function* () {
      const waits = push(given, eventsOf(started, delta("Hel"), delta("lo"), used))
      assert.isTrue(waits.every((wait) => wait === undefined))
      assert.lengthOf(given.batches, 0)
      yield* TestClock.adjust(25)
      push(given, eventsOf(started, delta("Hel"), delta("lo"), used, message, finished).slice(4))
      assert.deepStrictEqual(given.batches, [["Started", "UsageReported"]])
    }).pipe(
      given.writer.around,
      Effect.zipRight(Effect.sync(() => assert.deepStrictEqual(given.batches[1], ["Message", "Finished"])))
    )
  })

  it.effect("writes nothing beside a run whose log is part of a transaction of the caller", () => {
    const { batches, log } = watched()
    const writer = RunLogWriter.make({ ...log, inTransaction: Effect.succeed(true) })
    return Effect.gen(function* () {
      const waits = push({ writer }, eventsOf(started, used))
      assert.isTrue(waits.every((wait) => wait === undefined))
      yield* TestClock.adjust(10_000)
      assert.lengthOf(batches, 0)
    }).pipe(
      writer.around,
      Effect.zipRight(Effect.sync(() => assert.deepStrictEqual(batches, [["Started", "UsageReported"]])))
    )
  })

  it.effect("lets a run wait for its tool call, and for nothing else while the log keeps up", () =>
    Effect.gen(function* () {
      const given = watched()
      const [first, call, last] = push(given, eventsOf(started, called, thought))
      assert.isUndefined(first)
      assert.isUndefined(last)
      if (call === undefined) return assert.fail("the call waits for nothing")
      yield* call
      assert.deepStrictEqual(given.batches, [["Started", "ToolCall", "Thought"]])
    })
  )

  it.effect("lets a run wait when 64 events or 100 milliseconds are not written, but not its deltas", () =>
    Effect.gen(function* () {
      const many = watched()
      const waits = push(many, eventsOf(...Array.from({ length: 64 }, () => thought), delta("x")))
      assert.deepStrictEqual(
        waits.map((wait) => wait !== undefined),
        [...Array.from({ length: 63 }, () => false), true, false]
      )
      const late = watched()
      const [first, second] = eventsOf(started, thought)
      if (first === undefined || second === undefined) return assert.fail("there are two events")
      const after = push(late, [first, { ...second, at: 99 }, { ...second, seq: 2, at: 100 }])
      assert.deepStrictEqual(
        after.map((wait) => wait !== undefined),
        [false, false, true]
      )
    })
  )

  it.effect("writes one batch at a time, and a waiter that is interrupted holds up nobody", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const given = watched(Deferred.await(gate))
      const [call] = push(given, eventsOf(called))
      const writing = yield* Effect.fork(call ?? Effect.void)
      yield* Effect.yieldNow()
      const waiting = push(given, eventsOf(started, called, called).slice(1))
      const waiters = yield* Effect.forEach(waiting, (wait) => Effect.fork(wait ?? Effect.void))
      yield* Effect.yieldNow()
      const [first, second] = waiters
      if (first === undefined || second === undefined) return assert.fail("there are two waiters")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.interrupt(first)
      yield* Fiber.join(writing)
      yield* Fiber.join(second)
      assert.deepStrictEqual(given.batches, [["ToolCall"], ["ToolCall", "ToolCall"]])
    })
  )

  it.effect("shows a reader of this process the deltas of a run that goes on, and forgets it at its end", () => {
    const given = watched()
    const events = eventsOf(started, delta("Hel"), delta("lo"), used, message, finished)
    return Effect.gen(function* () {
      push(given, events.slice(0, 1))
      assert.deepStrictEqual(yield* given.log.read(runId), [])
      yield* TestClock.adjust(25)
      push(given, events.slice(1, 4))
      assert.deepStrictEqual(yield* given.log.read(runId), events.slice(0, 4))
      assert.deepStrictEqual(yield* given.log.read(runId, { from: 2, limit: 1 }), events.slice(2, 3))
      assert.deepStrictEqual(yield* given.log.read(runId, { userId: "eve" }), [])
      push(given, events.slice(4))
    }).pipe(
      given.writer.around,
      Effect.zipRight(given.log.read(runId)),
      Effect.tap((read) =>
        Effect.sync(() => {
          assert.deepStrictEqual(
            read.map(({ seq }) => seq),
            [0, 3, 4, 5]
          )
          assert.isUndefined(given.log.live?.read(runId, 0))
        })
      )
    )
  })

  it.effect("forgets a run that is interrupted, and leaves no fiber", () =>
    Effect.gen(function* () {
      const given = watched()
      push(given, eventsOf(started, delta("x")))
      const exit = yield* Effect.exit(given.writer.around(Effect.interrupt))
      assert.isTrue(Exit.isInterrupted(exit))
      assert.isUndefined(given.log.live?.read(runId, 0))
      assert.deepStrictEqual(given.batches, [["Started"]])
    })
  )

  it.effect("keeps bounded deltas, and gives none to a reader who lacks those that were dropped", () => {
    const given = watched()
    const pieces = Array.from({ length: 3000 }, (_, n) => delta(`${n} `))
    return Effect.gen(function* () {
      push(given, eventsOf(started))
      yield* TestClock.adjust(25)
      push(given, eventsOf(started, ...pieces).slice(1))
      const size = (from: number) => Effect.map(given.log.read(runId, { from }), ({ length }) => length)
      assert.strictEqual(yield* size(0), 1)
      assert.strictEqual(yield* size(1000), 0)
      assert.strictEqual(yield* size(2000), 1001)
    }).pipe(given.writer.around)
  })
})

describe("RunLog.stream", () => {
  it.effect("shows each text once, wherever a reader begins again", () =>
    Effect.gen(function* () {
      const log = RunLog.makeMemory()
      const all = eventsOf(
        started,
        { _tag: "StepStarted", step: 1 },
        delta("I "),
        delta("look"),
        { _tag: "TextRetracted", step: 1 },
        called,
        { _tag: "StepStarted", step: 2 },
        delta("Hel"),
        delta("lo"),
        used,
        message,
        finished
      )
      yield* log.append(all.filter(({ _tag }) => _tag !== "TextDelta"))
      for (let from = 0; from <= all.length; from++) {
        const rest = yield* stream(log, from)
        assert.strictEqual(shown([...all.slice(0, from), ...rest]), "Hello", `from ${from}`)
        // A reader that stops anywhere goes on after the last number it has.
        for (const [at, { seq }] of rest.entries()) {
          const more = yield* stream(log, seq + 1)
          assert.strictEqual(shown([...all.slice(0, from), ...rest.slice(0, at + 1), ...more]), "Hello")
        }
      }
    })
  )

  it("gives the text of an answer that was not finished", () => {
    const texts = new WholeTexts(2)
    const error: Body = { _tag: "Error", error: { tag: "E", message: "no" }, interrupted: true, text: "Hel" }
    const [, , , end] = eventsOf(started, delta("H"), delta("el"), error)
    if (end === undefined) return assert.fail("there is an end")
    assert.deepStrictEqual(
      texts.page([end]).map(({ _tag }) => _tag),
      ["TextRetracted", "TextDelta", "Error"]
    )
  })
})
