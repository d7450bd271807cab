/**
 * Connections of our own clients for a while, without a scope: a finalizer of a scope costs more than the statements
 * that begin and end a transaction of SQLite. Whoever wraps a client has one without leases, of which `reserve` is
 * asked.
 *
 * @internal
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import type * as Effect from "effect/Effect"

/**
 * @category models
 */
export interface Leased extends Connection {
  /** To be called once; undoes what is not committed. */
  readonly release: () => void
}

/**
 * To be asked where nobody can interrupt.
 *
 * @category models
 */
export interface Lender {
  /** `restore` is for the wait. */
  readonly lease: (
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  ) => Effect.Effect<Leased, SqlError>
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
