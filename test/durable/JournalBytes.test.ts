import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import { WorkflowJournal } from "../../src/durable/engine/WorkflowJournal.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as CutRuns from "./CutRuns.js"
import type * as DurableProcesses from "./DurableProcesses.js"
import { ann, call, type Services, say, start } from "./DurableProcesses.js"
import * as LargePayloads from "./payload/LargePayloads.js"

/** Steps of the longest run; `DURABLE_STEPS` raises it. */
const STEPS = Number(process.env["DURABLE_STEPS"] ?? 80)

const executor = (ports: DurableProcesses.Ports) =>
  Agents.layerWith({ config: { observationMaxChars: 200_000 }, log: ports, steering: ports, approvals: ports })

/** Bytes of a result that is a blob, where there is a store. */
const LARGE = 100_000

const cases = (title: string, ports: Effect.Effect<DurableProcesses.Ports | undefined, never, Scope.Scope>, size = 0) =>
  it.scopedLive(title, () =>
    Effect.gen(function* () {
      const client = yield* CutRuns.database
      const world = new CutRuns.World()
      const look = Tool.make("look", {
        description: "Looks",
        idempotent: true,
        handler: () => Effect.succeed("x".repeat(size))
      })
      const strategy = FunctionCalling.make({ maxIterations: STEPS + 1, noProgressAfter: false })
      const agents = [10, 20, STEPS / 2, STEPS].map((steps) =>
        Agent.make(`steps-${steps}`, { system: `${steps}`, tools: [look], strategy })
      )
      const model = CutRuns.modelOf(world, ({ messages }, results) =>
        results < Number(messages[0]?.content) ? call(["look", {}]) : say("done")
      )
      const process = yield* start(client, { agents }, model, executor, yield* ports)
      const sizeOf = (steps: number): Effect.Effect<number, unknown, Services> =>
        Effect.gen(function* () {
          const runId = `run-${steps}`
          yield* Runs.start({ agent: `steps-${steps}`, input: "go", runId, ...ann })
          yield* Runs.await(runId, ann)
          const journal = yield* WorkflowJournal
          return yield* journal.size(yield* AgentWorkflow.executionOf(runId))
        })
      const perStep = (from: number, to: number) =>
        Effect.zipWith(sizeOf(from), sizeOf(to), (less, more) => (more - less) / (to - from))
      const [short, long] = yield* process.within(Effect.all([perStep(10, 20), perStep(STEPS / 2, STEPS)]))
      // Names of later steps have more digits.
      assert.isAtMost(long, short * 1.05)
      assert.isAbove(short, 100)
      assert.isBelow(short, 2000)
      yield* process.end
    })
  )

cases("the journal of a step is as large in a long run as in a short one", Effect.succeed(undefined))

cases(
  "the journal of a step has none of its result, where that is a blob",
  Effect.map(LargePayloads.blobs, LargePayloads.onEngine),
  LARGE
)
