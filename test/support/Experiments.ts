/** Results of experiments that were never run. */
import type { Results } from "../../src/eval/Experiment.js"
import * as ExperimentFold from "../../src/eval/record/ExperimentFold.js"
import type { Label, TrialResult } from "../../src/eval/record/ExperimentRecord.js"

export interface Given {
  readonly id?: string
  readonly version?: string
  readonly scorers?: ReadonlyArray<string>
  /** What each variant gave: a case each, with a list of its repetitions, each a score or what it gave. */
  readonly labels?: ReadonlyArray<Label>
  readonly variants: Readonly<Record<string, ReadonlyArray<ReadonlyArray<number | Partial<TrialResult>>>>>
}

export const results = ({ id = "e", labels = [], scorers = ["exact"], variants, version = "v" }: Given): Results => {
  const fold = ExperimentFold.make()
  const names = Object.keys(variants)
  const cases = Math.max(...Object.values(variants).map((all) => all.length))
  const repetitions = Math.max(1, ...Object.values(variants).flatMap((all) => all.map((values) => values.length)))
  for (const [variant, all] of Object.entries(variants)) {
    all.forEach((values, index) => {
      values.forEach((given, repetition) => {
        const trial = { variant, caseId: `case ${index + 1}`, repetition: repetition + 1 }
        const more = typeof given === "number" ? { scores: scorers.map((scorer) => ({ scorer, value: given })) } : given
        fold.push({ _tag: "Began", trial, at: 0 })
        fold.push({ _tag: "Ended", trial, at: 1, result: { scores: [], durationMs: 10, ...more } })
      })
    })
  }
  for (const label of labels) fold.push({ _tag: "Labelled", ...label })
  return {
    header: {
      id,
      name: "sums",
      createdAt: 0,
      fingerprint: "f",
      dataset: { name: "d", version, cases },
      variants: names,
      scorers,
      repetitions,
      labels: {}
    },
    finished: fold.finished(),
    missing: cases * names.length * repetitions - fold.finished().length,
    open: [],
    isOverBudget: false,
    attempts: fold.attempts(),
    costUsd: fold.costUsd(),
    usage: fold.usage(),
    labels: fold.labels()
  }
}

/** So many cases with the first score, and so many with the second. */
export const split = (ones: number, zeros: number): ReadonlyArray<ReadonlyArray<number>> => [
  ...Array.from({ length: ones }, () => [1]),
  ...Array.from({ length: zeros }, () => [0])
]
