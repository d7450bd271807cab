/**
 * Failures of the database in words of the workflow engine.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { BlobStoreError } from "../../content/ContentError.js"
import type { Reason } from "../../persistence/engine/PersistenceError.js"
import * as SqlFailure from "../../persistence/engine/SqlFailure.js"
import { WorkflowStorageError } from "./WorkflowStorageError.js"

/**
 * @category conversions
 */
export const of =
  (operation: string) =>
  (error: SqlError): WorkflowStorageError =>
    new WorkflowStorageError({
      ...SqlFailure.fields(error),
      operation,
      reason: SqlFailure.describe(error).reason
    })

/** Of a store of blobs. */
const reasons: { readonly [R in BlobStoreError["reason"]]: Reason } = {
  input: "other",
  "too-large": "other",
  full: "full",
  corrupt: "data",
  refused: "refused",
  storage: "unreachable"
}

/**
 * @category conversions
 */
export const ofBlobs =
  (operation: string) =>
  ({ hint, message, reason }: BlobStoreError): WorkflowStorageError =>
    new WorkflowStorageError({
      operation,
      reason: reasons[reason],
      message: `The blobs of runs were not removed: ${message}`,
      hint: hint ?? "Resolve the cause: the next removal tries again"
    })

/**
 * For the operations of an engine, which have no error channel.
 *
 * @category combinators
 */
export const orDie =
  (operation: string) =>
  <A, R>(effect: Effect.Effect<A, SqlError, R>): Effect.Effect<A, never, R> =>
    Effect.catchAll(effect, (error) => Effect.die(of(operation)(error)))

/** Reasons that pass without a change of the program. */
const passing: ReadonlySet<Reason> = new Set(["unreachable", "busy", "full", "read-only", "refused"])

/**
 * Whether the same statement may work later.
 *
 * @category guards
 */
export const isPassing = (error: SqlError): boolean => passing.has(SqlFailure.describe(error).reason)

const isSqlError = (error: unknown): error is SqlError => (error as { readonly _tag?: unknown })._tag === "SqlError"

/**
 * While the database is away, a run tries for as long as a lease, unless it is stopped.
 *
 * @category combinators
 */
export const persistFor =
  (leaseMillis: number) =>
  <A, E>(
    run: { readonly isStopped: boolean },
    effect: Effect.Effect<A, E | SqlError>
  ): Effect.Effect<A, E | SqlError> =>
    Effect.retry(effect, {
      schedule: Schedule.exponential("50 millis").pipe(
        Schedule.union(Schedule.spaced("1 second")),
        Schedule.upTo(leaseMillis)
      ),
      while: (error) => !run.isStopped && isSqlError(error) && isPassing(error)
    })

/**
 * Logs a failure without the text of the driver, which may quote data.
 *
 * @category utils
 */
export const warn = (what: string, { message, reason }: WorkflowStorageError): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(`${what}: ${message}`), { module: "SqlWorkflowEngine", reason })

/**
 * Keeps a background loop alive after a defect of one of its rounds, which is logged.
 *
 * @category combinators
 */
export const survived = <R>(round: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllCause(round, (cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause)
      : Effect.annotateLogs(Effect.logError("The workflow engine goes on after a defect", cause), {
          module: "SqlWorkflowEngine"
        })
  )
