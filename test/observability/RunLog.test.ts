import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as RunLog from "../../src/observability/RunLog.js"

const event = (run: string, seq: number): AgentEvent => ({
  _tag: "TextDelta",
  runId: RunId.make(run),
  agent: "a",
  seq,
  at: 0,
  text: `${run}${seq}`
})

const seqs = (run: string, from?: number) =>
  Effect.flatMap(RunLog.RunLog, (log) =>
    Effect.map(log.read(RunId.make(run), from === undefined ? undefined : { from }), (events) =>
      events.map((event) => event.seq)
    )
  )

const append = (...events: ReadonlyArray<AgentEvent>) => Effect.flatMap(RunLog.RunLog, (log) => log.append(events))

describe("RunLog in memory", () => {
  it.effect("gives back the events of a run in order, from a number on", () =>
    Effect.gen(function* () {
      yield* append(event("a", 0), event("b", 0), event("a", 1))
      yield* append(event("a", 2), event("b", 1))
      assert.deepStrictEqual(yield* seqs("a"), [0, 1, 2])
      assert.deepStrictEqual(yield* seqs("b"), [0, 1])
      assert.deepStrictEqual(yield* seqs("a", 1), [1, 2])
      assert.deepStrictEqual(yield* seqs("a", 3), [])
      assert.deepStrictEqual(yield* seqs("unknown"), [])
      assert.isTrue((yield* RunLog.RunLog).enabled)
    }).pipe(Effect.provide(RunLog.layerMemory()))
  )

  it.effect("keeps an event once however often it is written", () =>
    Effect.gen(function* () {
      yield* append(event("a", 0), event("a", 1))
      yield* append(event("a", 0), event("a", 1), event("a", 2), event("a", 2))
      assert.deepStrictEqual(yield* seqs("a"), [0, 1, 2])
    }).pipe(Effect.provide(RunLog.layerMemory()))
  )

  it.effect("what was read does not change when more is written", () =>
    Effect.gen(function* () {
      yield* append(event("a", 0))
      const log = yield* RunLog.RunLog
      const read = yield* log.read(RunId.make("a"))
      yield* append(event("a", 1))
      assert.lengthOf(read, 1)
    }).pipe(Effect.provide(RunLog.layerMemory()))
  )

  it.effect("keeps so many runs, and lets the one begun first go", () =>
    Effect.gen(function* () {
      yield* append(event("a", 0), event("b", 0), event("a", 1), event("c", 0))
      assert.deepStrictEqual([yield* seqs("a"), yield* seqs("b"), yield* seqs("c")], [[], [0], [0]])
    }).pipe(Effect.provide(RunLog.layerMemory({ maxRuns: 2 })))
  )

  it.effect("no log keeps nothing, and says so", () =>
    Effect.gen(function* () {
      yield* append(event("a", 0))
      assert.deepStrictEqual(yield* seqs("a"), [])
      assert.isFalse((yield* RunLog.RunLog).enabled)
    }).pipe(Effect.provide(RunLog.layerNoop))
  )
})
