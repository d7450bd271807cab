/**
 * Writes of durable runs besides the results of their steps: refused once the run goes on in another process.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import type { WorkflowInstance } from "@effect/workflow/WorkflowEngine"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/**
 * @category models
 */
export interface Service {
  /**
   * Makes the write part of a transaction that holds the run, or interrupts if the run belongs to another process by
   * now.
   */
  readonly guard: <A, E, R>(
    instance: WorkflowInstance["Type"],
    write: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | SqlError, R>
}

/**
 * @category tags
 */
export class RunFence extends Context.Tag("effect-lexigram/durable/RunFence")<RunFence, Service>() {}
