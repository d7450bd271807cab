/** A client of `@effect/sql` over a real SQLite in memory: one connection, which belongs to one alone while it is reserved. */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import Database from "libsql"

/** Anything else than one array of plain values would end the process. */
const plain = (params: ReadonlyArray<unknown>): Array<unknown> =>
  params.map((value) => {
    if (typeof value === "string" || typeof value === "number" || typeof value === "bigint" || value === null) {
      return value
    }
    throw new TypeError(`cannot be bound: ${typeof value}`)
  })

export const make = Effect.gen(function* () {
  const database = yield* Effect.acquireRelease(
    Effect.sync(() => new Database(":memory:")),
    (database) => Effect.sync(() => database.close())
  )
  const semaphore = yield* Effect.makeSemaphore(1)
  const statements: Array<string> = []
  const run = (sql: string, params: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<any>, SqlError> =>
    Effect.try({
      try: () => {
        statements.push(sql)
        const statement = database.prepare(sql)
        const values = plain(params)
        if (statement.reader) return statement.all(values)
        statement.run(values)
        return []
      },
      catch: (cause) => new SqlError({ cause, message: "Failed to execute statement" })
    })
  const connection: Connection = {
    execute: run,
    executeRaw: run,
    executeUnprepared: run,
    executeValues: (sql, params) => Effect.map(run(sql, params), (rows) => rows.map((row) => Object.values(row))),
    executeStream: (sql, params) => Stream.fromIterableEffect(run(sql, params))
  }
  const client = yield* SqlClient.make({
    acquirer: semaphore.withPermits(1)(Effect.succeed(connection)),
    transactionAcquirer: Effect.uninterruptibleMask((restore) =>
      Effect.as(
        Effect.zipRight(
          restore(semaphore.take(1)),
          Effect.addFinalizer(() => semaphore.release(1))
        ),
        connection
      )
    ),
    compiler: Statement.makeCompilerSqlite(),
    spanAttributes: []
  })
  return { client, statements }
}).pipe(Effect.provide(Reactivity.layer))
