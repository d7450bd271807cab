import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import * as RunAdmission from "../../src/agent/runs/RunAdmission.js"
import { RunLookup } from "../../src/agent/runs/RunLookup.js"
import * as RunRefusal from "../../src/agent/runs/RunRefusal.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as DurableFollow from "../../src/durable/DurableFollow.js"
import * as RunLog from "../../src/observability/RunLog.js"

/** A run that ended in another process, while this one still has an attempt that saw its first event alone. */
const overtaken = Effect.gen(function* () {
  const log = yield* RunLog.RunLog
  const { record } = yield* RunAdmission.admit({ agent: "a", input: "go", userId: "ann" }, undefined)
  const { runId } = record
  const meta = { runId, agent: "a", at: 1 }
  yield* log.append([{ ...meta, _tag: "Started", seq: 0, input: "go", strategy: "react", userId: "ann" } as AgentEvent])
  log.live?.add(runId, () => ({ events: [], last: 0 }))
  yield* log.append([
    { ...meta, _tag: "Message", seq: 1, text: "done" } as AgentEvent,
    { ...meta, _tag: "Finished", seq: 2, reason: "completed", durationMs: 1 } as AgentEvent
  ])
  const lookup = new RunLookup(InMemoryRunStore.make(), log, new Map())
  return { log, lookup, record: { ...record, state: "completed" as const } }
})

describe("a run that ended in another process than that of an earlier attempt", () => {
  it.effect("has its whole answer in both", () =>
    Effect.gen(function* () {
      const { lookup, record } = yield* overtaken
      const { message } = yield* lookup.outcome(record, undefined, { userId: "ann" })
      assert.strictEqual(message, "done")
    }).pipe(Effect.provide(RunLog.layerMemory()))
  )

  it.effect("has its last event for readers in both", () =>
    Effect.gen(function* () {
      const { log, record } = yield* overtaken
      const events = yield* Stream.runCollect(
        DurableFollow.stream(
          {
            read: (options) =>
              Effect.mapError(log.read(record.runId, { ...options, userId: "ann" }), RunRefusal.storageError),
            hasEnded: Effect.succeed(true),
            pause: Effect.never
          },
          0
        )
      )
      assert.deepStrictEqual(
        Chunk.toReadonlyArray(events).map(({ _tag }) => _tag),
        ["Started", "Message", "Finished"]
      )
    }).pipe(Effect.provide(RunLog.layerMemory()))
  )
})
