/**
 * Runs that start again and again: every second, and twice a day.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
const schedules = Scheduler.layer({ agents: [reporter], poll: "100 millis" }).pipe(
  Layer.provide(InMemoryScheduleStore.layer),
  Layer.provideMerge(runs)
)

const ann = { userId: "ann" }

const program = Effect.gen(function* () {
  const { create, pause, trigger } = yield* RunSchedules.RunSchedules
  yield* create({ id: "pulse", agent: "reporter", input: "Are you there?", every: "1 second", ...ann })
  const { nextAt } = yield* create({
    id: "report",
    agent: "reporter",
    input: "How are the servers?",
    cron: "0 9,17 * * *",
    timeZone: "Europe/Berlin",
    overlap: "skip",
    ...ann
  })
  yield* Console.log(`the next report is at ${nextAt}, and one is made now`)
  const { runId } = yield* trigger("report", ann)
  yield* Console.log((yield* Runs.await(runId, ann)).message)
  yield* Effect.sleep("2500 millis")
  yield* pause("pulse", ann)
  const { records } = yield* Runs.list({ ...ann, labels: { schedule: "pulse" } })
  for (const record of records) {
    const { message } = yield* Runs.await(record.runId, ann)
    yield* Console.log(`the run of ${record.createdAt}: ${message}`)
  }
})

await Effect.runPromise(Effect.provide(program, schedules))
