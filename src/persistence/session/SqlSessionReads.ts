/**
 * Reads sessions, turns and checkpoints. Each call is one statement.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { SessionStorageError } from "../../session/turn/SessionError.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import type { Access, Row } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as Rows from "./SqlSessionRows.js"
import type { Statements } from "./SqlSessionStatements.js"

type Failing<F> = F extends (...args: infer A) => Effect.Effect<infer B, infer E>
  ? (...args: A) => Effect.Effect<B, E | SqlError>
  : never

/**
 * The reading methods of the port.
 *
 * @category models
 */
export type Reads = {
  readonly [K in "load" | "turn" | "turns" | "list" | "idle" | "checkpoint" | "checkpoints" | "lastMerge"]: Failing<
    SessionStore.Service[K]
  >
} & { readonly health: Effect.Effect<void, SqlError> }

type Decode<A> = (row: Row) => Either.Either<A, SessionStorageError>

/**
 * @category conversions
 */
export const all =
  <A>(decode: Decode<A>) =>
  (rows: ReadonlyArray<Row>): Either.Either<ReadonlyArray<A>, SessionStorageError> => {
    const found: Array<A> = []
    for (const row of rows) {
      const one = decode(row)
      if (Either.isLeft(one)) return Either.left(one.left)
      found.push(one.right)
    }
    return Either.right(found)
  }

const first =
  <A>(decode: Decode<A>) =>
  (row: Row | undefined): Either.Either<Option.Option<A>, SessionStorageError> =>
    row === undefined ? Either.right(Option.none()) : Either.map(decode(row), Option.some)

const session = first(Rows.session)
const sessions = all(Rows.session)
const turn = first(Rows.turn)
const turns = all(Rows.turn)
const checkpoint = first(Rows.checkpoint)
const checkpoints = all(Rows.checkpoint)

const nothing = Effect.succeed([])

/**
 * @category constructors
 */
export const make = (access: Access, statements: Statements): Reads => {
  const { count } = statements
  return {
    load: (id) => Effect.flatMap(access.first(statements.load, [KeyText.encode(id)]), session),
    turn: ({ sessionId, turnId }) =>
      Effect.flatMap(access.first(statements.turn, [KeyText.encode(sessionId), KeyText.encode(turnId)]), turn),
    turns: (head, { limit, since }) => {
      const room = count(limit)
      if (room === 0) return nothing
      const to = [room, KeyText.encode(head.sessionId), KeyText.encode(head.turnId)]
      const params = since === undefined ? to : [KeyText.encode(since.sessionId), KeyText.encode(since.turnId), ...to]
      return Effect.flatMap(access.rows(statements.window(since !== undefined), params), (rows) =>
        turns(rows.toReversed())
      )
    },
    list: (options) => {
      if (count(options.limit) === 0 || options.statuses?.length === 0) return nothing
      const { params, sql } = statements.list(options)
      return Effect.flatMap(access.rows(sql, params), sessions)
    },
    idle: ({ after, limit, since }) => {
      const room = count(limit)
      if (room === 0) return nothing
      const params = [since, ...(after === undefined ? [] : [after.at, KeyText.encode(after.id)]), room]
      return Effect.flatMap(access.rows(statements.idle(after !== undefined), params), sessions)
    },
    checkpoint: (id) => Effect.flatMap(access.first(statements.checkpoint, [KeyText.encode(id)]), checkpoint),
    checkpoints: (id, { before, kinds, limit }) => {
      const wanted = [...new Set(kinds ?? SessionTables.kinds)].map((kind) => SessionTables.kinds.indexOf(kind)).sort()
      if (count(limit) === 0 || wanted.length === 0) return nothing
      const { params, sql } = statements.checkpoints(KeyText.encode(id), { limit, before, kinds: wanted })
      return Effect.flatMap(access.rows(sql, params), checkpoints)
    },
    lastMerge: (into, from) =>
      Effect.flatMap(access.first(statements.lastMerge, [KeyText.encode(into), KeyText.encode(from)]), checkpoint),
    health: Effect.asVoid(access.first(statements.health))
  }
}
