/**
 * Leases of connections of our own clients without a scope: the finalizer of a scope costs more than the statements
 * that begin and end a SQLite transaction. A wrapped client has no lender, so its `reserve` is used instead.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Effect from "effect/Effect"

/**
 * The function with which `Effect.uninterruptibleMask` makes a part of its effect interruptible again.
 *
 * @category models
 */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * @category models
 */
export interface Leased extends Connection {
  /** Must be called once. Rolls back what is not committed. */
  readonly release: () => void
}

/**
 * Must be used uninterruptibly.
 *
 * @category models
 */
export interface Lender {
  /** Only the wait is interruptible. */
  readonly lease: (restore: Restore) => Effect.Effect<Leased, SqlError>
}

const lenders = new WeakMap<SqlClient.SqlClient, Lender>()

/**
 * @category constructors
 */
export const provide = (client: SqlClient.SqlClient, lender: Lender): void => void lenders.set(client, lender)

/**
 * @category getters
 */
export const lenderOf = (client: SqlClient.SqlClient): Lender | undefined => lenders.get(client)
