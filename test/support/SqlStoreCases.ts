/** Cases common to all SQL stores. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as SqlBackends from "./SqlBackends.js"
import * as SqlTables from "./SqlTables.js"

export interface Store<S> {
  /** Builds the store over the client in context. */
  readonly make: Effect.Effect<S, unknown, SqlClient.SqlClient>
  /** Creates its tables. */
  readonly migrated: Layer.Layer<any, unknown, SqlClient.SqlClient>
  /** Writes something under a name. */
  readonly write: (store: S, name: string) => Effect.Effect<unknown, unknown>
  /** True if it is completely there. */
  readonly has: (store: S, name: string) => Effect.Effect<boolean, unknown>
  /** Runs every operation, on present and missing data. */
  readonly everything: (store: S) => Effect.Effect<unknown, unknown>
  /** Operation that fails with the database; default `write`. */
  readonly failing?: ((store: S) => Effect.Effect<unknown, unknown>) | undefined
  /** Statements allowed to read whole tables or to sort. */
  readonly allowed?: ReadonlyArray<RegExp> | undefined
}

export const suite = <S>(backend: SqlBackends.SqlBackend, store: Store<S>): void => {
  const { has, make, write } = store
  const built = <A, E>(body: (store: S) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
    Effect.provide(Effect.flatMap(make, body), backend.layer)

  describe("a store of SQL", () => {
    it.effect("keeps what another client of the same database then has", () =>
      built((mine) =>
        Effect.gen(function* () {
          yield* write(mine, "a")
          const yours = yield* Effect.provide(make, backend.kept)
          assert.isTrue(yield* has(yours, "a"))
          yield* Effect.flatMap(make, (theirs) =>
            Effect.gen(function* () {
              assert.isTrue(yield* has(theirs, "a"))
              yield* write(theirs, "b")
            })
          ).pipe(Effect.provide(backend.other))
          assert.isTrue(yield* has(mine, "b"))
        })
      )
    )

    it.effect("64 fibers write at once by two clients, and nothing is lost", () =>
      built((mine) =>
        Effect.flatMap(make, (theirs) =>
          Effect.gen(function* () {
            const names = Array.from({ length: 64 }, (_, index) => `name ${index}`)
            yield* Effect.forEach(names, (name, index) => write(index % 2 === 0 ? mine : theirs, name), {
              concurrency: "unbounded",
              discard: true
            })
            for (const name of names) assert.isTrue(yield* has(mine, name), name)
          })
        ).pipe(Effect.provide(backend.other))
      )
    )

    it.effect("goes with the caller's transaction on the same client, and is undone with it", () =>
      built((mine) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const undone = yield* Effect.exit(
            sql.withTransaction(
              Effect.gen(function* () {
                yield* write(mine, "a")
                assert.isTrue(yield* has(mine, "a"))
                return yield* Effect.fail("undone")
              })
            )
          )
          assert.deepStrictEqual(undone, Exit.fail("undone"))
          assert.isFalse(yield* has(mine, "a"))
          yield* sql.withTransaction(write(mine, "a"))
          assert.isTrue(yield* has(mine, "a"))
        })
      )
    )

    it.effect("is not touched by a transaction of another client", () =>
      built((mine) =>
        Effect.gen(function* () {
          const elsewhere = yield* SqlClient.SqlClient
          const undone = yield* Effect.exit(
            elsewhere.withTransaction(Effect.zipRight(write(mine, "a"), Effect.fail("undone")))
          )
          assert.deepStrictEqual(undone, Exit.fail("undone"))
          assert.isTrue(yield* has(mine, "a"))
        }).pipe(Effect.provide(SqlBackends.elsewhere))
      )
    )

    it.effect("goes on where a write was interrupted, wherever that was", () =>
      built((mine) =>
        Effect.gen(function* () {
          for (let steps = 0; steps < 12; steps++) {
            const fiber = yield* Effect.fork(write(mine, `name ${steps}`))
            for (let step = 0; step < steps; step++) yield* Effect.yieldNow()
            yield* Fiber.interrupt(fiber)
            yield* write(mine, `name ${steps}`)
            assert.isTrue(yield* has(mine, `name ${steps}`))
          }
        })
      )
    )

    it.effect("reads no whole table, and sorts nothing that grows", () => {
      const seen: Array<SqlBackends.Seen> = []
      return Effect.gen(function* () {
        const watching = yield* Effect.provide(make, SqlBackends.watched(seen))
        yield* Effect.forEach(Array.from({ length: 40 }), (_, index) => write(watching, `name ${index}`))
        yield* store.everything(watching)
        assert.isAbove(seen.length, 1)
        const slow = (yield* SqlBackends.plans(backend, seen)).filter(
          ({ plan, sql }) => SqlBackends.isSlow(plan) && !store.allowed?.some((pattern) => pattern.test(sql))
        )
        assert.deepStrictEqual(slow, [])
      }).pipe(Effect.provide(backend.layer))
    })

    it.effect("fails in its own words where its tables are gone, and works again when they are back", () =>
      built((mine) =>
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const rename = (from: string, to: string) =>
            Effect.flatMap(SqlTables.names, (tables) =>
              Effect.forEach(tables, (name) =>
                name.startsWith(from)
                  ? Effect.asVoid(sql.unsafe(`ALTER TABLE ${name} RENAME TO ${to}${name.slice(from.length)}`))
                  : Effect.void
              )
            )
          const error: any = yield* Effect.acquireUseRelease(
            rename("lex_", "gone_"),
            () => Effect.flip((store.failing ?? ((failing) => write(failing, "secret name")))(mine)),
            () => Effect.orDie(rename("gone_", "lex_"))
          )
          assert.match(error.code, /^LEX_ERR_/)
          assert.include(error.message, "The database has not the tables that are needed")
          assert.notInclude(JSON.stringify(error), "secret")
          assert.isUndefined(error.cause)
          yield* write(mine, "a")
          assert.isTrue(yield* has(mine, "a"))
        })
      )
    )

    it.effect("is not built on a database without tables, unless it may make them", () =>
      Effect.gen(function* () {
        const error: any = yield* Effect.flip(make)
        assert.strictEqual(error._tag, "MigrationError")
        assert.strictEqual(error.reason, "absent")
        yield* Layer.build(store.migrated)
        const made = yield* make
        yield* write(made, "a")
        assert.isTrue(yield* has(made, "a"))
      }).pipe(Effect.scoped, Effect.provide(SqlBackends.elsewhere))
    )
  })
}
