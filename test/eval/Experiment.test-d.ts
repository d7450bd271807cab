import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { expectTypeOf, test } from "vitest"
import type * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../src/eval/Experiment.js"
import type * as ExperimentStore from "../../src/eval/record/ExperimentStore.js"
import * as Scorer from "../../src/eval/scorer/Scorer.js"
import * as Task from "../../src/eval/Task.js"

declare const dataset: Dataset.Dataset<string, number>
declare const Model: Context.Tag<"Model", { readonly ask: (text: string) => Effect.Effect<number, Error> }>
declare const Judge: Context.Tag<"Judge", { readonly score: (output: number) => Effect.Effect<number> }>

const task = Task.make("t", (input: string) => Effect.flatMap(Model, (model) => model.ask(input)))
const judge = Scorer.makeEffect("judge", ({ output }: Scorer.Subject<string, number, number>) =>
  Effect.flatMap(Judge, (service) => service.score(output))
)

test("an experiment requires what its tasks and scorers do", () => {
  const made = Experiment.make("e", { dataset, variants: [task], scorers: [judge] })
  const ran = Effect.flatMap(made, (experiment) => Experiment.run(experiment, { id: "1" }))
  expectTypeOf<Effect.Effect.Context<typeof ran>>().toEqualTypeOf<"Model" | "Judge" | ExperimentStore.ExperimentStore>()
  expectTypeOf<Effect.Effect.Success<typeof ran>>().toEqualTypeOf<Experiment.Results>()
})

test("scorers of one experiment may require different services", () => {
  const plain = Scorer.make("plain", ({ output }: Scorer.Subject<string, number, number>) => output > 0)
  const cost = Scorer.makeEffect("cost", ({ output }: Scorer.Subject<string, number, number>) =>
    Effect.map(Model, () => output)
  )
  const made = Experiment.make("e", {
    dataset,
    variants: [Task.make("t", (input: string) => Effect.succeed(input.length))],
    scorers: [judge, plain, cost]
  })
  const ran = Effect.flatMap(made, (experiment) => Experiment.run(experiment, { id: "1" }))
  expectTypeOf<Effect.Effect.Context<typeof ran>>().toEqualTypeOf<"Model" | "Judge" | ExperimentStore.ExperimentStore>()
})

test("a task and a scorer of another shape are errors of types", () => {
  const numeric = Task.make("t", (input: number) => Effect.succeed(input))
  const other = Scorer.make("other", ({ expected }: Scorer.Subject<string, number, string>) => expected === "")
  return [
    // @ts-expect-error the cases have texts
    Experiment.make("e", { dataset, variants: [numeric], scorers: [judge] }),
    // @ts-expect-error numbers are expected
    Experiment.make("e", { dataset, variants: [task], scorers: [other] })
  ]
})
