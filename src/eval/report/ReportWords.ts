/**
 * Says in words what reports have.
 *
 * @private
 * @since 0.1.0
 */
import * as TraceWords from "../../trace/TraceWords.js"
import type { Finished } from "../record/ExperimentFold.js"
import type { VariantComparison } from "./VariantComparison.js"
import type { ScoreSummary, VariantSummary } from "./VariantSummary.js"

const { counted, name } = TraceWords

export type Tone = "plain" | "good" | "bad"

/** A score from 0 to 1 in percent. */
export const percent = (value: number | undefined): string =>
  value === undefined ? "no score" : `${(100 * value).toFixed(1)} %`

const points = (value: number): string => `${value < 0 ? "−" : "+"}${Math.abs(100 * value).toFixed(1)}`

/** The interval of a score, and how its trials pass. */
export const details = ({
  cases,
  interval,
  k,
  passAtK,
  passHatK,
  passRate,
  unscored
}: ScoreSummary): ReadonlyArray<string> => [
  counted(cases, "case"),
  ...(interval === undefined
    ? []
    : [`${Math.round(100 * interval.confidence)} % interval ${percent(interval.lower)} to ${percent(interval.upper)}`]),
  ...(passRate === undefined ? [] : [`${percent(passRate)} pass`]),
  ...(k < 2 || passAtK === undefined ? [] : [`pass@${k} ${percent(passAtK)}`]),
  ...(k < 2 || passHatK === undefined ? [] : [`pass^${k} ${percent(passHatK)}`]),
  ...(unscored === 0 ? [] : [`${counted(unscored, "trial")} without a score`])
]

/** What a variant took, by names. */
export const totals = (summary: VariantSummary): ReadonlyArray<readonly [name: string, value: string]> => {
  const { costUsd, failed, latency, modelCalls, scoringCostUsd, trials, unpriced, usage } = summary
  const tokens = TraceWords.tokens(usage)
  return [
    ["Trials", TraceWords.number(trials)],
    ["Failed", TraceWords.number(failed)],
    ...(latency === undefined
      ? []
      : ([
          ["Median time", TraceWords.duration(latency.p50)],
          ["95th percentile", TraceWords.duration(latency.p95)]
        ] as const)),
    ...(modelCalls === 0 ? [] : ([["Model calls", TraceWords.number(modelCalls)]] as const)),
    ...(tokens.length === 0 ? [] : ([["Tokens", tokens.join(", ")]] as const)),
    ["Cost", unpriced === 0 ? TraceWords.usd(costUsd) : `at least ${TraceWords.usd(costUsd)}`],
    ...(scoringCostUsd === 0 ? [] : ([["Cost of scoring", TraceWords.usd(scoringCostUsd)]] as const))
  ]
}

/** What changed, and how sure that is. A chance below 0.05 is a change. */
export const change = (compared: VariantComparison): { readonly tone: Tone; readonly word: string } => {
  if (compared.pWorse < 0.05) return { tone: "bad", word: "worse" }
  if (compared.pBetter < 0.05) return { tone: "good", word: "better" }
  return { tone: "plain", word: "no clear change" }
}

/** The figures of a comparison. */
export const figures = (compared: VariantComparison): ReadonlyArray<string> => {
  const { cases, difference, interval, losses, meanBaseline, meanCandidate, pTwoSided, ties, wins } = compared
  return [
    `${percent(meanBaseline)} → ${percent(meanCandidate)}`,
    `${points(difference)} points${interval === undefined ? "" : ` (${points(interval.lower)} to ${points(interval.upper)})`}`,
    `p = ${pTwoSided < 0.0001 ? "< 0.0001" : pTwoSided.toPrecision(2)}`.replace("= <", "<"),
    `${wins} won, ${losses} lost, ${ties} alike of ${counted(cases, "case")}`
  ]
}

/** What a trial took. */
export const taken = ({ result }: Finished): ReadonlyArray<string> => [
  TraceWords.duration(result.durationMs),
  ...(result.usage === undefined ? [] : TraceWords.tokens(result.usage)),
  ...(result.costUsd === undefined ? [] : [TraceWords.usd(result.costUsd)]),
  ...(result.runId === undefined ? [] : [`run ${name(result.runId)}`])
]
