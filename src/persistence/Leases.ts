/**
 * Connections of our own clients for a while, without a scope: a finalizer of a scope costs more than the statements that begin and end a
 * transaction of SQLite. Whoever wraps a client has one without leases, of which `reserve` is asked.
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
 * To be called where nobody can interrupt; `restore` is for the wait.
 *
 * @category models
 */
export type Lend = (
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) => Effect.Effect<Leased, SqlError>

const lenders = new WeakMap<SqlClient.SqlClient, Lend>()

/**
 * @category constructors
 */
export const provide = (client: SqlClient.SqlClient, lend: Lend): void => void lenders.set(client, lend)

/**
 * @category getters
 */
export const of = (client: SqlClient.SqlClient): Lend | undefined => lenders.get(client)
