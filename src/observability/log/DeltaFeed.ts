/**
 * Shows what runs emit to readers in other processes before it is in the log.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { AgentEvent } from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"

/**
 * None of it fails: a reader who gets nothing here gets the events of the log, and each text with its message.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Which of these runs somebody reads in another process. */
  readonly wanted: (runIds: ReadonlyArray<RunId>) => Effect.Effect<ReadonlyArray<RunId>>
  /** Shows events of a run, in order. False if they could not be kept. */
  readonly put: (runId: RunId, events: ReadonlyArray<AgentEvent>) => Effect.Effect<boolean>
  /** Removes what was shown of a run: all of it is in the log. */
  readonly clear: (runId: RunId) => Effect.Effect<void>
  /** Has the run shown for so many milliseconds. */
  readonly want: (runId: RunId, millis: number) => Effect.Effect<void>
  /** What is shown of a run from a number on. */
  readonly read: (runId: RunId, from: number) => Effect.Effect<ReadonlyArray<AgentEvent>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class DeltaFeed extends Context.Tag("effect-lexigram/observability/log/DeltaFeed")<DeltaFeed, Service>() {}
