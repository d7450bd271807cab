/**
 * Writes the runs of a page: what each took, its plan, its search tree and its items.
 *
 * @private
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as TraceContent from "./TraceContent.js"
import type { Html } from "./TraceMarkup.js"
import { html, joined } from "./TraceMarkup.js"
import type * as Model from "./TraceModel.js"
import type { ItemPlace, Places, RunPlace } from "./TracePlaces.js"
import * as TraceWords from "./TraceWords.js"

const { counted, name, number } = TraceWords

/** A content of so many characters is open from the begin. */
const short = 300

/** Shows contents with their labels, or what they are. */
export type Show = (parts: ReadonlyArray<TraceWords.Part>) => Html

/** Shows contents of these kinds until their characters are used up: so many each, and 500 times as many in all. */
export const contents = (reveal: TraceContent.Reveal, most: number): Show => {
  let left = 500 * most
  const shown = ({ content, label }: TraceWords.Part): Html => {
    const text = TraceContent.textOf(content, Math.min(most, left))
    left = Math.max(0, left - text.length)
    const body = html`<summary>${label} <span class="faint">${TraceContent.shapeOf(content)}</span></summary><pre dir="auto">${text}</pre>`
    return text.length <= short
      ? html`<details class="content" open>${body}</details>`
      : html`<details class="content">${body}</details>`
  }
  return (parts) => {
    const [shapes, open] = Arr.partition(parts, ({ content }) => TraceContent.isRevealed(content, reveal))
    const line = shapes.map(
      ({ content, label }) => html`<span><span class="faint">${label}:</span> ${TraceContent.shapeOf(content)}</span>`
    )
    return html`${line.length > 0 && html`<p class="content row">${line}</p>`}${open.map(shown)}`
  }
}

const tones = { completed: "good", failed: "bad", interrupted: "bad", open: "warn" } as const

/** How a run ended, as a badge. */
export const state = (run: Model.Run): Html =>
  html`<span class="badge ${tones[run.state]}">${TraceWords.state(run)}</span>`

/** Class and code of an error. */
export const code = ({ code, tag }: Model.Failure): Html =>
  html`<span class="mono"><bdi>${tag}</bdi>${code !== undefined && ` ${code}`}</span>`

const failed = (failure: Model.Failure, show: Show): Html => html`<div class="failure">
<p class="row">${code(failure)} ${failure.summary !== undefined && html`<span>${failure.summary}</span>`}</p>
${failure.hint !== undefined && html`<p class="faint">Hint: <bdi>${failure.hint}</bdi></p>`}
${show([{ label: "message", content: failure.message }])}
</div>`

const cell = (label: string, value: string, more?: string | undefined): Html =>
  html`<div><dt>${label}</dt><dd>${value}${more !== undefined && more !== "" && html`<small>${more}</small>`}</dd></div>`

const totals = ({ attempts, durationMs, total }: Model.Run): Html => {
  const [tokens = "not reported", ...more] = TraceWords.tokens(total.usage)
  const calls = [
    ...(total.cutOffCalls > 0 ? [`${number(total.cutOffCalls)} cut off`] : []),
    ...(total.cachedCalls > 0 ? [`${number(total.cachedCalls)} answered by a cache`] : []),
    ...(total.retries > 0 ? [counted(total.retries, "retry", "retries")] : [])
  ]
  return html`<dl class="totals">
${cell("Duration", TraceWords.duration(durationMs), attempts > 1 ? counted(attempts, "attempt") : "")}
${cell("Model calls", number(total.modelCalls), calls.join(", "))}
${cell("Tokens, in → out", tokens, more.join(", "))}
${cell("Cost", ...TraceWords.cost(total))}
${cell("Tool calls", number(total.toolCalls), total.failedToolCalls > 0 ? `${number(total.failedToolCalls)} failed` : "")}
${total.subRuns > 0 && cell("Inner runs", number(total.subRuns))}
</dl>`
}

const statuses = { pending: "plain", completed: "good", failed: "bad", skipped: "warn" } as const

const mostSteps = 200

const plan = ({ plan }: Model.Run, show: Show): Html | undefined =>
  plan.length === 0
    ? undefined
    : html`<div class="part"><h3>Plan of ${counted(plan.length, "step")}</h3><ol class="tree">${plan
        .slice(0, mostSteps)
        .map(
          ({ dependsOn, description, id, status, tool }) => html`<li>
<span class="row"><span class="badge ${statuses[status]}">${status}</span><span class="title"><bdi>${name(id)}</bdi></span>${
            tool !== undefined && html`<span class="facts">by <bdi>${name(tool)}</bdi></span>`
          }${
            dependsOn !== undefined &&
            dependsOn.length > 0 &&
            html`<span class="facts">after ${joined(
              dependsOn.slice(0, 20).map((id) => html`<bdi>${name(id)}</bdi>`),
              ", "
            )}</span>`
          }</span>
${show([{ label: "description", content: description }])}
</li>`
        )}</ol>${plan.length > mostSteps && html`<p class="faint">The first ${mostSteps} of them.</p>`}</div>`

const mostNodes = 300

/** Nodes below their parents: the ids of the outermost first, without recursion. */
const search = ({ search }: Model.Run, show: Show): Html | undefined => {
  if (search.length === 0) return undefined
  const nodes = new Map(search.map((node) => [node.id, node]))
  const waiting: Array<readonly [number, number]> = []
  for (const { id, parent } of search.toReversed()) if (parent === undefined) waiting.push([id, 0])
  const lines: Array<Html> = []
  for (let next = waiting.pop(); next !== undefined && lines.length < mostNodes; next = waiting.pop()) {
    const [id, depth] = next
    const node = nodes.get(id)
    if (node === undefined) continue
    for (const child of node.children.toReversed()) waiting.push([child, depth + 1])
    const [title = "", ...facts] = TraceWords.searchNode(node)
    lines.push(html`<li class="d${Math.min(depth, 6)}">
<span class="row"><span class="faint">${id}</span><span class="title"><bdi>${title}</bdi></span><span class="facts">${facts.join(" · ")}</span></span>
${node.text !== undefined && show([{ label: "text", content: node.text }])}
</li>`)
  }
  return html`<div class="part"><h3>Search tree of ${counted(search.length, "node")}</h3><ol class="tree">${lines}</ol>${
    search.length > lines.length && html`<p class="faint">The first ${lines.length} of them.</p>`
  }</div>`
}

const itemOf = (
  { index, item, words }: ItemPlace,
  { run, step }: { readonly run: Model.Run; readonly step: number | undefined },
  places: Places,
  show: Show
): Html => {
  const { durationMs, facts, failure, kind, parts, startedAt, title, tone } = words
  const inner = item._tag === "SubRun" ? places.runs.get(item.runId) : undefined
  const named = html`<bdi>${title}</bdi>`
  const said = [...TraceWords.aside(item, step), ...facts]
  return html`<li id="i${index}" class="k-${kind} t-${tone}">
<div class="row"><span class="at">+${TraceWords.duration(Math.max(0, (startedAt ?? item.at) - run.startedAt))}</span><span class="badge kind">${kind}</span>${
    title !== "" &&
    html`<span class="title">${inner === undefined ? named : html`<a href="#r${inner.index}">${named}</a>`}</span>`
  }${said.length > 0 && html`<span class="facts"><bdi>${said.join(" · ")}</bdi></span>`}${
    durationMs !== undefined && html`<span class="took">${TraceWords.duration(durationMs)}</span>`
  }</div>
${show(parts)}${failure !== undefined && failed(failure, show)}
</li>
`
}

/** Items in lists, with a heading for each step. */
const itemsOf = ({ items, run }: RunPlace, places: Places, show: Show): ReadonlyArray<Html> => {
  const groups: Array<Html> = []
  let rows: Array<Html> = []
  let step: number | undefined
  const close = () => {
    if (rows.length > 0) groups.push(html`<ol class="items">${rows}</ol>`)
    rows = []
  }
  for (const place of items) {
    if (place.item._tag === "Step") {
      close()
      step = place.item.step
      groups.push(html`<h3 class="step" id="i${place.index}"><bdi>${place.words.title}</bdi></h3>`)
    } else rows.push(itemOf(place, { run, step }, places, show))
  }
  close()
  return groups
}

const openRuns = 20

/** A run. Beyond the first ones they are closed. */
export const run = (place: RunPlace, places: Places, show: Show): Html => {
  const { index, run, within } = place
  const { answer, error, input, model, output, provider, runId, session, strategy, user } = run
  const by = [strategy, [provider, model].filter((part) => part !== undefined).join("/")].filter((part) => part !== "")
  const head = html`<summary><h2 id="r${index}">Run of <bdi>${name(run.agent)}</bdi></h2></summary>
<p class="row">${state(run)}<span class="faint"><bdi>${by.map((part) => name(part)).join(", ")}</bdi></span>${
    within !== undefined && html`<a href="#i${within}">in the run around it</a>`
  }</p>
<p class="faint mono"><bdi>${name(runId)}</bdi></p>
${totals(run)}
<div class="about">${show(TraceWords.parts({ user, session, input, answer, output }))}</div>
${error !== undefined && failed(error, show)}
${plan(run, show)}
${search(run, show)}
${itemsOf(place, places, show)}`
  return index < openRuns
    ? html`<details class="card run" open>${head}</details>
`
    : html`<details class="card run">${head}</details>
`
}
