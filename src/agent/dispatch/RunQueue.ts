/**
 * A queue in front of runs: they wait for their turn, by owner, agent and priority.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { QueueFullError } from "../record/QueueFullError.js"
import type * as QueueStore from "../record/QueueStore.js"
import type { RunError } from "../record/RunError.js"
import type { RunRecord } from "../record/RunRecord.js"
import type { Access, StartRequest } from "../runs/Runs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface EnqueueRequest extends StartRequest {
  /**
   * Orders the runs of one owner, from -1,000 to 1,000; default 0. A run with a priority of 1 more starts as one that
   * was queued one `ageing` earlier. Between owners the turns decide.
   */
  readonly priority?: number | undefined
  /** The run does not start before this time, in milliseconds since the epoch. Default: now. */
  readonly notBefore?: number | undefined
}

/**
 * A queued run belongs to the user of its request, as a run does. Every method may fail with the reason `storage`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Queues a run and returns its record, in the state `queued`. A `runId` that is known gives the known run if owner
   * and request are the same; else it fails with `conflict`. Other failures: `unknown-agent`, `invalid`, and
   * `QueueFullError` if as many runs wait as may.
   */
  readonly enqueue: (request: EnqueueRequest) => Effect.Effect<RunRecord, RunError | QueueFullError>
  /** Like `enqueue`, but waits for a place if the queue is full. */
  readonly enqueueOrWait: (request: EnqueueRequest) => Effect.Effect<RunRecord, RunError>
  /** None if the caller may see no such run, or if it is not in the queue: it has ended, or was never queued. */
  readonly get: (runId: string, access?: Access | undefined) => Effect.Effect<Option.Option<QueueStore.Place>, RunError>
  /** How many runs of the owner wait and go on; for the system that names no user, of all owners. */
  readonly counts: (access?: Access | undefined) => Effect.Effect<QueueStore.Counts, RunError>
  /** Takes a run out of the queue; returns whether it did. One that a process has claimed stays: interrupt it. */
  readonly cancel: (runId: string, access?: Access | undefined) => Effect.Effect<boolean, RunError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class RunQueue extends Context.Tag("effect-lexigram/agent/RunQueue")<RunQueue, Service>() {}
