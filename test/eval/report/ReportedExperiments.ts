/** Experiments to report. */
import type { Label, TrialResult } from "../../../src/eval/record/ExperimentRecord.js"
import * as Experiments from "../../support/Experiments.js"

export const canaries = ["canary of an output", "canary of a reason", "canary of a failure", "canary of a comment"]

const trial = (value: number, more: Partial<TrialResult> = {}): Partial<TrialResult> => ({
  scores: [
    { scorer: "exact", value },
    { scorer: "judge", value: (1 + value) / 2, reason: "canary of a reason: it says what was asked for" }
  ],
  output: { answer: value, text: "canary of an output", key: "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa" },
  durationMs: 1200,
  usage: { inputTokens: 1200, outputTokens: 80, totalTokens: 1280 },
  costUsd: 0.01,
  modelCalls: 2,
  runId: "run-1",
  ...more
})

const failed = trial(0, {
  output: undefined,
  error: { tag: "LlmError", message: "canary of a failure" },
  scores: [
    { scorer: "exact", value: 0 },
    { scorer: "judge", value: 0 }
  ]
})

/** Two models over 40 cases, twice each: the small one solves fewer, and fails once. */
export const models = Experiments.results({
  scorers: ["exact", "judge"],
  labels: ["ada", "bob"].flatMap((by) =>
    Array.from(
      { length: 40 },
      (_, index): Label => ({
        trial: { caseId: `case ${index + 1}`, variant: "small", repetition: 1 },
        scorer: "judge",
        // They differ on four outputs.
        value: index < 20 || (by === "bob" && index < 24) ? 1 : 0.25,
        by,
        at: index,
        ...(index < 2 ? { comment: "canary of a comment: sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa" } : {})
      })
    )
  ),
  variants: {
    large: Array.from({ length: 40 }, (_, index) => [trial(index < 36 ? 1 : 0), trial(index < 36 ? 1 : 0)]),
    small: Array.from({ length: 40 }, (_, index) =>
      index === 39 ? [failed, trial(0)] : [trial(index < 20 ? 1 : 0), trial(index < 20 ? 1 : 0)]
    )
  }
})

/** Every text is this one. */
export const hostile = (text: string) => {
  const results = Experiments.results({
    scorers: [text, `${text}2`],
    variants: {
      [text]: [
        [
          {
            scores: [
              { scorer: text, value: 1, reason: text },
              { scorer: `${text}2`, error: { tag: text, message: text } }
            ],
            output: text
          }
        ],
        [{ scores: [{ scorer: text, value: 0 }], error: { tag: text, message: text } }]
      ],
      [`${text}2`]: [[{ scores: [{ scorer: text, value: 0 }], output: { [text]: text }, runId: text }], [0]]
    }
  })
  const finished = results.finished.map((one) => ({
    ...one,
    trial: { ...one.trial, caseId: `${text} ${one.trial.caseId}` }
  }))
  const header = {
    ...results.header,
    id: text,
    name: text,
    labels: { [text]: text },
    dataset: { name: text, version: text, cases: 2 }
  }
  const labels = finished.flatMap(({ trial }) =>
    [text, `${text}2`].map((by) => ({ trial, scorer: text, value: 0.5, by, at: 1, comment: text }))
  )
  return { ...results, finished, header, labels, missing: 1 }
}
