/** Stores with records and logs of runs that were never run. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import type { RunRecord } from "../../src/agent/record/RunRecord.js"
import * as RunStore from "../../src/agent/record/RunStore.js"
import type { RunId } from "../../src/domain/Ids.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as RunEvents from "./RunEvents.js"

export interface Given extends Partial<Omit<RunRecord, "runId">> {
  readonly runId: string
  readonly input?: string
  /** The text of the answer. */
  readonly answer?: string
  readonly output?: unknown
  readonly costUsd?: number
  /** Whether the log has the run. Default true. */
  readonly logged?: boolean
}

export const layer: Layer.Layer<RunStore.RunStore | RunLog.RunLog> = Layer.merge(
  Layer.sync(RunStore.RunStore, () => InMemoryRunStore.make({ maxEnded: 1_000_000 })),
  Layer.sync(RunLog.RunLog, () => RunLog.makeMemory({ maxRuns: 1_000_000 }))
)

const recordOf = ({ answer, costUsd, input, logged, output, runId, ...record }: Given): RunRecord => ({
  agent: "helper",
  state: "completed",
  labels: {},
  createdAt: 0,
  updatedAt: 0,
  ...record,
  runId: runId as RunId
})

/** The events of the run, as its log has them. */
export const log = (given: Given): Effect.Effect<void, RunLog.RunLogError, RunLog.RunLog> => {
  const { agent, state, system, userId } = recordOf(given)
  const failed = state === "failed" || state === "interrupted"
  return Effect.flatMap(RunLog.RunLog, (log) =>
    log.append(
      RunEvents.of(given.runId, [
        { _tag: "Started", agent, input: given.input ?? "a question", strategy: "react", userId, system },
        { _tag: "UsageReported", usage: { totalTokens: 7 }, costUsd: given.costUsd ?? 0.5 },
        failed
          ? { _tag: "Error", error: { tag: "Broken", message: "it broke" }, interrupted: state === "interrupted" }
          : { _tag: "Message", text: given.answer ?? "an answer", output: given.output },
        ...(failed ? [] : [{ _tag: "Finished", reason: "completed", durationMs: 12 }])
      ])
    )
  )
}

/** Records a run, and its events if it ended. */
export const add = (given: Given) =>
  Effect.gen(function* () {
    const record = recordOf(given)
    yield* Effect.flatMap(RunStore.RunStore, (store) => store.insert(record, "f"))
    if (given.logged !== false && !["queued", "running", "waiting"].includes(record.state)) yield* log(given)
  })
