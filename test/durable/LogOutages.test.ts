import { assert, describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../src/agent/record/Steering.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import * as NextTurn from "../../src/internal/fiber/NextTurn.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"

const ann = { userId: "ann" }

/** Runs over a log that does not take the last event of a run. */
const runsOver = (last: Effect.Effect<void, RunLog.RunLogError>) => {
  const kept = RunLog.makeMemory()
  const log = Layer.succeed(RunLog.RunLog, {
    ...kept,
    append: (events) => Effect.zipRight(events.some(AgentEvent.isTerminal) ? last : Effect.void, kept.append(events))
  })
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), TestModel.layer([{ text: "done" }]))
  return DurableRuns.layer({ agents: [Agent.make("a")], poll: "1 hour" }).pipe(
    Layer.provide([executor, log, steering, approvals, InMemoryRunStore.layer(), WorkflowEngine.layerMemory])
  )
}

describe("a durable run whose log is away at its end", () => {
  const ends: ReadonlyArray<readonly [string, (isAway: () => boolean) => Effect.Effect<void, RunLog.RunLogError>]> = [
    [
      "refuses its last event",
      (isAway) =>
        Effect.suspend(() =>
          isAway() ? new RunLog.RunLogError({ message: "away", operation: "append" }) : Effect.void
        )
    ],
    [
      "hangs over its last event",
      (isAway) => Effect.suspend(() => (isAway() ? Effect.sleep("30 seconds") : Effect.void))
    ]
  ]
  for (const [what, last] of ends) {
    it.effect(`is not over while the log ${what}, and ends with it`, () => {
      let isAway = true
      return Effect.gen(function* () {
        yield* Runs.start({ agent: "a", input: "go", runId: "run", ...ann })
        const reading = yield* Effect.fork(Stream.runCollect(Runs.events("run", ann)))
        for (let i = 0; i < 20; i++) yield* Effect.zipRight(NextTurn.nextTurn, TestClock.adjust("1 second"))
        const polled = Option.getOrThrow(yield* Runs.poll("run", ann))
        assert.strictEqual(polled.record.state, "running")
        isAway = false
        for (let i = 0; i < 40; i++) yield* Effect.zipRight(NextTurn.nextTurn, TestClock.adjust("1 second"))
        const events = Chunk.toReadonlyArray(yield* Fiber.join(reading))
        assert.strictEqual(events.at(-1)?._tag, "Finished")
        assert.strictEqual((yield* Runs.await("run", ann)).message, "done")
      }).pipe(Effect.provide(runsOver(last(() => isAway))))
    })
  }
})
