/**
 * Keeps sessions in SQLite or Postgres, by the `SqlClient` in the context. Any number of processes may use one
 * database: of two that write to one session at once one gets a `SessionConflictError`, and limits hold for all of them
 * together.
 *
 * A turn is a row of its own and never written again. What a turn writes grows neither with the conversation nor with
 * what the session holds beside it; a window of turns is read by one statement that looks at these turns alone. Of a
 * session's checkpoints equal large states are kept once.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SessionStorageError } from "../../session/turn/SessionError.js"
import * as SessionStore from "../../session/turn/SessionStore.js"
import type { Database } from "../engine/Database.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as SqlSessionDeletion from "./SqlSessionDeletion.js"
import * as SqlSessionExchanges from "./SqlSessionExchanges.js"
import * as SqlSessionReads from "./SqlSessionReads.js"
import * as SqlSessionStatements from "./SqlSessionStatements.js"
import * as SqlSessionWrites from "./SqlSessionWrites.js"

const stored = <A, E, R>(
  effect: Effect.Effect<A, E | SqlError, R>
): Effect.Effect<A, Exclude<E, SqlError> | SessionStorageError, R> =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError, R>, "SqlError", (error) =>
    Effect.fail(new SessionStorageError(SqlFailure.fields(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError> | SessionStorageError, R>

const over = (database: Database): SessionStore.Service => {
  const statements = SqlSessionStatements.make(database)
  const reads = SqlSessionReads.make(database, statements)
  const writes = SqlSessionWrites.make(database, statements)
  const exchanges = SqlSessionExchanges.make(database, statements)
  const remove = SqlSessionDeletion.make(database, statements)
  return {
    name: database.dialect.name,
    create: (creation) => stored(writes.create(creation)),
    load: (id) => stored(reads.load(id)),
    save: (change) => stored(writes.save(change)),
    append: (addition) => stored(writes.append(addition)),
    open: (exchange) => stored(exchanges.open(exchange)),
    exchange: (ref) => stored(exchanges.exchange(ref)),
    withdraw: (ref) => stored(exchanges.withdraw(ref)),
    lease: (options) => stored(exchanges.lease(options)),
    orphans: (options) => stored(exchanges.orphans(options)),
    turn: (ref) => stored(reads.turn(ref)),
    turns: (head, options) => stored(reads.turns(head, options)),
    list: (options) => stored(reads.list(options)),
    idle: (options) => stored(reads.idle(options)),
    expire: (options) => stored(writes.expire(options)),
    checkpoint: (id) => stored(reads.checkpoint(id)),
    checkpoints: (id, options) => stored(reads.checkpoints(id, options)),
    lastMerge: (into, from) => stored(reads.lastMerge(into, from)),
    deleteCheckpoint: (id) => stored(writes.deleteCheckpoint(id)),
    delete: (id) => stored(remove(id)),
    health: stored(reads.health)
  }
}

/**
 * Fails with `MigrationError` (`absent`) on a database that has not our tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<SessionStore.Service, MigrationFailure, SqlClient.SqlClient> = Effect.map(
  MigrationRun.open({ migrate: false }),
  over
)

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<SessionStore.SessionStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  SessionStore.SessionStore,
  make
)

/**
 * Brings the tables of the database to the version of this code first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated: Layer.Layer<SessionStore.SessionStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(SessionStore.SessionStore, Effect.map(MigrationRun.open({ migrate: true }), over))
