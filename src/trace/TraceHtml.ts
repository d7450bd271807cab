/**
 * Writes traces as pages.
 *
 * @private
 * @since 0.1.0
 */
import * as Count from "../internal/Count.js"
import * as Excerpt from "../internal/text/Excerpt.js"
import * as TraceBars from "./TraceBars.js"
import type { Reveal } from "./TraceContent.js"
import type { Html } from "./TraceMarkup.js"
import * as TraceMarkup from "./TraceMarkup.js"
import type * as Model from "./TraceModel.js"
import * as TracePlaces from "./TracePlaces.js"
import * as TraceSections from "./TraceSections.js"
import * as TraceStyle from "./TraceStyle.js"
import * as TraceWords from "./TraceWords.js"

const { html } = TraceMarkup
const { counted, name } = TraceWords

/**
 * How to write a trace as a page.
 *
 * @since 0.1.0
 * @category models
 */
export interface HtmlOptions {
  /** Shows contents, without what looks like a key: all of them or these kinds. Default false: types and sizes. */
  readonly content?: Reveal | undefined
  /** The most characters of one content. Default 10,000. All contents together take 500 times as many at most. */
  readonly maxCharacters?: number | undefined
  /** The most items of all runs. Default 2,000. */
  readonly maxItems?: number | undefined
  /** Shows the nodes of graphs. Default false. */
  readonly nodes?: boolean | undefined
  /** The title of the page. Default: the name of the agent. */
  readonly title?: string | undefined
}

const mostIssues = 50

const issues = ({ issues }: Model.Trace, places: TracePlaces.Places): Html | undefined =>
  issues.length === 0
    ? undefined
    : html`<section class="card notice" aria-labelledby="issues">
<h2 id="issues">This trace is not whole</h2>
<ul>${issues.slice(0, mostIssues).map((each) => {
        const place = each.runId === undefined ? undefined : places.runs.get(each.runId)
        const of =
          each.runId === undefined
            ? undefined
            : place === undefined
              ? html`<bdi>${name(each.runId)}</bdi>: `
              : html`<a href="#r${place.index}"><bdi>${name(place.run.agent)}</bdi></a>: `
        return html`<li>${of}${TraceWords.issue(each)}</li>`
      })}${issues.length > mostIssues && html`<li>And ${TraceWords.number(issues.length - mostIssues)} more.</li>`}</ul>
</section>`

const mostFailures = 100

const failures = ({ failures }: TracePlaces.Places): Html | undefined =>
  failures.length === 0
    ? undefined
    : html`<section class="card" aria-labelledby="errors">
<h2 id="errors">${counted(failures.length, "error")}</h2>
<ol class="items">${failures.slice(0, mostFailures).map(
        ({ anchor, failure, title, tone }) => html`<li class="t-${tone}">
<p class="row"><a class="title" href="#${anchor}"><bdi>${title}</bdi></a> ${TraceSections.code(failure)}</p>
${failure.summary !== undefined && html`<p>${failure.summary}</p>`}${failure.hint !== undefined && html`<p class="faint">Hint: <bdi>${failure.hint}</bdi></p>`}
</li>`
      )}</ol>${
        failures.length > mostFailures &&
        html`<p class="faint">And ${TraceWords.number(failures.length - mostFailures)} more.</p>`
      }
</section>`

/** The runs as a list of links, if there are several. */
const contents = ({ order }: TracePlaces.Places): Html | undefined =>
  order.length < 2
    ? undefined
    : html`<nav aria-label="Runs"><div class="card"><h2>Runs</h2><ol class="tree">${order.map(
        ({ depth, index, run }) =>
          html`<li class="d${Math.min(depth, 6)}"><span class="row"><a href="#r${index}"><bdi>${name(run.agent)}</bdi></a>${TraceSections.state(run)}<span class="faint">${TraceWords.duration(run.durationMs)}</span></span></li>`
      )}</ol></div></nav>`

const hidden: Html = html`<p>Contents are hidden: the page shows names, types, sizes and times.</p>`

/** Writes a page. Takes no stack for nested runs. */
export const print = (trace: Model.Trace, options: HtmlOptions = {}): string => {
  const places = TracePlaces.make(trace, {
    maxItems: Count.count(options.maxItems, 2000, 0),
    nodes: options.nodes === true
  })
  const [first] = trace.runs
  const agents = first === undefined ? "no run" : name(first.agent)
  const title =
    options.title ?? `Trace of ${agents}${trace.runs.length > 1 ? ` and ${trace.runs.length - 1} more` : ""}`
  const reveal = options.content ?? false
  const isHidden = reveal === false || (typeof reveal === "object" && reveal.length === 0)
  const show = TraceSections.contents(reveal, Count.count(options.maxCharacters, 10_000, 0))
  const body = html`<a class="skip" href="#main">Skip to the trace</a>
<header>
<h1><bdi>${title}</bdi></h1>
${first !== undefined && html`<p class="faint">Begun ${Excerpt.time(first.startedAt)}</p>`}
</header>
${contents(places)}
<main id="main">
${issues(trace, places)}
${TraceBars.section(places)}
${failures(places)}
${places.order.map((place) => TraceSections.run(place, places, show))}
${
  places.omitted > 0 &&
  html`<p class="card">${counted(places.omitted, "more item is", "more items are")} not shown.</p>`
}
</main>
<footer>${isHidden && hidden}<p>Texts that look like keys are removed.</p></footer>`
  return TraceMarkup.page({ title, style: TraceStyle.css, body })
}
