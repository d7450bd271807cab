/**
 * Runs an experiment of 200 cases by three variants, at a price a call. Each call is a line of `tally`, written before
 * it answers. Says how many trials ended, and the results at its end.
 */
import * as Fs from "node:fs"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Dataset from "../../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../../src/eval/Experiment.js"
import type * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import * as JsonlExperimentStore from "../../../src/eval/record/JsonlExperimentStore.js"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import type * as Task from "../../../src/eval/Task.js"
import * as SqlExperimentStore from "../../../src/persistence/run/SqlExperimentStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as Programs from "../Programs.js"

export interface Input {
  readonly store: "jsonl" | "sqlite"
  readonly folder: string
  readonly tally: string
  readonly concurrency: number
}

export const price = 0.125

const storeOf = ({ folder, store }: Input): Layer.Layer<ExperimentStore.ExperimentStore, unknown> =>
  store === "jsonl"
    ? JsonlExperimentStore.layer({ folder }).pipe(Layer.provide(NodeContext.layer))
    : SqlExperimentStore.layerMigrated.pipe(
        Layer.provide(SqliteClient.layer({ file: `${folder}/experiments.db`, driver: "libsql" }))
      )

const variant = (name: string, tally: string): Task.Task<number, number> => ({
  name,
  version: "",
  run: (input) =>
    Effect.gen(function* () {
      Fs.appendFileSync(tally, `${name} ${input}\n`)
      yield* Effect.sleep(yield* Random.nextIntBetween(1, 8))
      return { _tag: "Answered", output: input % 2, costUsd: price, usage: { totalTokens: 1 }, modelCalls: 1 } as const
    })
})

Programs.main<Input>(({ input, say }) =>
  Effect.gen(function* () {
    const dataset = yield* Dataset.make(
      "generated",
      Array.from({ length: 200 }, (_, index) => ({ input: index, expected: index % 3 }))
    )
    const experiment = yield* Experiment.make("killed", {
      dataset,
      variants: ["a", "b", "c"].map((name) => variant(name, input.tally)),
      scorers: [Scorer.make("exact", ({ expected, output }) => output === expected)]
    })
    let ended = 0
    const results = yield* Experiment.run(experiment, {
      id: "killed",
      concurrency: input.concurrency,
      onResult: () => say(++ended)
    })
    const { attempts, costUsd, finished, missing } = results
    yield* say({
      attempts,
      costUsd,
      missing,
      finished: finished.map(({ trial }) => `${trial.variant} ${trial.caseId}`)
    })
  }).pipe(Effect.provide(storeOf(input)))
)
