/**
 * Writes reports as Markdown of GitHub.
 *
 * @private
 * @since 0.1.0
 */
import { count } from "../../internal/Count.js"
import * as TraceWords from "../../trace/TraceWords.js"
import * as ReportLabels from "./ReportLabels.js"
import type { EvalReport } from "./ReportModel.js"
import * as ReportWords from "./ReportWords.js"

/**
 * How to write a report as Markdown.
 *
 * @since 0.1.0
 * @category models
 */
export interface MarkdownOptions {
  /** The most cases that are named as lost. Default 10. */
  readonly maxCases?: number | undefined
}

/** A name within a cell: none of its characters is markup, a mention or a reference. */
const cell = (text: string): string =>
  TraceWords.name(text)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, " ")
    .replace(/[\\`*_{}[\]()<>#+!|~$&:@-]/g, (character) => `&#${character.codePointAt(0)};`)

const row = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => [
  row(head),
  row(head.map(() => "---")),
  ...rows.map(row),
  ""
]

/** Writes Markdown. No content is part of it, and no names of people. */
export const print = (
  { comparisons, labelled, results, variants }: EvalReport,
  options: MarkdownOptions = {}
): string => {
  const { dataset, id, name, scorers } = results.header
  const most = count(options.maxCases, 10, 0)
  return [
    `## ${cell(name)}`,
    "",
    `${TraceWords.counted(dataset.cases, "case")} of ${cell(dataset.name)} ${cell(dataset.version)}, run ${cell(id)}.`,
    "",
    ...(results.missing === 0
      ? []
      : [`**Not whole: ${TraceWords.counted(results.missing, "trial")} without a result.**`, ""]),
    ...table(
      ["Variant", ...scorers.map(cell), "Failed", "Median time", "Cost"],
      variants.map((summary) => [
        cell(summary.variant),
        ...summary.scores.map(({ interval, mean }) =>
          interval === undefined
            ? ReportWords.percent(mean)
            : `${ReportWords.percent(mean)} (${ReportWords.percent(interval.lower)} to ${ReportWords.percent(interval.upper)})`
        ),
        `${summary.failed} of ${summary.trials}`,
        summary.latency === undefined ? "" : TraceWords.duration(summary.latency.p50),
        ReportWords.cost(summary)
      ])
    ),
    ...(comparisons.length === 0
      ? []
      : table(
          ["Change", "Variant", "Scorer", "Means", "Difference", "p", "Cases", "Lost first"],
          comparisons.map((compared) => [
            ReportWords.change(compared).word,
            `${cell(compared.candidate)} after ${cell(compared.baseline)}`,
            cell(compared.scorer),
            ...ReportWords.figures(compared),
            compared.pairs
              .filter(({ baseline, candidate }) => candidate < baseline)
              .slice(0, most)
              .map(({ caseId }) => cell(caseId))
              .join(", ")
          ])
        )),
    ...(labelled.length === 0
      ? []
      : table(
          ["Scorer beside people", "Alike", "Kappa", "Spearman", "Outputs", "People", "Alpha among people"],
          labelled.map((one) => [
            cell(one.scorer),
            ...ReportLabels.figures(one.agreement.scorer),
            TraceWords.number(one.agreement.scorer.outputs),
            TraceWords.number(one.people),
            ReportLabels.amongPeople(one)
          ])
        ))
  ].join("\n")
}
