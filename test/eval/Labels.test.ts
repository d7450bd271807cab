import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import * as Dataset from "../../src/eval/dataset/Dataset.js"
import * as Experiment from "../../src/eval/Experiment.js"
import * as Labels from "../../src/eval/Labels.js"
import type { Label } from "../../src/eval/record/ExperimentRecord.js"
import * as InMemoryExperimentStore from "../../src/eval/record/InMemoryExperimentStore.js"
import * as Scorer from "../../src/eval/scorer/Scorer.js"
import * as Agreement from "../../src/eval/statistics/Agreement.js"
import * as Task from "../../src/eval/Task.js"
import * as Experiments from "../support/Experiments.js"

const trial = { caseId: "1", variant: "same", repetition: 1 }
const given: Labels.Given = { trial, scorer: "exact", value: 1, by: "ada" }

const ran = Effect.gen(function* () {
  const dataset = yield* Dataset.make("numbers", [
    { input: 1, expected: 1 },
    { input: 2, expected: 3 }
  ])
  const experiment = yield* Experiment.make("sums", {
    dataset,
    variants: [Task.make("same", (input: number) => Effect.succeed(input))],
    scorers: [
      Scorer.make("exact", ({ expected, output }: Scorer.Subject<number, number, number>) => output === expected)
    ]
  })
  return yield* Experiment.run(experiment, { id: "e" })
})

const withStore = Effect.provide(InMemoryExperimentStore.layer)

describe("Labels.add", () => {
  it.effect("keeps labels with their times; the last one of a person counts", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* ran).labels, [])
      yield* TestClock.adjust("1 second")
      yield* Labels.add("e", given)
      yield* TestClock.adjust("1 second")
      yield* Labels.addAll("e", [
        { ...given, value: 0.5, by: "bob", comment: "half of it" },
        { ...given, value: 0, by: "ada" }
      ])
      const { finished, labels } = yield* Experiment.load("e")
      assert.lengthOf(finished, 2)
      assert.deepStrictEqual(labels, [
        { trial, scorer: "exact", value: 0.5, by: "bob", comment: "half of it", at: 2000 },
        { trial, scorer: "exact", value: 0, by: "ada", at: 2000 }
      ])
    }).pipe(withStore)
  )

  it.effect("keeps labels of persons and scorers apart whose names are those of prototypes", () =>
    Effect.gen(function* () {
      yield* ran
      const names = ["__proto__", "constructor", "toString", "\u0000", "a".repeat(256)]
      yield* Labels.addAll(
        "e",
        names.map((by) => ({ ...given, by }))
      )
      assert.deepStrictEqual(
        (yield* Experiment.load("e")).labels.map(({ by }) => by),
        names
      )
    }).pipe(withStore)
  )

  it.effect("refuses what is no label of the experiment, and keeps none of the labels beside it", () =>
    Effect.gen(function* () {
      yield* ran
      const wrong: ReadonlyArray<readonly [Labels.LabelErrorReason, Partial<Labels.Given>]> = [
        ["trial", { trial: { ...trial, caseId: "x".repeat(100_000) } }],
        ["trial", { trial: { ...trial, variant: "constructor" } }],
        ["trial", { trial: { ...trial, repetition: 2 } }],
        ["trial", { trial: { ...trial, repetition: Number.NaN } }],
        ["scorer", { scorer: "__proto__" }],
        ["value", { value: 1.01 }],
        ["value", { value: -0.01 }],
        ["value", { value: Number.NaN }],
        ["by", { by: "" }],
        ["by", { by: "x".repeat(257) }],
        ["comment", { comment: "x".repeat(10_001) }]
      ]
      for (const [reason, change] of wrong) {
        const error = yield* Effect.flip(Labels.addAll("e", [given, { ...given, ...change }]))
        assert.strictEqual(error._tag, "LabelError")
        assert.strictEqual(error.reason, reason)
        assert.isBelow(error.message.length, 400)
        assert.isString(error.hint)
      }
      assert.deepStrictEqual((yield* Experiment.load("e")).labels, [])
      yield* Labels.add("e", { ...given, comment: "x".repeat(10_000) })
      assert.strictEqual((yield* Effect.flip(Labels.add("none", given))).reason, "unknown")
    }).pipe(withStore)
  )
})

const at = 0

/** Labels of one variant: each person's values by case, where a gap is no label. */
const labelsOf = (
  variant: string,
  people: Readonly<Record<string, ReadonlyArray<number | undefined>>>
): ReadonlyArray<Label> =>
  Object.entries(people).flatMap(([by, values]) =>
    values.flatMap((value, index) =>
      value === undefined
        ? []
        : [{ trial: { caseId: `case ${index + 1}`, variant, repetition: 1 }, scorer: "exact", value, by, at }]
    )
  )

const scored = [1, 0.8, 0.2, 0, 0.6]
const results = (labels: ReadonlyArray<Label>): Experiment.Results => ({
  ...Experiments.results({ variants: { a: scored.map((value) => [value]), b: [[1], [1], [1], [1], [1]] } }),
  labels
})

describe("Labels.agreement", () => {
  it.effect("compares the scorer with the mean of people, where both are", () =>
    Effect.gen(function* () {
      const labels = labelsOf("a", { ada: [1, 0.7, 0.4, 0], bob: [1, 0.1, 0.4, undefined] })
      const { scorer } = yield* Labels.agreement(results(labels), "exact")
      const means = [1, 0.4, 0.4, 0]
      assert.strictEqual(scorer.outputs, 4)
      assert.strictEqual(yield* scorer.percentAgreement, 0.75)
      assert.strictEqual(yield* scorer.kappa, yield* Agreement.kappa([1, 1, 0, 0], [1, 0, 0, 0]))
      assert.strictEqual(yield* scorer.spearman, yield* Agreement.spearman(scored.slice(0, 4), means))
      assert.strictEqual(
        yield* scorer.krippendorffAlpha,
        yield* Agreement.krippendorffAlpha([scored.slice(0, 4), means], "interval")
      )
    })
  )

  it.effect("compares each person with the mean of the others, and all of them", () =>
    Effect.gen(function* () {
      const people = { cyd: [0, undefined, 1, 0.5], ada: [1, 0.7, 0.3, 0], bob: [1, 0.7, undefined, 0.5] }
      const agreement = yield* Labels.agreement(results(labelsOf("a", people)), "exact")
      assert.deepStrictEqual(
        agreement.people.map(({ by, outputs }) => [by, outputs]),
        [
          ["ada", 4],
          ["bob", 3],
          ["cyd", 3]
        ]
      )
      const [ada] = agreement.people
      assert.isDefined(ada)
      if (ada === undefined) return
      // 0.5 against 1, 0.7 against 0.7, 0.3 against 1, 0 against 0.5.
      assert.strictEqual(yield* ada.percentAgreement, 0.5)
      assert.closeTo(yield* ada.spearman, yield* Agreement.spearman([1, 0.7, 0.3, 0], [0.5, 0.7, 1, 0.5]), 1e-12)
      assert.closeTo(
        yield* agreement.amongPeople,
        yield* Agreement.krippendorffAlpha(Object.values(people), "interval"),
        1e-12
      )
    })
  )

  it.effect("takes means for what they are at the threshold", () =>
    Effect.gen(function* () {
      // The sum of these, less the first, is 0.7999999999999999.
      const { people } = yield* Labels.agreement(results(labelsOf("a", { ada: [0.1], bob: [0.8] })), "exact", {
        threshold: 0.8
      })
      const [ada, bob] = people
      assert.strictEqual(yield* ada?.percentAgreement ?? Either.right(1), 0)
      assert.strictEqual(yield* bob?.percentAgreement ?? Either.right(1), 0)
      const { scorer } = yield* Labels.agreement(
        results(labelsOf("a", { ada: [0.1, 0.9], bob: [0.2, 0.9], cyd: [0.3, 0.9] })),
        "exact",
        { threshold: 0.2 }
      )
      assert.strictEqual(yield* scorer.percentAgreement, 1)
    })
  )

  it.effect("takes the trials of one variant by choice, and the labels of one scorer", () =>
    Effect.gen(function* () {
      const labels = [...labelsOf("a", { ada: [1, 1] }), ...labelsOf("b", { ada: [0, 0, 0] })]
      const all = results([...labels, ...labels.map((label) => ({ ...label, scorer: "judge", value: 1 }))])
      const of = (variant?: string) =>
        Effect.map(Labels.agreement(all, "exact", { variant }), ({ scorer }) => [
          scorer.outputs,
          Either.getOrThrow(scorer.percentAgreement)
        ])
      assert.deepStrictEqual(yield* of("a"), [2, 1])
      assert.deepStrictEqual(yield* of("b"), [3, 0])
      assert.deepStrictEqual(yield* of(), [5, 0.4])
    })
  )

  it.effect("says why there is no number, and refuses what it cannot compare", () =>
    Effect.gen(function* () {
      const { amongPeople, people, scorer } = yield* Labels.agreement(results([]), "exact")
      assert.deepStrictEqual([scorer.outputs, people], [0, []])
      for (const none of [
        scorer.percentAgreement,
        scorer.kappa,
        scorer.krippendorffAlpha,
        scorer.spearman,
        amongPeople
      ]) {
        assert.strictEqual((yield* Effect.flip(none))._tag, "StatisticsError")
      }
      assert.include((yield* Effect.flip(Labels.agreement(results([]), "other"))).message, '"other"')
      for (const threshold of [-1, 1.5, Number.NaN]) {
        assert.include((yield* Effect.flip(Labels.agreement(results([]), "exact", { threshold }))).message, "threshold")
      }
    })
  )
})
