/**
 * The port that keeps a queue of runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { QueuedRun } from "./QueuedRun.js"
import type { QueueFullError } from "./QueueFullError.js"
import type { RunError } from "./RunError.js"
import type { Access } from "./RunStore.js"

/**
 * The place of a run in its queue.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place {
  readonly run: QueuedRun
  /** `delayed` until its `notBefore`, `waiting` for its turn, or `claimed` by a process, which starts it. */
  readonly state: "delayed" | "waiting" | "claimed"
  /** How many runs of the same owner and agent start before it: counted up to 1,000, and 0 once it is claimed. */
  readonly ahead: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Counts {
  /** Runs that are delayed or wait. */
  readonly waiting: number
  /** Runs that were claimed and have not ended. */
  readonly running: number
}

/**
 * A process that claims runs. Its claims are its own until the lease ends.
 *
 * @since 0.1.0
 * @category models
 */
export interface Worker {
  readonly worker: string
  /** Milliseconds since the epoch. */
  readonly leaseUntil: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ClaimOptions extends Worker {
  readonly now: number
  /** The agents of which the process can run runs. */
  readonly agents: ReadonlyArray<string>
  /** The most claimed runs of all processes. */
  readonly concurrency: number
  /** The most claimed runs of one owner. */
  readonly perOwner: number
  /** The most claimed runs of one agent. */
  readonly perAgent: number
}

/**
 * The owners take turns: a claim takes the run with the lowest rank of the owner whose last claim is the longest ago.
 * An owner that begins to wait has its turn after those that wait already.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a run. A known id with the same fingerprint and owner is not added again, with another one it is the error
   * `conflict`. Of concurrent calls one adds it.
   */
  readonly add: (
    run: QueuedRun,
    options: { readonly now: number; readonly maxWaiting: number }
  ) => Effect.Effect<{ readonly run: QueuedRun; readonly added: boolean }, RunError | QueueFullError>
  /** None if the caller may see no such run, or if the run has left the queue. */
  readonly get: (runId: string, access?: Access | undefined) => Effect.Effect<Option.Option<Place>, RunError>
  /** The runs of one owner; those of all owners for the system that names no user. */
  readonly counts: (access?: Access | undefined) => Effect.Effect<Counts, RunError>
  /**
   * Claims runs whose time has come, at most 16 at once and no more than the limits leave. What it costs does not
   * depend on how many runs wait.
   */
  readonly claim: (options: ClaimOptions) => Effect.Effect<ReadonlyArray<QueuedRun>, RunError>
  /** Takes over claims whose lease has ended, at most 16 at once. */
  readonly takeOver: (
    options: Worker & { readonly now: number; readonly agents: ReadonlyArray<string> }
  ) => Effect.Effect<ReadonlyArray<QueuedRun>, RunError>
  /** Renews the lease of all claims of a process, and returns their ids. */
  readonly renew: (worker: Worker) => Effect.Effect<ReadonlyArray<string>, RunError>
  /** Claims a run that nobody has claimed, as cancelled; returns whether it did. */
  readonly cancel: (runId: string, worker: Worker) => Effect.Effect<boolean, RunError>
  /** Removes a claimed run, which has ended. */
  readonly remove: (runId: string) => Effect.Effect<void, RunError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class QueueStore extends Context.Tag("effect-lexigram/agent/QueueStore")<QueueStore, Service>() {}

/**
 * The most runs that one call claims.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_CLAIM = 16
