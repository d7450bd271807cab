/**
 * Makes traces of events: sorts them into runs, folds each, and puts inner runs into outer ones.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { AgentEvent } from "../domain/AgentEvent.js"
import type { RunId } from "../domain/Ids.js"
import * as TraceCalls from "./TraceCalls.js"
import * as TraceFold from "./TraceFold.js"
import type * as Model from "./TraceModel.js"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

type IssueCounts = Map<Model.Issue["kind"], number>

const isEvent = Schema.is(AgentEvent)

const tags: ReadonlySet<unknown> = new Set(AgentEvent.members.flatMap(({ fields }) => fields._tag.literals))

const isStranger = Schema.is(
  Schema.Struct({ _tag: Schema.String, runId: Schema.String, seq: Schema.Number, at: Schema.Number })
)

/** Events are read from files, too, and a getter or a proxy may throw. */
const check = (value: unknown): AgentEvent | "malformed" | "unknown-event" => {
  try {
    if (isEvent(value) && Number.isFinite(value.seq) && Number.isFinite(value.at)) return value
    return isStranger(value) && !tags.has(value._tag) ? "unknown-event" : "malformed"
  } catch {
    return "malformed"
  }
}

interface Gathered {
  readonly events: Array<AgentEvent>
  isSorted: boolean
}

const gather = (events: Iterable<unknown>, add: (kind: Model.Issue["kind"]) => void): Map<RunId, Gathered> => {
  const runs = new Map<RunId, Gathered>()
  for (const value of events) {
    const event = check(value)
    if (typeof event === "string") {
      add(event)
      continue
    }
    let run = runs.get(event.runId)
    if (run === undefined) {
      run = { events: [], isSorted: true }
      runs.set(event.runId, run)
    }
    const last = run.events.at(-1)
    if (last !== undefined && event.seq <= last.seq) run.isSorted = false
    run.events.push(event)
  }
  return runs
}

const fold = ({ events, isSorted }: Gathered): TraceFold.Folded | undefined => {
  const fold = new TraceFold.RunFold()
  if (isSorted) {
    for (const event of events) fold.push(event)
    return fold.result()
  }
  const seen = new Set<number>()
  const once = events.filter(({ seq }) => !seen.has(seq) && seen.add(seq))
  if (once.length < events.length) fold.count("duplicate", events.length - once.length)
  const late = once.filter(({ seq }, index) => index > 0 && seq < (once[index - 1] as AgentEvent).seq).length
  if (late > 0) {
    fold.count("out-of-order", late)
    once.sort((a, b) => a.seq - b.seq)
  }
  for (const event of once) fold.push(event)
  return fold.result()
}

interface Draft extends Mutable<Omit<Model.Run, "items">> {
  items: ReadonlyArray<Model.Item>
  inner: Array<Draft>
}

/** The run around each run: the one that delegated to it, or that its events name. A run inside of itself has none. */
const outers = (drafts: ReadonlyMap<RunId, Draft>, add: (kind: Model.Issue["kind"], runId: RunId) => void) => {
  const outer = new Map<RunId, RunId>()
  for (const draft of drafts.values()) if (draft.parentRunId !== undefined) outer.set(draft.runId, draft.parentRunId)
  for (const draft of drafts.values()) {
    for (const item of draft.items) {
      if (item._tag === "SubRun" && !outer.has(item.runId)) outer.set(item.runId, draft.runId)
    }
  }
  const settled = new Set<RunId>()
  for (const start of drafts.keys()) {
    const path = new Set<RunId>()
    let runId: RunId | undefined = start
    while (runId !== undefined && !settled.has(runId)) {
      if (path.has(runId)) {
        add("cycle", runId)
        outer.delete(runId)
        break
      }
      path.add(runId)
      runId = outer.get(runId)
    }
    for (const each of path) settled.add(each)
  }
  return outer
}

/** Puts the inner runs among the items: at their delegation, or else where they began. */
const place = (draft: Draft, add: (kind: Model.Issue["kind"], runId: RunId) => void): void => {
  const inner = new Map(draft.inner.map((run) => [run.runId, run]))
  const named = draft.items.map((item): Model.Item => {
    if (item._tag !== "SubRun") return item
    const run = inner.get(item.runId)
    inner.delete(item.runId)
    if (run === undefined) add("no-events", item.runId)
    return run === undefined ? item : { ...item, run }
  })
  const others = Array.from(inner.values()).sort((a, b) => a.startedAt - b.startedAt)
  const items: Array<Model.Item> = []
  let next = 0
  const take = (until: number) => {
    for (let run = others[next]; run !== undefined && run.startedAt < until; run = others[++next]) {
      const { agent, runId, startedAt } = run
      items.push({ _tag: "SubRun", at: startedAt, seq: -1, runId, agent, handoff: false, run })
    }
  }
  for (const item of named) {
    take(item.at)
    items.push(item)
  }
  take(Number.POSITIVE_INFINITY)
  draft.items = items
  draft.own = { ...draft.own, subRuns: items.filter(({ _tag }) => _tag === "SubRun").length }
}

/** From the outside in, without recursion: runs may be nested as deep as their events say. */
const ordered = (roots: ReadonlyArray<Draft>): ReadonlyArray<Draft> => {
  const all = roots.slice()
  for (let at = 0; at < all.length; at++) for (const run of (all[at] as Draft).inner) all.push(run)
  return all
}

export interface Options {
  readonly issues?: ReadonlyArray<Model.Issue> | undefined
}

/** Makes a trace of values that should be events. Never throws; what is wrong is an issue. */
export const make = (events: Iterable<unknown>, options: Options = {}): Model.Trace => {
  const counts: IssueCounts = new Map()
  const issues: Array<Model.Issue> = []
  const add = (kind: Model.Issue["kind"], runId: RunId) => void issues.push({ kind, runId, count: 1 })
  const drafts = new Map<RunId, Draft>()
  for (const [runId, gathered] of gather(events, (kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1))) {
    const folded = fold(gathered)
    if (folded === undefined) continue
    for (const [kind, count] of folded.issues) issues.push({ kind, runId, count })
    drafts.set(runId, { ...folded.run, total: folded.run.own, inner: [] })
  }
  const outer = outers(drafts, add)
  const roots: Array<Draft> = []
  for (const draft of drafts.values()) {
    const around = outer.get(draft.runId)
    const parent = around === undefined ? undefined : drafts.get(around)
    if (parent !== undefined) parent.inner.push(draft)
    else {
      if (draft.parentRunId !== undefined && !drafts.has(draft.parentRunId)) add("no-parent", draft.runId)
      roots.push(draft)
    }
  }
  const all = ordered(roots)
  for (const draft of all) place(draft, add)
  for (const draft of all.toReversed()) {
    draft.total = draft.inner.reduce((sum, run) => TraceCalls.addTotals(sum, run.total), draft.own)
  }
  for (const [kind, count] of counts) issues.push({ kind, count })
  if (drafts.size === 0) issues.push({ kind: "empty", count: 1 })
  return { runs: roots, issues: [...issues, ...(options.issues ?? [])] }
}
