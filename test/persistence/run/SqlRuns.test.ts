/**
 * Runs of one process whose records and events are in a database. In SQLite alone: the cases move a clock by hours, and
 * the writes of a run to a server would be late by that clock.
 */
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agents from "../../../src/agent/Agents.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as SqlApprovalStore from "../../../src/persistence/run/SqlApprovalStore.js"
import * as SqlRunLog from "../../../src/persistence/run/SqlRunLog.js"
import * as SqlRunStore from "../../../src/persistence/run/SqlRunStore.js"
import * as RunsSuite from "../../../src/testing/runs/RunsSuite.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"
import * as SqlBackends from "../../support/SqlBackends.js"

SqlBackends.suite("LocalRuns on SQL", (backend) => {
  const layer = ({ agents, model }: RunsSuite.Given) => {
    const log = SqlRunLog.layer()
    const steering = Steering.layer()
    const approvals = Layer.provide(PendingApprovals.layer(), SqlApprovalStore.layer())
    const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
    return LocalRuns.layer({ agents }).pipe(
      Layer.provide([executor, log, steering, SqlRunStore.layer()]),
      Layer.provideMerge(approvals),
      Layer.provide(backend.layer)
    )
  }

  describe.skipIf(backend.dialect === "postgres")("LocalRuns as Runs", () => {
    for (const one of RunsSuite.cases({ resume: false, fork: false })) {
      it(one.name, () => Effect.runPromise(RunsSuite.check(one, layer)))
    }
  })
})
