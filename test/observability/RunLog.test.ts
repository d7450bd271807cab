import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as RunLog from "../../src/observability/RunLog.js"
import { event, suite } from "./RunLogSuite.js"

suite("memory", RunLog.layerMemory())

const seqs = (run: string) =>
  Effect.flatMap(RunLog.RunLog, (log) =>
    Effect.map(log.read(RunId.make(run)), (events) => events.map((event) => event.seq))
  )

const append = (...events: ReadonlyArray<AgentEvent>) => Effect.flatMap(RunLog.RunLog, (log) => log.append(events))

describe("RunLog in memory", () => {
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
