/**
 * Gives each run and each item of a trace its place on a page, within bounds.
 *
 * @private
 * @since 0.1.0
 */
import type { RunId } from "../domain/Ids.js"
import * as ItemWords from "./ItemWords.js"
import type * as Model from "./TraceModel.js"
import * as TraceWords from "./TraceWords.js"

/** An item with its number on the page. */
export interface ItemPlace {
  readonly index: number
  readonly item: Model.Item
  readonly words: TraceWords.Described
}

/** A run with its number on the page, and the number of the item that it is. */
export interface RunPlace {
  readonly index: number
  readonly depth: number
  readonly run: Model.Run
  readonly within?: number | undefined
  readonly items: ReadonlyArray<ItemPlace>
}

/** An error with the place where it happened. */
export interface FailurePlace {
  readonly anchor: string
  readonly title: string
  readonly tone: TraceWords.Tone
  readonly failure: Model.Failure
}

export interface Places {
  /** Outer runs before inner ones. */
  readonly order: ReadonlyArray<RunPlace>
  readonly runs: ReadonlyMap<RunId, RunPlace>
  readonly failures: ReadonlyArray<FailurePlace>
  /** Items beyond the bound. */
  readonly omitted: number
}

interface Waiting {
  readonly run: Model.Run
  readonly depth: number
  readonly within?: number | undefined
}

/** Takes no stack for nested runs. */
export const make = (trace: Model.Trace, options: { readonly maxItems: number; readonly nodes: boolean }): Places => {
  const order: Array<RunPlace> = []
  const runs = new Map<RunId, RunPlace>()
  const failures: Array<FailurePlace> = []
  const waiting: Array<Waiting> = trace.runs.map((run) => ({ run, depth: 0 })).reverse()
  let index = 0
  let omitted = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { depth, run, within } = next
    const items: Array<ItemPlace> = []
    const inner: Array<Waiting> = []
    if (run.error !== undefined) {
      const title = `run of ${TraceWords.name(run.agent)}`
      failures.push({ anchor: `r${order.length}`, title, tone: "bad", failure: run.error })
    }
    for (const item of run.items) {
      if (item._tag === "Node" && !options.nodes) continue
      if (index >= options.maxItems) {
        omitted += 1
        continue
      }
      const words = ItemWords.describe(item)
      const { failure, kind, title, tone } = words
      if (failure !== undefined) failures.push({ anchor: `i${index}`, title: `${kind} ${title}`, tone, failure })
      if (item._tag === "SubRun" && item.run !== undefined)
        inner.push({ run: item.run, depth: depth + 1, within: index })
      items.push({ index, item, words })
      index += 1
    }
    const place: RunPlace = { index: order.length, depth, run, within, items }
    order.push(place)
    runs.set(run.runId, place)
    waiting.push(...inner.reverse())
  }
  return { order, runs, failures, omitted }
}
