import { describe, it } from "@effect/vitest"
import * as WorkflowEngine from "@effect/workflow/WorkflowEngine"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../src/agent/Agents.js"
import * as InMemoryRunStore from "../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../src/agent/record/Steering.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import * as SqlWorkflowEngine from "../../src/durable/engine/SqlWorkflowEngine.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as SqlApprovalStore from "../../src/persistence/run/SqlApprovalStore.js"
import * as SqlRunLog from "../../src/persistence/run/SqlRunLog.js"
import * as SqlRunStore from "../../src/persistence/run/SqlRunStore.js"
import * as RunsSuite from "../../src/testing/runs/RunsSuite.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as SqlBackends from "../support/SqlBackends.js"

// The cases let hours pass, and nothing comes from other processes.
const poll = "1 hour"

const countsTurns = /deltas as they come|comes late the whole text|breaks off while the run goes on/

const inMemory = ({ agents, model }: RunsSuite.Given) => {
  const log = RunLog.layerMemory()
  const steering = Steering.layer()
  const approvals = PendingApprovals.layerMemory()
  const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
  return DurableRuns.layer({ agents, poll }).pipe(
    Layer.provide([executor, log, steering, InMemoryRunStore.layer()]),
    Layer.provide(WorkflowEngine.layerMemory),
    Layer.provideMerge(approvals)
  )
}

describe("DurableRuns as Runs, in memory", () => {
  for (const one of RunsSuite.cases({ resume: true, fork: false })) {
    it(one.name, () => Effect.runPromise(RunsSuite.check(one, inMemory)))
  }
})

SqlBackends.suite("DurableRuns as Runs", (backend) => {
  const onSql = ({ agents, model }: RunsSuite.Given) => {
    const steering = Steering.layer()
    const log = SqlRunLog.layer()
    const approvals = Layer.provide(PendingApprovals.layer(), SqlApprovalStore.layer())
    const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
    return DurableRuns.layer({ agents, poll }).pipe(
      Layer.provide([executor, log, steering, SqlRunStore.layer()]),
      Layer.provide(SqlWorkflowEngine.layer({ lease: "1000 hours", poll: "1 hour" })),
      Layer.provideMerge(approvals),
      Layer.provide(backend.layer)
    )
  }
  for (const one of RunsSuite.cases({ resume: true, fork: true })) {
    // These wait for deltas by turns of the event loop, and a server answers after more of them.
    if (backend.dialect === "postgres" && countsTurns.test(one.name)) continue
    it(one.name, () => Effect.runPromise(RunsSuite.check(one, onSql)))
  }
})
