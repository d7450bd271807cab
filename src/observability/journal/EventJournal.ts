/**
 * The numbers of the events of durable runs.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"

/**
 * The numbers of the events of a durable run, by their place in it.
 *
 * @category models
 */
export interface EventJournal {
  /** Reads what is known of a run. Before the run begins. */
  readonly open: (runId: RunId) => Effect.Effect<void>
  /** Where an event of a run belongs. `known`: it was kept before, with that number and time. */
  readonly locate: (
    runId: RunId,
    tag: AgentEvent["_tag"]
  ) => {
    readonly place?: string | undefined
    readonly known?: { readonly seq: number; readonly at: number } | undefined
  }
  /** The number of a new event of a run. */
  readonly next: (runId: RunId) => number
}
