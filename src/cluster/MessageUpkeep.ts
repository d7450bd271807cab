/**
 * Removes messages of sessions that were answered long ago. What they said is with their runs.
 *
 * @private
 * @since 0.1.0
 */
import * as Snowflake from "@effect/cluster/Snowflake"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Database } from "../persistence/engine/Database.js"
import { prefix } from "./ClusterStore.js"
import { sessionType } from "./entity/SessionProtocol.js"

const every = Duration.hours(1)

/** The most messages of one statement. */
const page = 500

const answered = `SELECT id FROM ${prefix}_messages
  WHERE entity_type = '${sessionType}' AND processed AND id < ? ORDER BY id LIMIT ${page}`

/**
 * Removes answered messages that were sent before a time in milliseconds since the epoch; returns how many.
 *
 * @category combinators
 */
export const prune = (database: Database, before: number): Effect.Effect<number, SqlError> => {
  const { dialect } = database
  const replies = dialect.sql(`DELETE FROM ${prefix}_replies WHERE request_id IN (${answered})`)
  const messages = dialect.sql(`DELETE FROM ${prefix}_messages WHERE id IN (${answered})`)
  // Ids of messages begin with their time.
  const id = String(Snowflake.make({ machineId: 0 as never, sequence: 0, timestamp: before }))
  const batch = database.transaction((tx) => Effect.zipRight(tx.run(replies, [id]), tx.run(messages, [id])))
  return Effect.flatMap(batch, (removed) =>
    removed < page ? Effect.succeed(removed) : Effect.map(prune(database, before), (more) => removed + more)
  )
}

/**
 * Prunes once an hour while the scope is open. Nothing for an infinite time.
 *
 * @category combinators
 */
export const keepPruned = (
  database: Database,
  retain: Duration.DurationInput
): Effect.Effect<void, never, Scope.Scope> => {
  const olderThan = Duration.toMillis(retain)
  if (!Number.isFinite(olderThan)) return Effect.void
  const pruned = Effect.flatMap(Clock.currentTimeMillis, (now) => prune(database, now - olderThan))
  return Effect.asVoid(
    Effect.forkScoped(Effect.interruptible(Effect.forever(Effect.delay(Effect.ignoreLogged(pruned), every))))
  )
}
