/**
 * Lets a session begin one run after another, in the process that has its shard.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { RunState } from "../../agent/record/RunRecord.js"
import { RunId } from "../../domain/Ids.js"
import type { Database } from "../../persistence/engine/Database.js"
import * as ExactJson from "../../persistence/engine/ExactJson.js"
import * as IndexKey from "../../persistence/engine/IndexKey.js"
import { isOfMessage, type Session } from "./SessionAddress.js"

/**
 * A run of a session that has not ended.
 *
 * @category models
 */
export interface Open {
  readonly runId: RunId
  readonly state: RunState
}

/**
 * `Lost`: another process has the shard. `Busy`: another run of the session goes on.
 *
 * @category models
 */
export type Begin<A> =
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Busy"; readonly runId: RunId }
  | { readonly _tag: "Begun"; readonly value: A }

/**
 * @category models
 */
export interface Service {
  /**
   * Makes the write part of a transaction in which the process has the shard and no other run of the session goes on.
   * No other process begins a run of the session before its end.
   */
  readonly begin: <A, E>(
    place: { readonly shard: string; readonly session: Session; readonly runId: RunId },
    write: Effect.Effect<A, E>
  ) => Effect.Effect<Begin<A>, E | SqlError>
  /** The runs of the session that go on, without forks, and without those that wait in a queue. */
  readonly open: (session: Session) => Effect.Effect<ReadonlyArray<Open>, SqlError>
}

/**
 * @category tags
 */
export class SessionFence extends Context.Tag("effect-lexigram/cluster/SessionFence")<SessionFence, Service>() {}

const Body = Schema.Struct({ runId: RunId, forkedFrom: Schema.optional(Schema.Unknown) })
const decodeBody = Schema.decodeUnknownSync(Body)

interface Row {
  readonly state: RunState
  readonly body: string
}

const openOf = ({ body, state }: Row): ReadonlyArray<Open> => {
  const { forkedFrom, runId } = decodeBody(ExactJson.decode(body))
  // What waits in a queue begins when its dispatcher says so, and a fork does not write to the session.
  return forkedFrom !== undefined || (state === "queued" && !isOfMessage(runId)) ? [] : [{ runId, state }]
}

/**
 * `holds` says whether this process has a shard; in a transaction, no other process gets it before the end of that.
 *
 * @category constructors
 */
export const make = (database: Database, holds: (shard: string) => Effect.Effect<boolean, SqlError>): Service => {
  const { client, dialect } = database
  const select = "SELECT state, body FROM lex_run_records WHERE ended_at IS NULL AND session_id = ? AND user_id"
  const ofUser = dialect.sql(`${select} = ?`)
  const ofNobody = dialect.sql(`${select} IS NULL`)
  const open: Service["open"] = ({ sessionId, userId }) => {
    const key = IndexKey.of(sessionId)
    const rows =
      userId === undefined
        ? database.rows<Row>(ofNobody, [key])
        : database.rows<Row>(ofUser, [key, IndexKey.of(userId)])
    return Effect.map(rows, (found) => found.flatMap(openOf))
  }
  return {
    open,
    begin: ({ runId, session, shard }, write) =>
      client.withTransaction(
        Effect.gen(function* () {
          if (!(yield* holds(shard))) return { _tag: "Lost" as const }
          if (dialect.lock !== undefined) {
            yield* database.first(dialect.lock, [`lex_session_fence/${IndexKey.of(session.sessionId)}`])
          }
          const other = (yield* open(session)).find((one) => one.runId !== runId)
          if (other !== undefined) return { _tag: "Busy" as const, runId: other.runId }
          return { _tag: "Begun" as const, value: yield* write }
        })
      )
  }
}
