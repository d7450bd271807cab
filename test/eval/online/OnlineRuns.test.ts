import * as FileSystem from "@effect/platform/FileSystem"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as Steering from "../../../src/agent/record/Steering.js"
import * as LocalRuns from "../../../src/agent/runs/LocalRuns.js"
import * as Runs from "../../../src/agent/runs/Runs.js"
import * as Experiment from "../../../src/eval/Experiment.js"
import * as Labels from "../../../src/eval/Labels.js"
import * as OnlineScoring from "../../../src/eval/online/OnlineScoring.js"
import * as RunCases from "../../../src/eval/online/RunCases.js"
import * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import * as JsonlExperimentStore from "../../../src/eval/record/JsonlExperimentStore.js"
import * as EvalReport from "../../../src/eval/report/EvalReport.js"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as Task from "../../../src/eval/Task.js"
import * as RunLog from "../../../src/observability/RunLog.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as PendingApprovals from "../../../src/tool/approval/PendingApprovals.js"

const City = Schema.Struct({ city: Schema.String })
const agents = [Agent.make("helper", { system: "helper" }), Agent.make("clerk", { system: "clerk", output: City })]

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const executor = Layer.provide(
  Agents.layerWith({ log, steering, approvals }),
  TestModel.layer((request) => (JSON.stringify(request).includes("clerk") ? '{"city":"Bern"}' : "hello"))
)
const runs = LocalRuns.layer({ agents }).pipe(
  Layer.provide([executor, steering, approvals]),
  Layer.provideMerge(Layer.merge(InMemoryRunStore.layer(), log))
)

const stores = Effect.gen(function* () {
  const folder = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  const open = JsonlExperimentStore.make({ folder })
  return [yield* open, yield* open] as const
})

describe("OnlineScoring of runs of agents", () => {
  it.scoped("scores them once over two processes, and they become cases", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const scorer = Scorer.makeEffect("seen", ({ output, response }: Scorer.Subject<string>) =>
        Effect.as(
          Effect.yieldNow(),
          seen.push(output) > 0 && response?.finishReason === "completed" && response.modelCalls === 1
        )
      )
      const [mine, yours] = yield* stores
      const scoring = OnlineScoring.run({ id: "o", agents: ["helper", "clerk"], scorers: [scorer], rate: 1 })
      for (const store of [mine, yours]) {
        yield* Effect.forkScoped(Effect.provideService(scoring, ExperimentStore.ExperimentStore, store))
      }
      for (let index = 0; index < 12; index++) {
        const { runId } = yield* Runs.start({ agent: index % 3 === 0 ? "clerk" : "helper", input: `question ${index}` })
        yield* Runs.await(runId)
      }
      const load = Effect.provideService(Experiment.load("o"), ExperimentStore.ExperimentStore, mine)
      const results = yield* Effect.retry(
        Effect.zipRight(
          TestClock.adjust("1 minute"),
          Effect.filterOrFail(load, ({ finished }) => finished.length === 12)
        ),
        { times: 500 }
      )
      yield* TestClock.adjust("10 minutes")
      assert.lengthOf(seen, 12)
      assert.lengthOf(
        seen.filter((output) => output === "hello"),
        8
      )
      assert.deepStrictEqual(
        seen.filter((output) => output !== "hello"),
        Array.from({ length: 4 }, () => ({ city: "Bern" }))
      )
      for (const { result } of results.finished) assert.deepStrictEqual(result.scores, [{ scorer: "seen", value: 1 }])
      const report = yield* EvalReport.make(results)
      assert.deepStrictEqual(
        report.variants.map(({ scores, trials, variant }) => [variant, trials, scores[0]?.mean]),
        [
          ["helper", 8, 1],
          ["clerk", 4, 1]
        ]
      )

      const { dataset } = yield* RunCases.fromRuns({ name: "asked", agent: "clerk", expected: "answer" })
      assert.lengthOf(dataset.cases, 4)
      const again = yield* Experiment.make("again", {
        dataset,
        variants: [Task.make("same", (input: string) => Effect.succeed({ city: input === "" ? "" : "Bern" }))],
        scorers: [
          Scorer.make(
            "equal",
            ({ expected, output }: Scorer.Subject<string, unknown, unknown>) =>
              JSON.stringify(output) === JSON.stringify(expected)
          )
        ]
      })
      const scored = yield* Effect.provideService(
        Effect.gen(function* () {
          const { finished } = yield* Experiment.run(again, { id: "again" })
          const [first] = results.finished
          if (first === undefined) return finished
          yield* Labels.add("o", { trial: first.trial, scorer: "seen", value: 0, by: "ada" })
          assert.strictEqual((yield* Experiment.load("o")).labels.at(0)?.value, 0)
          return finished
        }),
        ExperimentStore.ExperimentStore,
        yours
      )
      assert.deepStrictEqual(
        scored.map(({ result }) => result.scores[0]?.value),
        [1, 1, 1, 1]
      )
    }).pipe(Effect.provide([runs, NodeContext.layer]))
  )
})
