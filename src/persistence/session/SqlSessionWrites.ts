/**
 * Writes sessions, turns and checkpoints. Each call is one transaction, which locks the rows that it depends on before
 * it reads them.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { isLive, type Session, type SessionCheckpoint, type SessionTurn } from "../../session/turn/Session.js"
import type {
  SessionCapacityError,
  SessionConflictError,
  SessionStorageError
} from "../../session/turn/SessionError.js"
import type { Addition, Change, Created, Creation } from "../../session/turn/SessionStore.js"
import * as SessionStoreErrors from "../../session/turn/SessionStoreErrors.js"
import * as Database from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import type { Packed } from "../engine/Payloads.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as Reads from "./SqlSessionReads.js"
import * as Rows from "./SqlSessionRows.js"
import type { Statements } from "./SqlSessionStatements.js"
import { make as makeSteps, type Place, type Steps, treeLock, type Write } from "./SqlSessionSteps.js"

type Access = Database.Access

/**
 * The writing methods of the port, except `delete`.
 *
 * @category models
 */
export interface Writes {
  readonly create: (creation: Creation) => Write<Created, SessionConflictError | SessionCapacityError>
  readonly save: (change: Change) => Write<void, SessionConflictError | SessionCapacityError>
  readonly append: (addition: Addition) => Write<ReadonlyArray<SessionTurn>, SessionConflictError>
  readonly expire: (options: {
    readonly since: number
    readonly at: number
    readonly limit: number
  }) => Write<ReadonlyArray<Session>>
  readonly deleteCheckpoint: (id: SessionCheckpoint["id"]) => Write<boolean>
}

/** Rolls back: the turns already exist. */
class Known extends Data.TaggedError("Known")<{ readonly turns: ReadonlyArray<SessionTurn> }> {}

const isLarge = ({ ref }: Packed): boolean => ref !== null

const isHeavy = (...rests: ReadonlyArray<Rows.Rest | undefined>): boolean =>
  rests.some((rest) => rest !== undefined && (isLarge(rest.profile) || isLarge(rest.state)))

const checkpointOf = (
  checkpoint: SessionCheckpoint | undefined
): Effect.Effect<Rows.CheckpointRow | undefined, SessionStorageError> =>
  checkpoint === undefined ? Effect.succeed(undefined) : Rows.checkpointRow(checkpoint)

const makeCreate = (database: Database.Database, statements: Statements, steps: Steps): Writes["create"] => {
  const { existing, insertCheckpoint, lock, lockLimits, placeOf, put, withinLimits } = steps
  return Effect.fnUntraced(function* ({ checkpoint, limits, session }: Creation) {
    const rest = yield* Rows.sessionRest(session)
    const kept = yield* checkpointOf(checkpoint)
    const id = KeyText.encode(session.id)
    const { head } = session
    const bounds = limits !== undefined && isLive(session) ? limits : undefined
    const attempt = (tx: Access): Write<Created, SessionConflictError | SessionCapacityError> =>
      Effect.gen(function* () {
        if (bounds !== undefined) yield* lockLimits(tx, session, bounds)
        let base: Place | undefined
        if (bounds !== undefined || head !== undefined) {
          const there = yield* existing(tx, session)
          if (there !== undefined) return { session: there, isNew: false }
          if (head !== undefined) {
            yield* lock(tx, treeLock(KeyText.encode(head.sessionId)))
            base = yield* placeOf(tx, head)
            if (base === undefined) return yield* SessionStoreErrors.headMissing(session)
          }
          if (bounds !== undefined) yield* withinLimits(tx, session, bounds)
        }
        const added = yield* tx.run(statements.insert, [
          id,
          ...Rows.standingParams(session),
          base?.session ?? null,
          base?.run ?? null,
          base?.place ?? null,
          isHeavy(rest, kept) ? 1 : 0
        ])
        if (added === 0) {
          const there = yield* existing(tx, session)
          // Deleted in the meantime: the id is free.
          return there === undefined ? yield* attempt(tx) : { session: there, isNew: false }
        }
        yield* put(tx, Rows.scopes.states, id, [rest.profile, rest.state])
        const { profile, state } = rest
        yield* tx.run(statements.insertState, [id, profile.body, profile.ref, state.body, state.ref])
        if (kept !== undefined) yield* insertCheckpoint(tx, id, kept, undefined)
        // Returns the session as the next load would.
        const now = yield* existing(tx, session)
        return { session: now ?? session, isNew: true }
      })
    return yield* database.transaction(attempt)
  })
}

const makeSave = (database: Database.Database, statements: Statements, steps: Steps): Writes["save"] => {
  const { failStale, insertCheckpoint, lockLimits, setState, sweepStates, withinLimits } = steps
  return Effect.fnUntraced(function* ({ checkpoint, keepCheckpoints, limits, session }: Change) {
    const rest = yield* Rows.sessionRest(session)
    const kept = yield* checkpointOf(checkpoint)
    const id = KeyText.encode(session.id)
    const standing = Rows.standingParams(session)
    const [headSession, headTurn] = standing as [Param, Param]
    const params = [headSession, headTurn, ...standing, id, session.revision - 1]
    const bounds = limits !== undefined && isLive(session) ? limits : undefined
    return yield* database.transaction(
      Effect.fnUntraced(function* (tx) {
        if (bounds !== undefined) {
          yield* lockLimits(tx, session, bounds)
          const before = yield* tx.first(statements.standingForUpdate, [id])
          if (before !== undefined && Number(before["revision"]) === session.revision - 1) {
            const isLive = Number(before["status"]) < SessionTables.ended
            const isUsers = before["user_id"] === Rows.userKey(session.userId)
            const left = SessionStoreErrors.limitsOf({ isLive, isUsers }, bounds)
            if (left !== undefined) yield* withinLimits(tx, session, left)
          }
        }
        const row = yield* tx.first(statements.save(isHeavy(rest, kept)), params)
        if (row === undefined) return yield* failStale(tx, session)
        yield* setState(tx, id, rest)
        if (kept !== undefined) yield* insertCheckpoint(tx, id, kept, keepCheckpoints)
        if (Number(row["is_heavy"]) === 1) yield* sweepStates(tx, id)
      })
    )
  })
}

const turnParams = (
  id: string,
  rows: ReadonlyArray<Rows.TurnRow>,
  from: number,
  run: number,
  parent: Place | undefined
): ReadonlyArray<ReadonlyArray<Param>> =>
  rows.map(({ key, packed }, at) => [
    id,
    from + at,
    run,
    key,
    ...(at === 0 && parent !== undefined ? [parent.session, parent.run, parent.place] : [null, null, null]),
    packed.body,
    packed.ref
  ])

const makeAppend = (database: Database.Database, statements: Statements, steps: Steps): Writes["append"] => {
  const { failStale, insertCheckpoint, placeOf, put, setState, sweepStates } = steps
  const manyTurns = Database.insertInto(
    "lex_session_turns",
    statements.turnInsert,
    "ON CONFLICT (session_id, turn_id) DO NOTHING"
  )

  const known = Effect.fnUntraced(function* (tx: Access, id: string, from: number, rows: ReadonlyArray<Rows.TurnRow>) {
    const found = yield* tx.rows(statements.knownTurns, [id, from, database.dialect.list(rows.map(({ key }) => key))])
    if (found.length === 0) return yield* SessionStoreErrors.duplicateTurns
    const byKey = new Map(found.map((row) => [row["turn_id"], row]))
    return yield* new Known({
      turns: yield* Reads.all(Rows.turn)(rows.flatMap(({ key }) => byKey.get(key) ?? []))
    })
  })

  return Effect.fnUntraced(function* (addition: Addition) {
    const { checkpoint, closes, isStateChanged, keepCheckpoints, session, turns } = addition
    const rows: Array<Rows.TurnRow> = []
    for (const turn of turns) rows.push(yield* Rows.turnRow(turn))
    const rest = isStateChanged === true ? yield* Rows.sessionRest(session) : yield* Rows.checkMoved(session)
    const kept = yield* checkpointOf(checkpoint)
    const id = KeyText.encode(session.id)
    const packed = rows.map((row) => row.packed)
    const heavy = packed.some(isLarge) || isHeavy(rest ?? undefined, kept)
    const parentRef = rows[0]?.parent
    const params = [
      parentRef === undefined ? null : KeyText.encode(parentRef.sessionId),
      parentRef === undefined ? null : KeyText.encode(parentRef.turnId),
      turns.length,
      ...(rest === undefined ? Rows.movingParams(session) : Rows.standingParams(session)),
      id,
      session.revision - 1
    ]
    const statement = rest === undefined ? statements.move(heavy) : statements.moveWhole(heavy)
    const written = Effect.fnUntraced(function* (tx: Access) {
      const row = yield* tx.first(statement, params)
      if (row === undefined) return yield* failStale(tx, session)
      const from = Number(row["turns"]) - turns.length + 1
      const run = Number(row["run"])
      // Only the first turn of a run refers to its parent by place.
      const parent = run === from && parentRef !== undefined ? yield* placeOf(tx, parentRef) : undefined
      yield* put(tx, Rows.scopes.turns, id, packed)
      const all = turnParams(id, rows, from, run, parent)
      const added = all.length === 1 ? yield* tx.run(statements.insertTurn, all[0]) : yield* tx.insert(manyTurns, all)
      if (added < all.length) return yield* known(tx, id, from, rows)
      if (rest !== undefined) yield* setState(tx, id, rest)
      const isTrimmed = kept === undefined ? false : yield* insertCheckpoint(tx, id, kept, keepCheckpoints)
      if (Number(row["is_heavy"]) === 1 && (isTrimmed || rest !== undefined)) yield* sweepStates(tx, id)
      if (closes !== undefined) yield* tx.run(statements.withdraw, [id, KeyText.encode(closes)])
      return []
    })
    return yield* Effect.catchTag(database.transaction(written), "Known", ({ turns }) => Effect.succeed(turns))
  })
}

const makeExpire =
  (database: Database.Database, statements: Statements): Writes["expire"] =>
  ({ at, limit, since }) => {
    const room = statements.count(limit)
    if (room === 0) return Effect.succeed([])
    return database.transaction(
      Effect.fnUntraced(function* (tx) {
        const found = yield* tx.rows(statements.idleForUpdate, [since, room])
        if (found.length === 0) return []
        const ids = found.map((row) => row["id"] as string)
        const rows = new Map(
          (yield* tx.rows(statements.loadAll, [database.dialect.list(ids)])).map((row) => [row["id"], row])
        )
        const read = ids.flatMap((id) => {
          const row = rows.get(id)
          return row === undefined ? [] : [{ id, session: Rows.session(row) }]
        })
        const good = read.flatMap(({ id, session }) =>
          Either.isRight(session) ? [{ id, session: session.right }] : []
        )
        const bad = read.find(({ session }) => Either.isLeft(session))
        // A session that cannot be read must not keep the others from expiring.
        if (good.length === 0 && bad !== undefined && Either.isLeft(bad.session)) return yield* bad.session.left
        yield* tx.run(statements.expire, [at, database.dialect.list(good.map(({ id }) => id))])
        return good.map(
          ({ session }): Session => ({ ...session, status: "expired", updatedAt: at, revision: session.revision + 1 })
        )
      })
    )
  }

/**
 * @category constructors
 */
export const make = (database: Database.Database, statements: Statements): Writes => {
  const steps = makeSteps(database, statements)
  return {
    create: makeCreate(database, statements, steps),
    save: makeSave(database, statements, steps),
    append: makeAppend(database, statements, steps),
    expire: makeExpire(database, statements),
    deleteCheckpoint: (id) =>
      database.transaction(
        Effect.fnUntraced(function* (tx) {
          const row = yield* tx.first(statements.deleteCheckpoint, [KeyText.encode(id)])
          if (row === undefined) return false
          if (row["ref"] !== null || row["state_ref"] !== null) yield* steps.sweepStates(tx, row["session_id"])
          return true
        })
      )
  }
}
