/**
 * Deletes sessions with all of their turns except those in the lineage of a branch, which are deleted with the last
 * such branch.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { SessionId } from "../../domain/Ids.js"
import type { Access, Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as Rows from "./SqlSessionRows.js"
import type { Statements } from "./SqlSessionStatements.js"
import { treeLock } from "./SqlSessionSteps.js"

/** Turns that one statement deletes. SQLite blocks other work meanwhile. */
const CHUNK = 2_000

interface Interval {
  /** Exclusive bounds. */
  readonly above: number
  readonly below: number
}

/**
 * @category constructors
 */
export const make = (
  database: Database,
  statements: Statements
): ((id: SessionId) => Effect.Effect<boolean, SqlError>) => {
  const { dialect } = database
  const { payloads } = statements

  /** Succeeds with the number of runs that have remaining turns. */
  const thin = Effect.fnUntraced(function* (tx: Access, id: string, turns: number) {
    const needed = yield* tx.rows(statements.needed, [id, id, id, id, id])
    const gone: Array<Interval> = []
    let above = 0
    for (const row of needed) {
      gone.push({ above, below: Number(row["run"]) })
      above = Number(row["place"])
    }
    gone.push({ above, below: turns + 1 })
    for (const { above, below } of gone) {
      for (let at = above; at < below - 1; at += CHUNK) {
        yield* tx.run(statements.deleteTurns, [id, at, Math.min(below, at + CHUNK + 1)])
      }
    }
    return needed.length
  })

  /**
   * Removes what deleted sessions no longer need, from a session to the sessions that it branched from, up to the first
   * one that exists. The order from a branch to its origin prevents deadlocks.
   */
  const prune = Effect.fnUntraced(function* (tx: Access, from: string | null) {
    let id = from
    while (id !== null) {
      if (dialect.lock !== undefined) yield* tx.rows(dialect.lock, [treeLock(id)])
      const row = yield* tx.first(statements.leaving, [id])
      if (row === undefined || Number(row["status"]) !== SessionTables.deleted) return
      const left = yield* thin(tx, id, Number(row["turns"]))
      if (Number(row["is_heavy"]) === 1) {
        const scope = Rows.scopes.turns + id
        yield* left === 0 ? payloads.clear(tx, scope) : payloads.sweep(tx, scope, statements.turnRefs)
      }
      if (left > 0) return
      yield* tx.run(statements.deleteSession, [id])
      id = row["base_session"] as string | null
    }
  })

  return (given) => {
    const id = KeyText.encode(given)
    return database.transaction(
      Effect.fnUntraced(function* (tx) {
        if (dialect.lock !== undefined) yield* tx.rows(dialect.lock, [treeLock(id)])
        const row = yield* tx.first(statements.leaving, [id])
        if (row === undefined || Number(row["status"]) === SessionTables.deleted) return false
        yield* tx.run(statements.deleteCheckpoints, [id])
        yield* tx.run(statements.deleteState, [id])
        yield* tx.run(statements.deleteExchanges, [id])
        if (Number(row["is_heavy"]) === 1) yield* payloads.clear(tx, Rows.scopes.states + id)
        yield* tx.run(statements.bury, [id])
        yield* prune(tx, id)
        return true
      })
    )
  }
}
