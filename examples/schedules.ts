/**
 * A run that starts again and again. The clock is that of tests, so that a day passes at once.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { Agent, Agents, RunLog, Steering } from "effect-lexigram"
import {
  InMemoryRunStore,
  InMemoryScheduleStore,
  LocalRuns,
  RunSchedules,
  Runs,
  Scheduler
} from "effect-lexigram/agent"
import { TestModel } from "effect-lexigram/testing"
import { PendingApprovals } from "effect-lexigram/tool"

const reporter = Agent.make("reporter", { system: "You write short reports." })

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const executor = Agents.layerWith({ log, steering, approvals }).pipe(
  Layer.provide(TestModel.layer(() => "All is well."))
)
const runs = LocalRuns.layer({ agents: [reporter] }).pipe(
  Layer.provide([executor, log, steering, approvals, InMemoryRunStore.layer()])
)
const schedules = Scheduler.layer({ agents: [reporter] }).pipe(
  Layer.provide(InMemoryScheduleStore.layer),
  Layer.provideMerge(runs)
)

const ann = { userId: "ann" }

const program = Effect.gen(function* () {
  const { create, pause } = yield* RunSchedules.RunSchedules
  const { nextAt } = yield* create({
    id: "report",
    agent: "reporter",
    input: "How are the servers?",
    cron: "0 9,17 * * *",
    timeZone: "Europe/Berlin",
    overlap: "skip",
    ...ann
  })
  yield* Console.log(`the first firing is at ${nextAt}`)
  yield* TestClock.adjust("1 day")
  yield* pause("report", ann)
  yield* TestClock.adjust("1 day")
  const { records } = yield* Runs.list({ ...ann, labels: { schedule: "report" } })
  for (const { createdAt, runId } of records) {
    const { message } = yield* Runs.await(runId, ann)
    yield* Console.log(`the run of ${createdAt}: ${message}`)
  }
})

await Effect.runPromise(Effect.provide(program, Layer.provideMerge(schedules, TestContext.TestContext)))
