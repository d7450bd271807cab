/**
 * Appends turns to a session and reads them by window.
 *
 * @private
 * @since 0.1.0
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TurnId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { NewTurn, Session, SessionCheckpoint, SessionTurn, TurnRef } from "../turn/Session.js"
import * as SessionChecks from "../turn/SessionChecks.js"
import {
  SessionCapacityError,
  SessionConflictError,
  type SessionStorageError,
  SessionTransitionError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as SessionChange from "./SessionChange.js"
import * as SessionCheckpoints from "./SessionCheckpoints.js"
import type * as SessionManager from "./SessionManager.js"
import type * as SessionWriter from "./SessionWriter.js"

const isSame = (a: TurnRef | undefined, b: TurnRef | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.turnId === b.turnId)

const nameOf = (head: TurnRef | null | undefined): string =>
  head === undefined || head === null ? "no turn" : `${head.turnId} of ${head.sessionId}`

const pageSize = 200

/** Whether a turn is on the path that ends with `end`, which has this depth. */
const isOnPath = (
  store: SessionStore.Service,
  end: TurnRef,
  depth: number,
  turn: SessionTurn
): Effect.Effect<boolean, SessionStorageError> => {
  // Most turns off the path are deeper than its end, because they were added later.
  if (turn.depth >= depth) return Effect.succeed(isSame(end, { sessionId: turn.sessionId, turnId: turn.id }))
  return Effect.flatMap(store.turns(end, { limit: Math.min(pageSize, depth - turn.depth + 1) }), ([first]) => {
    if (first === undefined) return Effect.succeed(false)
    if (first.depth <= turn.depth || first.parent === undefined) {
      return Effect.succeed(first.sessionId === turn.sessionId && first.id === turn.id)
    }
    return isOnPath(store, first.parent, first.depth - 1, turn)
  })
}

/** The turn with this id that a branch inherited. */
const findInherited = Effect.fnUntraced(function* (store: SessionStore.Service, session: Session, turnId: TurnId) {
  for (const { depth, sessionId, turnId: end } of session.lineage.toReversed()) {
    const found = yield* store.turn({ sessionId, turnId })
    if (Option.isSome(found) && (yield* isOnPath(store, { sessionId, turnId: end }, depth, found.value))) return found
  }
  return Option.none<SessionTurn>()
})

const findKnown = (
  store: SessionStore.Service,
  session: Session,
  turnId: TurnId
): Effect.Effect<Option.Option<SessionTurn>, SessionStorageError> =>
  Effect.flatMap(store.turn({ sessionId: session.id, turnId }), (own) =>
    Option.isSome(own) || session.lineage.length === 0 ? Effect.succeed(own) : findInherited(store, session, turnId)
  )

/** The content of a turn: time, model and price are not part of it. */
const contentOf = ({ content, files, role, skillResults, toolCalls }: NewTurn): string =>
  CanonicalJson.stringify([role, content, toolCalls, skillResults, ...(files === undefined ? [] : [files])])

const conflict = (session: Session, given: NewTurn, message: string, actual: string): SessionConflictError =>
  new SessionConflictError({
    message,
    hint: "Give each turn an id of its own; a repeated turn must have the same content",
    sessionId: session.id,
    expected: `turn ${given.id} as given`,
    actual
  })

/**
 * Rejects a turn whose stored version has different content.
 *
 * @category checks
 */
export const requireSameContent = (
  session: Session,
  kept: SessionTurn,
  given: NewTurn
): Effect.Effect<void, SessionConflictError> =>
  contentOf(kept) === contentOf(given)
    ? Effect.void
    : conflict(session, given, "The id belongs to another turn of the session with different content", "another turn")

/**
 * Replaces a given turn by the stored one with its id. Both must have the same content, unless the first one wins, and
 * the stored one must be on the path to the head. A session that was never restored has all of its turns there.
 *
 * @category checks
 */
export const replaceByStored = (
  store: SessionStore.Service,
  session: Session,
  kept: SessionTurn,
  given: NewTurn,
  options?: SessionManager.AddTurnOptions | undefined
): Effect.Effect<SessionTurn, SessionConflictError | SessionStorageError> => {
  const contentCheck = options?.ifKnown === "first" ? Effect.void : requireSameContent(session, kept, given)
  if (kept.sessionId !== session.id || session.cuts.length === 0) return Effect.as(contentCheck, kept)
  const { depth, head } = session
  const isThere = head === undefined ? Effect.succeed(false) : isOnPath(store, head, depth, kept)
  return Effect.flatMap(Effect.zipRight(contentCheck, isThere), (isThere) =>
    isThere
      ? Effect.succeed(kept)
      : conflict(
          session,
          given,
          "The id belongs to a turn that a restore removed from the path",
          "a turn off the path to the head"
        )
  )
}

/**
 * The given turns that a branch inherited.
 *
 * @category accessors
 */
export const findAllInherited = (
  { writer: { store } }: SessionChange.Parts,
  session: Session,
  given: ReadonlyArray<NewTurn>
): Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError> =>
  session.lineage.length === 0
    ? Effect.succeed([])
    : Effect.map(
        Effect.forEach(given, ({ id }) => findInherited(store, session, id)),
        Arr.getSomes
      )

/**
 * Why a session takes no more turns, or not so many.
 *
 * @category errors
 */
export const refusal = ({ settings }: SessionChange.Parts, session: Session, count = 1) => {
  const ended = SessionChange.refusal(session)
  if (ended !== undefined) return ended
  if (session.status === "suspended") {
    return new SessionTransitionError({
      message: "The session is suspended and takes no turns",
      hint: "Resume it first",
      sessionId: session.id,
      fromStatus: "suspended",
      toStatus: "active"
    })
  }
  if (session.depth + count > settings.maxTurns) {
    return new SessionCapacityError({
      message: `The session has ${session.depth} turns, and may not have more than ${settings.maxTurns}`,
      hint: "Continue in another session, or allow more turns (`maxTurnsPerSession`)",
      detail: "turns of a session"
    })
  }
  return undefined
}

const unexpected = (session: Session, expected: TurnRef | null | undefined): SessionConflictError | undefined =>
  expected === undefined || isSame(expected ?? undefined, session.head)
    ? undefined
    : new SessionConflictError({
        message: "The newest turn of the session is not the one that the caller expects",
        hint: "Read the turns again, and add the turn if it still fits",
        sessionId: session.id,
        expected: nameOf(expected),
        actual: nameOf(session.head)
      })

interface Added {
  readonly turn: SessionTurn
  /** Absent when the turn already existed. */
  readonly written?: { readonly session: Session; readonly checkpoint: SessionCheckpoint | undefined }
}

type Decision = SessionWriter.Decision<SessionChange.Outcome<Added>, SessionConflictError | SessionStorageError>

/**
 * Appends turns to the head, with a checkpoint when enough turns have been added since the last one.
 *
 * @category constructors
 */
export const append = Effect.fnUntraced(function* (
  { settings }: SessionChange.Parts,
  session: Session,
  given: ReadonlyArray<NewTurn>,
  now: number
) {
  let parent = session.head
  const turns = given.map((one, index): SessionTurn => {
    const turn = {
      ...one,
      sessionId: session.id,
      ...(parent === undefined ? {} : { parent }),
      depth: session.depth + index + 1
    }
    parent = { sessionId: session.id, turnId: turn.id }
    return turn
  })
  const depth = session.depth + turns.length
  const grown = SessionChange.next(session, now, {
    ...(parent === undefined ? {} : { head: parent }),
    depth,
    totalTokens: turns.reduce(
      (sum, turn) => Math.min(Number.MAX_SAFE_INTEGER, sum + turn.tokensUsed),
      session.totalTokens
    ),
    totalCost: turns.reduce((sum, turn) => Math.min(Number.MAX_VALUE, sum + turn.cost), session.totalCost)
  })
  const { autoCheckpointInterval: interval, maxCheckpoints: keepCheckpoints } = settings
  if (interval === undefined || Math.floor(depth / interval) === Math.floor(session.depth / interval)) {
    return { turns, addition: { session: grown, turns }, checkpoint: undefined }
  }
  const checkpoint = yield* SessionCheckpoints.make(grown, { kind: "auto", now, parent: session.checkpointId })
  return {
    turns,
    addition: { session: { ...grown, checkpointId: checkpoint.id }, turns, checkpoint, keepCheckpoints },
    checkpoint
  }
})

const added = (
  parts: SessionChange.Parts,
  session: Session,
  given: NewTurn,
  now: number,
  options: SessionManager.AddTurnOptions | undefined
): Effect.Effect<Decision> =>
  Effect.map(append(parts, session, [given], now), ({ addition, checkpoint, turns }): Decision => {
    const turn = turns[0] as SessionTurn
    return {
      _tag: "Append",
      value: { _tag: "Done", value: { turn, written: { session: addition.session, checkpoint } } },
      addition,
      known: ([kept = turn]) =>
        Effect.map(replaceByStored(parts.writer.store, session, kept, given, options), (turn) => ({
          _tag: "Done",
          value: { turn }
        }))
    }
  })

/**
 * @category constructors
 */
export const addTurn =
  (parts: SessionChange.Parts): SessionManager.Service["addTurn"] =>
  (id, given, options) => {
    const { store } = parts.writer
    const checked = Effect.suspend(() => SessionChecks.turn(given, parts.settings.maxTurnBytes))
    const written = Effect.flatMap(checked, (turn) =>
      SessionChange.change(parts, id, options, {
        decide: Effect.fnUntraced(function* (session: Session, now: number) {
          const refused = refusal(parts, session) ?? unexpected(session, options?.expectedHead)
          const overdue = SessionChange.isOverdue(parts, session, now)
          // The store detects a turn that the session itself already has when it writes.
          const first =
            refused === undefined && !overdue
              ? session.lineage.length === 0
                ? Option.none<SessionTurn>()
                : yield* findInherited(store, session, turn.id)
              : yield* findKnown(store, session, turn.id)
          if (Option.isSome(first)) {
            return SessionChange.keep<Added>({
              turn: yield* replaceByStored(store, session, first.value, turn, options)
            })
          }
          if (overdue) return SessionChange.expire(session, now)
          if (refused !== undefined) return yield* refused
          return yield* added(parts, session, turn, now, options)
        }),
        after: ({ turn, written }: Added, restore) =>
          written === undefined
            ? Effect.succeed(turn)
            : Effect.as(parts.effects.turnsAdded([turn], written.session, written.checkpoint, restore), turn),
        refuse: SessionChange.expired
      })
    )
    return SessionTelemetry.observed("add_turn", id, written)
  }

/** The head of the page before a turn; none when the session does not have that turn. */
const endBefore = (
  store: SessionStore.Service,
  session: Session,
  before: TurnRef
): Effect.Effect<TurnRef | undefined, SessionStorageError> => {
  const ancestor = session.lineage.find(({ sessionId }) => sessionId === before.sessionId)
  if (ancestor === undefined && before.sessionId !== session.id) return Effect.succeed(undefined)
  return Effect.map(store.turn(before), (found) =>
    Option.isSome(found) && (ancestor === undefined || found.value.depth <= ancestor.depth)
      ? found.value.parent
      : undefined
  )
}

/**
 * @category constructors
 */
export const turns =
  ({ writer: { find, store } }: SessionChange.Parts): SessionManager.Service["turns"] =>
  (id, options) =>
    SessionTelemetry.observed(
      "turns",
      id,
      Effect.gen(function* () {
        const session = yield* find(id, options)
        const limit = Math.min(Number.MAX_SAFE_INTEGER, Count.count(options.last, 0, 0))
        if (limit === 0) return []
        const end = options.before === undefined ? session.head : yield* endBefore(store, session, options.before)
        return end === undefined ? [] : yield* store.turns(end, { limit, since: options.since })
      })
    )
