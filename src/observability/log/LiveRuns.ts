/**
 * The runs of this process whose events are not all in the log yet, so that a reader of the log sees them as well.
 *
 * @private
 * @since 0.1.0
 */
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"

/**
 * What a run has emitted: the events from a number on that the log may lack, in order, and the number of the last event
 * of all.
 *
 * @category models
 */
export interface Emitted {
  readonly events: ReadonlyArray<AgentEvent>
  readonly last: number
}

/**
 * Reads what a run has emitted.
 *
 * @category models
 */
export type Source = (runId: RunId, from: number) => Emitted

/**
 * @category models
 */
export interface LiveRuns {
  /** Adds a run until the returned function is called. */
  readonly add: (runId: RunId, source: Source) => () => void
  /** `undefined` for a run that does not run in this process. */
  readonly read: (runId: RunId, from: number) => Emitted | undefined
}

/**
 * @category constructors
 */
export const make = (): LiveRuns => {
  const sources = new Map<RunId, Source>()
  return {
    add: (runId, source) => {
      sources.set(runId, source)
      return () => {
        if (sources.get(runId) === source) sources.delete(runId)
      }
    },
    read: (runId, from) => sources.get(runId)?.(runId, from)
  }
}

/**
 * Written events and those the log may lack, in order and each once. What was written after `emitted` was read is left
 * out, because deltas before it may be missing.
 *
 * @category combinators
 */
export const merge = (
  written: ReadonlyArray<AgentEvent>,
  emitted: Emitted,
  limit: number = Number.POSITIVE_INFINITY
): ReadonlyArray<AgentEvent> => {
  const merged: Array<AgentEvent> = []
  let next = 0
  for (const event of written) {
    if (event.seq > emitted.last) break
    for (; next < emitted.events.length && (emitted.events[next] as AgentEvent).seq < event.seq; next++) {
      merged.push(emitted.events[next] as AgentEvent)
    }
    if (emitted.events[next]?.seq === event.seq) next++
    merged.push(event)
  }
  for (; next < emitted.events.length; next++) merged.push(emitted.events[next] as AgentEvent)
  return merged.length > limit ? merged.slice(0, limit) : merged
}

/** The most deltas that are kept of a run, so that the text of a running call takes bounded memory. */
export const MOST_DELTAS = 2048

/**
 * The deltas of the text that a run is writing. Past `MOST_DELTAS` the older half is dropped; a reader who lacks those
 * gets none, and the text whole with its message.
 */
export class Deltas {
  private events: Array<AgentEvent> = []
  private first: number | undefined

  push(event: AgentEvent): void {
    if (this.events.length >= MOST_DELTAS) {
      this.events = this.events.slice(MOST_DELTAS / 2)
      this.first = this.events[0]?.seq
    }
    this.events.push(event)
  }

  /** Those from a number on; none if older ones were dropped that the reader lacks. */
  from(seq: number): ReadonlyArray<AgentEvent> {
    if (this.first !== undefined && seq < this.first) return []
    return this.events.filter((event) => event.seq >= seq)
  }

  clear(): void {
    if (this.events.length === 0) return
    this.events = []
    this.first = undefined
  }
}
