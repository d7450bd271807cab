/**
 * Runs that wait for their turn: owners take turns, and at most two runs go on at once.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, Agents, RunLog, Steering } from "effect-lexigram"
import { InMemoryQueueStore, InMemoryRunStore, LocalRuns, QueueRunner, RunQueue, Runs } from "effect-lexigram/agent"
import { TestModel } from "effect-lexigram/testing"
import { PendingApprovals } from "effect-lexigram/tool"

const writer = Agent.make("writer", { system: "You summarize chapters." })

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const records = InMemoryRunStore.layer()
const model = TestModel.layer(() => ({ text: "A summary.", delay: "20 millis" }))
const runs = LocalRuns.layer({ agents: [writer] }).pipe(
  Layer.provide([
    Layer.provide(Agents.layerWith({ log, steering, approvals }), model),
    log,
    steering,
    approvals,
    records
  ])
)
const queue = QueueRunner.layer({ agents: [writer], concurrency: 2, maxWaiting: 7 }).pipe(
  Layer.provide([runs, records, InMemoryQueueStore.layer])
)

const ann = { userId: "ann" }
const bob = { userId: "bob" }

const program = Effect.gen(function* () {
  const { counts, enqueue, enqueueOrWait } = yield* RunQueue.RunQueue
  for (let i = 1; i <= 6; i++) yield* enqueue({ agent: "writer", input: `Chapter ${i}`, runId: `ann-${i}`, ...ann })
  yield* enqueue({ agent: "writer", input: "Preface", runId: "bob-1", ...bob })
  yield* Console.log("of Ann:", yield* counts(ann))
  const full = yield* Effect.flip(enqueue({ agent: "writer", input: "Chapter 1", ...bob }))
  yield* Console.log(`${full.message}. ${full.hint}`)
  yield* enqueueOrWait({ agent: "writer", input: "Chapter 1", runId: "bob-2", ...bob })
  for (;;) {
    const left = yield* counts(ann)
    const others = yield* counts(bob)
    if (left.waiting + left.running + others.waiting + others.running === 0) break
    yield* Effect.sleep("20 millis")
  }
  for (const access of [ann, bob]) {
    const { records } = yield* Runs.list(access)
    yield* Console.log(
      access.userId,
      records
        .map(({ runId, state }) => `${runId} ${state}`)
        .reverse()
        .join(", ")
    )
  }
})

await Effect.runPromise(Effect.provide(program, queue))
