import * as Effect from "effect/Effect"
import { expectTypeOf, test } from "vitest"
import type * as Dataset from "../../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../../src/eval/Experiment.js"
import type * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import * as DataScorer from "../../../src/eval/scorer/DataScorer.js"
import * as EmbeddingScorer from "../../../src/eval/scorer/EmbeddingScorer.js"
import * as JudgeScorer from "../../../src/eval/scorer/JudgeScorer.js"
import * as OverlapScorer from "../../../src/eval/scorer/OverlapScorer.js"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as TextScorer from "../../../src/eval/scorer/TextScorer.js"
import * as TrajectoryScorer from "../../../src/eval/scorer/TrajectoryScorer.js"
import * as Task from "../../../src/eval/Task.js"
import type * as Embedder from "../../../src/llm/embedding/Embedder.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"

declare const texts: Dataset.Dataset<string, string>
declare const numbers: Dataset.Dataset<string, number>

const upper = Task.make("upper", (input: string) => Effect.succeed(input.toUpperCase()))

test("an experiment takes scorers of every kind, and requires what they do", () => {
  const made = Experiment.make("e", {
    dataset: texts,
    variants: [upper],
    scorers: [
      TextScorer.exact,
      OverlapScorer.rouge("L"),
      DataScorer.json(),
      JudgeScorer.make({ criteria: "It is loud." }),
      TrajectoryScorer.make({ checks: [] }),
      Scorer.make("loud", ({ output }: Scorer.Subject<string, string, string>) => output.endsWith("!"))
    ]
  })
  const ran = Effect.flatMap(made, (experiment) => Experiment.run(experiment, { id: "1" }))
  expectTypeOf<Effect.Effect.Context<typeof ran>>().toEqualTypeOf<
    LlmClient.LlmClient | ExperimentStore.ExperimentStore
  >()
})

test("a scorer of texts does not take cases that expect numbers, until their subjects are mapped", () => {
  // @ts-expect-error numbers are expected
  void Experiment.make("e", { dataset: numbers, variants: [upper], scorers: [TextScorer.exact] })
  const mapped = Scorer.mapSubject(TextScorer.exact, (subject: Scorer.Subject<string, string, number>) => ({
    ...subject,
    expected: String(subject.expected)
  }))
  expectTypeOf(mapped).toEqualTypeOf<Scorer.Scorer<string, string, number>>()
  void Experiment.make("e", { dataset: numbers, variants: [upper], scorers: [mapped, DataScorer.numeric()] })
})

test("a scorer of several takes what all of them do, and requires what each does", () => {
  const judge = JudgeScorer.make({ criteria: "It is loud." })
  const both = Scorer.weighted("both", [
    [TextScorer.exact, 1],
    [judge, 2],
    [EmbeddingScorer.make(), 2]
  ])
  type Expected = Scorer.Scorer<unknown, string, TextScorer.References, LlmClient.LlmClient | Embedder.Embedder>
  expectTypeOf(both).toEqualTypeOf<Expected>()
  const lowest = Scorer.all("lowest", [judge, EmbeddingScorer.make()])
  expectTypeOf(lowest).toEqualTypeOf<Expected>()
  const loud = Scorer.make("loud", ({ output }: Scorer.Subject<number, string, string>) => output.endsWith("!"))
  expectTypeOf(Scorer.all("x", [loud, TextScorer.exact])).toEqualTypeOf<Scorer.Scorer<number, string, string>>()
})
