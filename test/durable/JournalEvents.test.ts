import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { RunId } from "../../src/domain/Ids.js"
import * as JournalEvents from "../../src/durable/JournalEvents.js"
import * as RunLog from "../../src/observability/RunLog.js"

it.effect("knows what another process has written of a run while an earlier attempt is still here", () =>
  Effect.gen(function* () {
    const log = RunLog.makeMemory()
    const runId = RunId.make("run")
    const event = (seq: number): AgentEvent => ({ _tag: "StepStarted", step: seq, runId, agent: "a", seq, at: seq })
    yield* log.append([0, 1, 2, 3].map(event))
    // The attempt came to number 1 before the run went on elsewhere.
    const leave = log.live?.add(runId, () => ({ events: [], last: 1 }))
    const events = yield* JournalEvents.readAll(log, runId)
    assert.deepStrictEqual(
      events.map(({ seq }) => seq),
      [0, 1, 2, 3]
    )
    leave?.()
  })
)
