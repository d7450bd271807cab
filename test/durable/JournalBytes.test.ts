import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Runs from "../../src/agent/runs/Runs.js"
import * as AgentWorkflow from "../../src/durable/AgentWorkflow.js"
import { WorkflowJournal } from "../../src/durable/engine/WorkflowJournal.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as CutRuns from "./CutRuns.js"
import { ann, call, type Services, say, start } from "./DurableProcesses.js"

/** Steps of the longest run; `DURABLE_STEPS` raises it. */
const STEPS = Number(process.env["DURABLE_STEPS"] ?? 80)

it.scopedLive("the journal of a step is as large in a long run as in a short one", () =>
  Effect.gen(function* () {
    const client = yield* CutRuns.database
    const world = new CutRuns.World()
    const strategy = FunctionCalling.make({ maxIterations: STEPS + 1, noProgressAfter: false })
    const agents = [10, 20, STEPS / 2, STEPS].map((steps) =>
      Agent.make(`steps-${steps}`, { system: `${steps}`, tools: [world.tool("look")], strategy })
    )
    const model = CutRuns.modelOf(world, ({ messages }, results) =>
      results < Number(messages[0]?.content) ? call(["look", {}]) : say("done")
    )
    const process = yield* start(client, { agents }, model)
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
    yield* process.end
  })
)
