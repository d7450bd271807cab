/**
 * Says in reports what people say of outputs, and how far scorers agree with them.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Html } from "../../trace/TraceMarkup.js"
import * as TraceMarkup from "../../trace/TraceMarkup.js"
import * as TraceWords from "../../trace/TraceWords.js"
import type { Measures } from "../Labels.js"
import type { Label } from "../record/ExperimentRecord.js"
import type * as Statistics from "../statistics/Statistics.js"
import type { LabelledScorer } from "./ReportModel.js"
import * as ReportWords from "./ReportWords.js"

const { html } = TraceMarkup
const { counted, name } = TraceWords

/** The most labels of one trial, and the most people of one scorer. */
const most = 20

const figure = (value: Statistics.Result<number>, print: (value: number) => string): string =>
  Either.match(value, { onLeft: () => "none", onRight: print })

const decimals = (value: number): string => value.toFixed(2).replace("-", "−")

/** Percent agreement, kappa and Spearman's correlation; "none" where a measure has no answer. */
export const figures = ({ kappa, percentAgreement, spearman }: Measures): ReadonlyArray<string> => [
  figure(percentAgreement, ReportWords.percent),
  figure(kappa, decimals),
  figure(spearman, decimals)
]

export const amongPeople = ({ agreement }: LabelledScorer): string => figure(agreement.amongPeople, decimals)

const facts = (measures: Measures): string => {
  const [percent, kappa, spearman] = figures(measures)
  return `${counted(measures.outputs, "output")} · alike ${percent} · kappa ${kappa} · Spearman ${spearman}`
}

const persons = ({ agreement }: LabelledScorer): Html | undefined => {
  const { people } = agreement
  return people.length === 0
    ? undefined
    : html`<details class="content"><summary>${counted(people.length, "person", "people")} beside the others</summary><ul>${people
        .slice(0, most)
        .map((person) => html`<li><bdi>${name(person.by)}</bdi>: ${facts(person)}</li>`)}${
        people.length > most && html`<li>And ${TraceWords.number(people.length - most)} more.</li>`
      }</ul></details>`
}

/** How far each scorer agrees with people; nothing without labels. */
export const section = (labelled: ReadonlyArray<LabelledScorer>): Html | undefined =>
  labelled.length === 0
    ? undefined
    : html`<section class="card" aria-labelledby="agreement">
<h2 id="agreement">Agreement with people</h2>
<p class="faint">The scorer beside the mean of the labels of each output.</p>
<ol class="items">${labelled.map(
        (one) => html`<li class="t-plain"><p class="row"><span class="title"><bdi>${name(one.scorer)}</bdi></span></p>
<p class="facts">${facts(one.agreement.scorer)}</p>
<p class="facts">${counted(one.labels, "label")} of ${counted(one.people, "person", "people")} · among people Krippendorff's alpha ${amongPeople(one)}</p>${persons(one)}</li>`
      )}</ol>
</section>`

/** The labels of a trial, with their comments where content is shown. */
export const ofTrial = (
  labels: ReadonlyArray<Label>,
  show: (content: unknown) => Html | undefined
): Html | undefined => {
  const shown = labels.slice(0, most)
  return labels.length === 0
    ? undefined
    : html`<p class="row people">${shown.map(
        ({ by, scorer, value }) =>
          html`<span class="badge"><bdi>${name(by)}</bdi> on <bdi>${name(scorer)}</bdi> ${ReportWords.percent(value)}</span>`
      )}${labels.length > most && html`<span class="faint">And ${TraceWords.number(labels.length - most)} more.</span>`}</p>${shown.map(
        ({ by, comment }) => {
          const content = show(comment)
          return content !== undefined && html`<div class="content"><bdi>${name(by)}</bdi>${content}</div>`
        }
      )}`
}
