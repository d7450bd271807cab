/**
 * The seam between a durable layer and the events of its runs.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type { EventJournal } from "./EventJournal.js"

/**
 * Deltas are numbered and not kept, so an attempt that goes on with a run begins above any number that a reader may
 * have: by so much above the last event that is kept.
 *
 * @category constants
 */
export const ATTEMPT_GAP = 1_048_576

/**
 * The events of one durable run and of those that it starts.
 *
 * @category models
 */
export interface Service extends EventJournal {
  /** Whether deltas are wanted. */
  readonly live: boolean
  /** Takes a new event. */
  readonly push: (event: AgentEvent) => void
  readonly settle: () => Effect.Effect<void> | undefined
  /** Runs the whole of the run. `fold` gets the events of recorded steps, which are not emitted again. */
  readonly around: <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    fold: (event: AgentEvent) => void
  ) => Effect.Effect<A, E, R>
}

/**
 * Present around a durable run.
 *
 * @category tags
 */
export class RunJournal extends Ambient.Reference<RunJournal>()("effect-lexigram/observability/RunJournal", {
  defaultValue: (): Service | undefined => undefined
}) {}
