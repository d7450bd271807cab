/**
 * Steps that the writes of sessions share. Each runs in the transaction of its caller.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Session, TurnRef } from "../../session/turn/Session.js"
import type {
  SessionCapacityError,
  SessionConflictError,
  SessionStorageError
} from "../../session/turn/SessionError.js"
import type { Limits } from "../../session/turn/SessionStore.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"
import type { Access, Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import type { Packed } from "../engine/Payloads.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as Rows from "./SqlSessionRows.js"
import type { Statements } from "./SqlSessionStatements.js"

/**
 * @category models
 */
export type Write<A, E = never> = Effect.Effect<A, E | SessionStorageError | SqlError>

/**
 * The row of a turn.
 *
 * @category models
 */
export interface Place {
  readonly session: string
  readonly run: number
  readonly place: number
}

/**
 * @category models
 */
export interface Steps {
  readonly lock: (tx: Access, text: string) => Effect.Effect<unknown, SqlError>
  /** Fails with the conflict of a writer whose revision is outdated. */
  readonly failStale: (tx: Access, session: Session) => Write<never, SessionConflictError>
  readonly lockLimits: (tx: Access, session: Session, limits: Limits) => Effect.Effect<void, SqlError>
  readonly withinLimits: (tx: Access, session: Session, limits: Limits) => Write<void, SessionCapacityError>
  /** The session as a load returns it; `undefined` if there is none. */
  readonly existing: (tx: Access, session: Session) => Write<Session | undefined, SessionConflictError>
  readonly placeOf: (tx: Access, ref: TurnRef) => Effect.Effect<Place | undefined, SqlError>
  /** Writes the large texts that rows of the scope refer to. */
  readonly put: (tx: Access, scope: string, id: string, packed: ReadonlyArray<Packed>) => Effect.Effect<void, SqlError>
  readonly setState: (tx: Access, id: string, rest: Rows.Rest) => Effect.Effect<void, SqlError>
  readonly sweepStates: (tx: Access, id: string) => Effect.Effect<void, SqlError>
  readonly insertCheckpoint: (
    tx: Access,
    id: string,
    row: Rows.CheckpointRow,
    keep: number | undefined
  ) => Write<boolean, SessionConflictError>
}

/**
 * Lock taken by deletes of turns and by forks from a turn.
 *
 * @category getters
 */
export const treeLock = (session: string): string => `lex_session_turns ${session}`

/**
 * @category constructors
 */
export const make = ({ dialect }: Database, statements: Statements): Steps => {
  const { payloads } = statements
  const lock = (tx: Access, text: string): Effect.Effect<unknown, SqlError> =>
    dialect.lock === undefined ? Effect.void : tx.rows(dialect.lock, [text])

  const failStale = (tx: Access, session: Session): Write<never, SessionConflictError> =>
    Effect.flatMap(tx.first(statements.standing, [KeyText.encode(session.id)]), (row) =>
      Effect.fail(
        SessionStoreErrors.staleRevision(
          session,
          row === undefined || Number(row["status"]) >= SessionTables.deleted
            ? undefined
            : { revision: Number(row["revision"]) }
        )
      )
    )

  /** Serializes the transactions that make a session live, so that the counts of `withinLimits` stay true. */
  const lockLimits = Effect.fnUntraced(function* (tx: Access, session: Session, { perParent, perUser }: Limits) {
    if (perUser !== undefined && session.userId !== undefined) {
      yield* lock(tx, `lex_sessions user ${KeyText.encode(session.userId)}`)
    }
    if (perParent !== undefined && session.parentSessionId !== undefined) {
      yield* lock(tx, `lex_sessions parent ${KeyText.encode(session.parentSessionId)}`)
    }
  })

  const withinLimits = Effect.fnUntraced(function* (tx: Access, session: Session, limits: Limits) {
    const id = KeyText.encode(session.id)
    const row = yield* tx.first(statements.live, [
      Rows.userKey(session.userId),
      id,
      statements.count(limits.perUser ?? 0),
      session.parentSessionId === undefined ? "" : KeyText.encode(session.parentSessionId),
      id,
      statements.count(limits.perParent ?? 0)
    ])
    const refusal = SessionStoreErrors.overLimit(session, limits, {
      ofUser: () => Number(row?.["of_user"]),
      ofParent: () => Number(row?.["of_parent"])
    })
    if (refusal !== undefined) return yield* refusal
  })

  const existing = Effect.fnUntraced(function* (tx: Access, session: Session) {
    const id = KeyText.encode(session.id)
    for (;;) {
      const row = yield* tx.first(statements.load, [id])
      if (row !== undefined) return yield* Rows.session(row)
      const standing = yield* tx.first(statements.standing, [id])
      if (standing === undefined) return undefined
      if (Number(standing["status"]) >= SessionTables.deleted) return yield* SessionStoreErrors.idInUse(session)
      // Another writer created it in the meantime.
    }
  })

  const placeOf = (tx: Access, { sessionId, turnId }: TurnRef): Effect.Effect<Place | undefined, SqlError> => {
    const session = KeyText.encode(sessionId)
    return Effect.map(tx.first(statements.turnPlace, [session, KeyText.encode(turnId)]), (row) =>
      row === undefined ? undefined : { session, run: Number(row["run"]), place: Number(row["place"]) }
    )
  }

  const put = (tx: Access, scope: string, id: string, packed: ReadonlyArray<Packed>): Effect.Effect<void, SqlError> =>
    payloads.put(tx, scope + id, packed)

  const setState = Effect.fnUntraced(function* (tx: Access, id: string, { profile, state }: Rows.Rest) {
    yield* put(tx, Rows.scopes.states, id, [profile, state])
    yield* tx.run(statements.setState, [profile.body, profile.ref, state.body, state.ref, id])
  })

  const sweepStates = (tx: Access, id: string): Effect.Effect<void, SqlError> =>
    payloads.sweep(tx, Rows.scopes.states + id, statements.stateRefs)

  /** Succeeds with true if it deleted older checkpoints to stay within `keep`. */
  const insertCheckpoint = Effect.fnUntraced(function* (
    tx: Access,
    id: string,
    row: Rows.CheckpointRow,
    keep: number | undefined
  ) {
    yield* put(tx, Rows.scopes.states, id, [row.profile, row.state])
    if ((yield* tx.run(statements.insertCheckpoint, row.params)) === 0)
      return yield* SessionStoreErrors.checkpointExists
    return keep === undefined ? false : (yield* tx.run(statements.trim, [id, id, statements.count(keep)])) > 0
  })

  return {
    lock,
    failStale,
    lockLimits,
    withinLimits,
    existing,
    placeOf,
    put,
    setState,
    sweepStates,
    insertCheckpoint
  }
}
