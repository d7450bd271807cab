/**
 * Transactions on a SQLite pool. A transaction that cannot be committed is rolled back and fails with a typed error.
 *
 * @private
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import type * as SqlitePool from "./SqlitePool.js"

/**
 * @category constructors
 */
export const reserve = (pool: SqlitePool.Pool): Effect.Effect<Connection, SqlError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.tap(pool.lease(restore), (lease) => Effect.addFinalizer(() => Effect.sync(() => lease.release())))
  )

interface Bounds {
  readonly begin: string
  readonly commit: string
  /** Works in any state of the transaction. */
  readonly rollback: string
}

const whole: Bounds = { begin: "BEGIN IMMEDIATE", commit: "COMMIT", rollback: "ROLLBACK" }

const part = (depth: number): Bounds => {
  const name = `effect_sql_${depth}`
  return {
    begin: `SAVEPOINT ${name}`,
    commit: `RELEASE SAVEPOINT ${name}`,
    rollback: `ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`
  }
}

/**
 * @category combinators
 */
export const withTransaction =
  (pool: SqlitePool.Pool, attributes: ReadonlyArray<readonly [string, unknown]>) =>
  <R, E, A>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.useSpan("sql.transaction", { kind: "client", captureStackTrace: false }, (span) =>
        Effect.withFiberRuntime<A, E | SqlError, R>((fiber) => {
          for (const [key, value] of attributes) span.attribute(key, value)
          const clock = Context.get(fiber.currentDefaultServices, Clock.Clock)
          const happened = (what: string) => span.event(`db.transaction.${what}`, clock.unsafeCurrentTimeNanos())
          const context = fiber.currentContext
          const within = pool.leaseOf(context)
          const depth = within === undefined ? 0 : within[1] + 1
          const bounds = within === undefined ? whole : part(depth)

          const on = (connection: Connection): Effect.Effect<A, E | SqlError, R> => {
            const run = (sql: string) => connection.executeUnprepared(sql, [], undefined)
            const undo = Effect.suspend(() => {
              happened("rollback")
              // If this fails, the release of the connection rolls back.
              return Effect.ignore(run(bounds.rollback))
            })
            const body = Effect.locally(
              restore(effect),
              FiberRef.currentContext,
              Context.add(context, SqlClient.TransactionConnection, [connection, depth]).pipe(
                Context.add(Tracer.ParentSpan, span)
              )
            )
            return Effect.zipRight(
              restore(run(bounds.begin)),
              Effect.flatMap(Effect.exit(body), (exit): Effect.Effect<A, E | SqlError> => {
                if (Exit.isFailure(exit)) return Effect.zipRight(undo, exit)
                happened(depth === 0 ? "commit" : "savepoint")
                return Effect.as(
                  Effect.tapError(run(bounds.commit), () => undo),
                  exit.value
                )
              })
            )
          }

          if (within !== undefined) return on(within[0])
          return Effect.flatMap(pool.lease(restore), (lease) =>
            Effect.ensuring(
              on(lease),
              Effect.sync(() => lease.release())
            )
          )
        })
      )
    )
