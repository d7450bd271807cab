/**
 * Writes reports as pages.
 *
 * @private
 * @since 0.1.0
 */
import { count } from "../../internal/Count.js"
import * as Excerpt from "../../internal/text/Excerpt.js"
import * as SecretText from "../../internal/text/SecretText.js"
import type { Html } from "../../trace/TraceMarkup.js"
import * as TraceMarkup from "../../trace/TraceMarkup.js"
import * as TraceStyle from "../../trace/TraceStyle.js"
import * as TraceWords from "../../trace/TraceWords.js"
import * as Labels from "../Labels.js"
import type { Finished } from "../record/ExperimentFold.js"
import { keyOf, type Label } from "../record/ExperimentRecord.js"
import * as ReportLabels from "./ReportLabels.js"
import type { EvalReport, ReportCase } from "./ReportModel.js"
import * as ReportWords from "./ReportWords.js"
import type { VariantComparison } from "./VariantComparison.js"
import type { ScoreSummary, VariantSummary } from "./VariantSummary.js"

const { html } = TraceMarkup
const { counted, name } = TraceWords

/**
 * How to write a report as a page.
 *
 * @since 0.1.0
 * @category models
 */
export interface HtmlOptions {
  /** Shows outputs, reasons, comments and messages of errors, without what looks like a key. Default false. */
  readonly content?: boolean | undefined
  /** The most characters of one content. Default 2,000. */
  readonly maxCharacters?: number | undefined
  /** The most cases, those with the lowest scores. Default 200. */
  readonly maxCases?: number | undefined
  /** Default: the name of the experiment. */
  readonly title?: string | undefined
}

const style = `${TraceStyle.css}
code, .content { overflow-wrap: anywhere; }
.badge { white-space: normal; overflow-wrap: anywhere; }
.scores span { overflow-wrap: anywhere; }
.scores .facts { grid-column: 1 / -1; }
.scores .mean { fill: var(--text); }
.scores .range { fill: var(--agent); opacity: 0.45; }
.content li { padding-block: 2px; overflow-wrap: anywhere; }
.cases > li { padding: 6px 0; border-bottom: 1px solid var(--line); }
.cases > li:last-child { border-bottom: 0; }
.cases summary { width: 100%; }
.cases .items { margin: 8px 0 4px 12px; }
`

/** A scale from 0 to 1 with the interval and the mean. */
const scale = ({ interval, mean }: ScoreSummary): Html => {
  const [from, to] = [interval?.lower ?? mean ?? 0, interval?.upper ?? mean ?? 0]
  const at = (value: number) => (value * 1000).toFixed(0)
  return html`<svg viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true" focusable="false"><rect class="track" x="0" y="5" width="1000" height="4"/>${
    mean !== undefined &&
    html`<rect class="range" x="${at(from)}" y="2" width="${at(Math.max(to - from, 0.002))}" height="10"/><rect class="mean" x="${at(Math.min(mean, 0.996))}" y="0" width="4" height="14"/>`
  }</svg>`
}

const variantCard = (
  summary: VariantSummary,
  index: number
): Html => html`<section class="card" aria-labelledby="v${index}">
<h2 id="v${index}"><bdi>${name(summary.variant)}</bdi></h2>
<ol class="bars scores">${summary.scores.map(
  (score) =>
    html`<li><span><bdi>${name(score.scorer)}</bdi></span>${scale(score)}<strong class="took">${ReportWords.percent(score.mean)}</strong><span class="facts">${ReportWords.details(score).join(" · ")}</span></li>`
)}</ol>
<dl class="totals">${ReportWords.totals(summary).map(([what, value]) => html`<div><dt>${what}</dt><dd>${value}</dd></div>`)}</dl>
</section>`

const mostPairs = 50

const pairs = ({ pairs }: VariantComparison): Html | undefined => {
  const changed = pairs.filter(({ baseline, candidate }) => baseline !== candidate)
  return changed.length === 0
    ? undefined
    : html`<details class="content"><summary>${counted(changed.length, "case")} of another score</summary><ul>${changed
        .slice(0, mostPairs)
        .map(
          ({ baseline, candidate, caseId }) =>
            html`<li><bdi>${name(caseId)}</bdi>: ${ReportWords.percent(baseline)} → ${ReportWords.percent(candidate)}</li>`
        )}${changed.length > mostPairs && html`<li>And ${TraceWords.number(changed.length - mostPairs)} more.</li>`}</ul></details>`
}

const comparisons = ({ comparisons }: EvalReport): Html | undefined =>
  comparisons.length === 0
    ? undefined
    : html`<section class="card" aria-labelledby="changes">
<h2 id="changes">What changed</h2>
<ol class="items">${comparisons.map((compared) => {
        const { tone, word } = ReportWords.change(compared)
        return html`<li class="t-${tone}"><p class="row"><span class="badge ${tone}">${word}</span><span class="title"><bdi>${name(compared.candidate)}</bdi> after <bdi>${name(compared.baseline)}</bdi>, by <bdi>${name(compared.scorer)}</bdi></span></p>
<p class="facts">${ReportWords.figures(compared).join(" · ")}</p>${pairs(compared)}${
          compared.unpaired.length > 0 &&
          html`<p class="faint">${counted(compared.unpaired.length, "case")} without a score of both.</p>`
        }</li>`
      })}</ol>
</section>`

type Show = (content: unknown) => Html | undefined

const textOf = (content: unknown): string =>
  typeof content === "string" ? content : (JSON.stringify(content, null, 2) ?? "")

const trialItem = (one: Finished, labels: ReadonlyArray<Label>, show: Show): Html => {
  const { result, trial } = one
  return html`<li class="${result.error === undefined ? "t-plain" : "t-bad"}">
<p class="row"><span class="title"><bdi>${name(trial.variant)}</bdi>${trial.repetition > 1 && ` · ${trial.repetition}`}</span>${result.scores.map(
    ({ error, scorer, value }) =>
      html`<span class="badge ${error !== undefined || value === undefined ? "warn" : value >= 1 ? "good" : value <= 0 ? "bad" : "plain"}"><bdi>${name(scorer)}</bdi> ${ReportWords.percent(value)}</span>`
  )}</p>
<p class="facts">${ReportWords.taken(one).join(" · ")}</p>${ReportLabels.ofTrial(labels, show)}${
    result.error !== undefined &&
    html`<div class="failure"><code>${name(result.error.tag)}</code>${show(result.error.message)}</div>`
  }${result.output !== undefined && show(result.output)}${result.scores.map(
    ({ error, reason, scorer }) =>
      (reason !== undefined || error !== undefined) &&
      html`<div class="content"><bdi>${name(scorer)}</bdi>${error !== undefined && html` failed: <code>${name(error.tag)}</code>`}${show(reason ?? error?.message)}</div>`
  )}
</li>`
}

type LabelsOf = ReadonlyMap<string, ReadonlyArray<Label>>

const caseItem = ({ caseId, mean, trials }: ReportCase, labels: LabelsOf, show: Show): Html =>
  html`<li><details><summary><span class="row"><span class="title"><bdi>${name(caseId)}</bdi></span><span class="took">${ReportWords.percent(mean)}</span>${
    trials.some(({ result }) => result.error !== undefined) && html`<span class="badge bad">failed</span>`
  }</span></summary>
<ol class="items">${trials.map((one) => trialItem(one, labels.get(keyOf(one.trial)) ?? [], show))}</ol></details></li>`

const notice = ({ results }: EvalReport): Html | undefined =>
  results.missing === 0
    ? undefined
    : html`<section class="card notice" aria-labelledby="missing">
<h2 id="missing">This experiment is not whole</h2>
<p>${counted(results.missing, "trial has", "trials have")} no result${results.isOverBudget && ": its budget is spent"}.</p>
</section>`

const about = ({ results }: EvalReport): string => {
  const { createdAt, dataset, id, repetitions } = results.header
  return [
    Excerpt.time(createdAt),
    `run ${name(id)}`,
    `${counted(dataset.cases, "case")} of ${name(dataset.name)} ${name(dataset.version)}`,
    ...(repetitions === 1 ? [] : [`${repetitions} repetitions`])
  ].join(" · ")
}

/** Writes a page. */
export const print = (report: EvalReport, options: HtmlOptions = {}): string => {
  const { labels, name: of } = report.results.header
  const title = options.title ?? name(of)
  const most = count(options.maxCharacters, 2000, 0)
  const show: Show = (content) =>
    options.content === true && content !== undefined
      ? html`<pre>${Excerpt.ends(SecretText.redact(textOf(content)), most)}</pre>`
      : undefined
  const cases = report.cases.slice(0, count(options.maxCases, 200, 0))
  const labelsOf = Labels.byTrial(report.results.labels)
  const body = html`<a class="skip" href="#main">Skip to the report</a>
<header>
<h1><bdi>${title}</bdi></h1>
<p class="faint">${about(report)}</p>
${Object.entries(labels).length > 0 && html`<p class="row">${Object.entries(labels).map(([key, value]) => html`<span class="badge"><bdi>${name(key, 40)}</bdi> <bdi>${name(value, 40)}</bdi></span>`)}</p>`}
</header>
<main id="main">
${notice(report)}
${report.variants.map(variantCard)}
${comparisons(report)}
${ReportLabels.section(report.labelled)}
<section class="card" aria-labelledby="cases">
<h2 id="cases">Cases</h2>
<p class="faint">Those with the lowest scores first.</p>
<ol class="cases">${cases.map((one) => caseItem(one, labelsOf, show))}</ol>
${report.cases.length > cases.length && html`<p class="faint">${counted(report.cases.length - cases.length, "more case is", "more cases are")} not shown.</p>`}
</section>
</main>
<footer><p>Scores are from 0 to 100 %.${options.content !== true && " Outputs, reasons and comments are hidden."} Intervals are bootstraps over cases; a change has p below 0.05 in a paired test.</p></footer>`
  return TraceMarkup.page({ title, style, body })
}
