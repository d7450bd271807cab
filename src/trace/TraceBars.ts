/**
 * Draws what took time in a trace as bars over time.
 *
 * @private
 * @since 0.1.0
 */
import * as Excerpt from "../internal/text/Excerpt.js"
import type { Html } from "./TraceMarkup.js"
import { html } from "./TraceMarkup.js"
import type { ItemPlace, Places, RunPlace } from "./TracePlaces.js"
import * as TraceWords from "./TraceWords.js"

const most = 400

interface Bar {
  readonly anchor: string
  readonly kind: string
  readonly title: string
  readonly tone: TraceWords.Tone
  readonly depth: number
  readonly from: number
  readonly millis: number
  /** What it says that it took: a tool does not count what it waits for approval. */
  readonly took: number
}

const runBar = ({ depth, index, run }: RunPlace): Bar => ({
  anchor: `r${index}`,
  kind: "run",
  title: TraceWords.name(run.agent),
  tone: run.state === "failed" ? "bad" : "plain",
  depth,
  from: run.startedAt,
  millis: run.durationMs,
  took: run.durationMs
})

const itemBar = ({ index, item, words }: ItemPlace, depth: number): ReadonlyArray<Bar> => {
  const { durationMs, kind, startedAt, title, tone } = words
  if (startedAt === undefined || durationMs === undefined || kind === "agent" || kind === "handoff") return []
  const millis = item._tag === "ToolCall" ? Math.max(durationMs, (item.endedAt ?? 0) - item.at) : durationMs
  return [{ anchor: `i${index}`, kind, title, tone, depth: depth + 1, from: startedAt, millis, took: durationMs }]
}

/** A place from 0 to 1,000 with one digit behind the point. */
const scaled = (value: number, whole: number): number =>
  whole > 0 && value > 0 ? Math.round(Math.min(1, value / whole) * 10_000) / 10 : 0

const row = (bar: Bar, start: number, whole: number): Html => {
  const took = TraceWords.duration(bar.took)
  const x = Math.min(996, scaled(bar.from - start, whole))
  const width = Math.max(4, Math.min(1000 - x, scaled(bar.millis, whole)))
  const from = TraceWords.duration(Math.max(0, bar.from - start))
  return html`<li class="k-${bar.kind} t-${bar.tone}">
<a class="d${Math.min(bar.depth, 4)}" href="#${bar.anchor}"><span class="faint">${bar.kind}</span> <bdi>${bar.title}</bdi></a>
<svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="${`begins after ${from}, takes ${took}`}"><rect class="track" x="0" y="5" width="1000" height="4"></rect><rect class="bar" x="${x}" y="1" width="${width}" height="12"></rect></svg>
<span class="took">${took}</span>
</li>
`
}

/** The bars of runs and of what took time in them, by their begin; `undefined` if nothing did. */
export const section = ({ order }: Places): Html | undefined => {
  const bars: Array<Bar> = []
  for (const place of order) {
    bars.push(runBar(place))
    for (const item of place.items) bars.push(...itemBar(item, place.depth))
  }
  const timed = bars
    .filter(({ from, millis }) => Number.isFinite(from) && Number.isFinite(millis))
    .sort((a, b) => a.from - b.from)
    .slice(0, most)
  if (timed.length === 0) return undefined
  const start = timed.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY)
  const end = timed.reduce((last, { from, millis }) => Math.max(last, from + millis), start)
  return html`<section class="card" aria-labelledby="timeline">
<h2 id="timeline">Timeline</h2>
<p class="faint">${TraceWords.duration(end - start)} from ${Excerpt.time(start)}. A model call begins where its step does, or where the one before it ended.</p>
<ol class="bars">${timed.map((bar) => row(bar, start, end - start))}</ol>
${bars.length > most && html`<p class="faint">The first ${most} of them.</p>`}
</section>`
}
