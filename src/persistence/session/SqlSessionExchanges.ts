/**
 * Stores open exchanges of sessions, and the leases of the processes that answer them.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Exchange } from "../../session/turn/Session.js"
import * as SessionCodec from "../../session/turn/SessionCodec.js"
import type { SessionConflictError, SessionStorageError } from "../../session/turn/SessionError.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"
import type { Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import type { Statements } from "./SqlSessionStatements.js"

type Failure = SessionConflictError | SessionStorageError | SqlError

/**
 * The exchange methods of the port.
 *
 * @category models
 */
export type Exchanges = {
  readonly [K in "open" | "exchange" | "withdraw" | "lease" | "orphans"]: (
    ...args: Parameters<SessionStore.Service[K]>
  ) => Effect.Effect<
    Effect.Effect.Success<ReturnType<SessionStore.Service[K]>>,
    Effect.Effect.Error<ReturnType<SessionStore.Service[K]>> | SqlError
  >
}

const decode = (row: { readonly [column: string]: unknown }): Effect.Effect<Exchange, SessionStorageError> =>
  SessionCodec.exchange.decode("a row of lex_session_exchanges", String(row["body"]))

const placeOf = ({ runId, sessionId }: SessionStore.ExchangeRef) => [KeyText.encode(sessionId), KeyText.encode(runId)]

/**
 * @category constructors
 */
export const make = (database: Database, statements: Statements): Exchanges => ({
  open: Effect.fnUntraced(function* (exchange) {
    const body = yield* SessionCodec.exchange.encode(exchange)
    const [session = "", run = ""] = placeOf(exchange)
    const owner = exchange.owner === undefined ? null : KeyText.encode(exchange.owner)
    return yield* database.transaction(
      (tx): Effect.Effect<void, Failure> =>
        Effect.gen(function* () {
          if ((yield* tx.run(statements.open, [run, owner, body, session])) === 0) {
            return yield* SessionStoreErrors.sessionMissing(exchange.sessionId)
          }
          if (owner !== null) yield* tx.run(statements.owner, [owner])
        })
    )
  }),
  exchange: (ref) =>
    Effect.flatMap(database.first(statements.exchange, placeOf(ref)), (row) =>
      row === undefined ? Effect.succeed(Option.none()) : Effect.asSome(decode(row))
    ),
  withdraw: (ref) => Effect.map(database.run(statements.withdraw, placeOf(ref)), (count) => count > 0),
  lease: ({ owner, until }) => Effect.asVoid(database.run(statements.lease, [KeyText.encode(owner), until])),
  orphans: Effect.fnUntraced(function* ({ at, limit }) {
    const room = statements.count(limit)
    const found: Array<Exchange> = []
    /** Whether the owner has an open exchange. */
    const ofOwner = Effect.fnUntraced(function* (owner: string) {
      for (let after = ["", ""]; ; ) {
        const asked = room - found.length
        const rows = yield* database.rows(statements.orphans, [owner, ...after, asked])
        const texts = rows.map(({ body }) => String(body))
        found.push(...(yield* SessionCodec.readableExchanges("a row of lex_session_exchanges", texts)))
        const last = rows.at(-1)
        if (last === undefined || rows.length < asked || found.length >= room) return after[0] !== "" || rows.length > 0
        after = [String(last["session_id"]), String(last["run_id"])]
      }
    })
    // Reads leases page by page and deletes those without exchanges.
    for (let place: readonly [number, string] = [-Number.MAX_VALUE, ""]; found.length < room; ) {
      const owners = yield* database.rows(statements.endedLeases, [at, ...place, room])
      for (const { owner_id: owner } of owners) {
        if (!(yield* ofOwner(String(owner)))) yield* database.run(statements.forgetLease, [String(owner), at])
        if (found.length >= room) return found
      }
      const last = owners.at(-1)
      if (last === undefined || owners.length < room) return found
      place = [Number(last["until"]), String(last["owner_id"])]
    }
    return found
  })
})
