import { assert, describe, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PCGRandom } from "effect/Utils"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../src/eval/Experiment.js"
import * as InMemoryExperimentStore from "../../src/eval/record/InMemoryExperimentStore.js"
import * as TextScorer from "../../src/eval/scorer/TextScorer.js"
import * as Task from "../../src/eval/Task.js"
import * as StudioServers from "./StudioServers.js"

const experiment = Effect.gen(function* () {
  const dataset = yield* Dataset.make(
    "numbers",
    Array.from({ length: 120 }, (_, at) => ({ id: `case-${at}`, input: `${at}`, expected: `${at}` }))
  )
  const made = yield* Experiment.make("numbers", {
    dataset,
    variants: [
      Task.make("plain", (input: string) => Effect.succeed(Number(input) % 3 === 0 ? "?" : input)),
      Task.make("better", (input: string) => Effect.succeed(input))
    ],
    scorers: [TextScorer.exact]
  })
  return yield* Experiment.run(made, { id: "numbers" })
})

/** How many numbers the bootstrap and other samples draw meanwhile. */
const drawn = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const { number } = PCGRandom.prototype
  let count = 0
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      PCGRandom.prototype.number = function () {
        count++
        return number.call(this)
      }
    }),
    () => Effect.map(effect, (value) => ({ value, count })),
    () =>
      Effect.sync(() => {
        PCGRandom.prototype.number = number
      })
  )
}

describe("experiments in the studio", () => {
  it.scopedLive("pages cases without the statistics of the report", () =>
    Effect.gen(function* () {
      const stores = yield* Layer.build(InMemoryExperimentStore.layer)
      yield* Effect.provide(experiment, stores)
      const server = yield* StudioServers.start({
        agents: [Agent.make("clerk", { system: "You help." })],
        others: Layer.succeedContext(stores as Context.Context<never>)
      })
      const report = yield* drawn(server.ask("/studio/api/evals/numbers"))
      assert.isAbove(report.count, 100_000)
      const pages = yield* drawn(
        Effect.forEach([0, 50, 100], (offset) =>
          server.ask(`/studio/api/evals/numbers/cases?limit=50&offset=${offset}`)
        )
      )
      // Ids may be drawn, samples are not.
      assert.isBelow(pages.count, 100)
      const cases = pages.value.flatMap(({ json }) => json.cases as ReadonlyArray<{ caseId: string; mean: number }>)
      assert.deepStrictEqual(
        pages.value.map(({ json }) => json.total),
        [120, 120, 120]
      )
      assert.strictEqual(new Set(cases.map(({ caseId }) => caseId)).size, 120)
      const means = cases.map(({ mean }) => mean)
      assert.deepStrictEqual(
        means,
        [...means].sort((a, b) => a - b)
      )
    })
  )
})
