/**
 * A `SessionStore` in SQLite or Postgres, on the `SqlClient` in context. Any number of processes may share a database:
 * of two concurrent writers of one session one gets a `SessionConflictError`, and limits apply to all processes
 * together.
 *
 * A turn is a row of its own and is never rewritten. The cost of a turn grows neither with the conversation nor with
 * the state of the session. One statement reads a window of turns and examines only these turns. Equal large states of
 * a session's checkpoints are stored once.
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

const makeService = (database: Database): SessionStore.Service => {
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
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<SessionStore.Service, MigrationFailure, SqlClient.SqlClient> = Effect.map(
  MigrationRun.open({ migrate: false }),
  makeService
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
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { SqliteClient, SqlSessionStore } from "effect-lexigram/persistence"
 * import { Sessions } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * const sessions = Sessions.layer({
 *   store: SqlSessionStore.layerMigrated.pipe(Layer.provide(SqliteClient.layer({ file: "agents.db" })))
 * })
 *
 * const agents = Agents.layerWith({ sessions })
 * ```
 */
export const layerMigrated: Layer.Layer<SessionStore.SessionStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(SessionStore.SessionStore, Effect.map(MigrationRun.open({ migrate: true }), makeService))
