import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Steering from "../../src/agent/record/Steering.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as DurableRuns from "../../src/durable/DurableRuns.js"
import * as SqlWorkflowEngine from "../../src/durable/engine/SqlWorkflowEngine.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as SqlApprovalStore from "../../src/persistence/run/SqlApprovalStore.js"
import * as SqlRunLog from "../../src/persistence/run/SqlRunLog.js"
import * as SqlRunStore from "../../src/persistence/run/SqlRunStore.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as PendingApprovals from "../../src/tool/approval/PendingApprovals.js"
import * as SqlBackends from "../support/SqlBackends.js"

const agent = Agent.make("clerk", { system: "Answer." })

SqlBackends.suite("a durable run with a policy", (backend) => {
  it.effect("keeps the model, the strategy and the settings that it was started with", () =>
    Effect.gen(function* () {
      const steering = Steering.layer()
      const log = SqlRunLog.layer()
      const approvals = Layer.provide(PendingApprovals.layer(), SqlApprovalStore.layer())
      const seen: Array<unknown> = []
      const router = DefaultModelRouter.layer({
        roles: {
          solver: {
            client: TestModel.layer((request) => {
              seen.push(request.settings?.temperature)
              return "solved\nSCORE: 9\nNEEDS_REFINEMENT: no"
            })
          }
        }
      })
      const executor = Layer.provide(
        Agents.layerWith({ log, steering, approvals, router }),
        TestModel.layer(() => "plain")
      )
      const layer = DurableRuns.layer({ agents: [agent], poll: "1 hour" }).pipe(
        Layer.provide([executor, log, steering, SqlRunStore.layer()]),
        Layer.provide(SqlWorkflowEngine.layer({ lease: "1000 hours", poll: "1 hour" })),
        Layer.provide(approvals),
        Layer.provide(backend.layer)
      )
      yield* Effect.gen(function* () {
        const { runId } = yield* Runs.start({
          agent: "clerk",
          input: "go",
          settings: { temperature: 0.5 },
          policy: { model: "solver", strategy: "reflection" }
        })
        const response = yield* Runs.await(runId)
        assert.include(response.message, "solved")
        const started = yield* Stream.runHead(Runs.events(runId))
        assert.strictEqual(
          Option.getOrUndefined(Option.map(started, (event) => (event._tag === "Started" ? event.strategy : ""))),
          "reflection"
        )
        assert.deepStrictEqual(new Set(seen), new Set([0.5]))
      }).pipe(Effect.provide(layer), Effect.scoped)
    })
  )
})
