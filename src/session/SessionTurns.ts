/**
 * Turns of sessions: put behind the head, and read by window.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TurnId } from "../domain/Ids.js"
import * as Count from "../internal/Count.js"
import type { Ancestor, NewTurn, Session, SessionCheckpoint, SessionTurn, TurnRef } from "./Session.js"
import * as SessionChange from "./SessionChange.js"
import * as SessionCheckpoints from "./SessionCheckpoints.js"
import * as SessionChecks from "./SessionChecks.js"
import {
  SessionCapacityError,
  SessionConflictError,
  type SessionStorageError,
  SessionTransitionError
} from "./SessionError.js"
import type * as SessionManager from "./SessionManager.js"
import * as SessionNotices from "./SessionNotices.js"
import type * as SessionStore from "./SessionStore.js"
import type * as SessionWriter from "./SessionWriter.js"

const isSame = (a: TurnRef | undefined, b: TurnRef | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.sessionId === b.sessionId && a.turnId === b.turnId)

const nameOf = (head: TurnRef | null | undefined): string =>
  head === undefined || head === null ? "no turn" : `${head.turnId} of ${head.sessionId}`

const pageSize = 200

/** Whether a turn that an ancestor wrote lies on the way to where the branch left it. */
const isOnTheWay = (
  store: SessionStore.Service,
  ancestor: Ancestor,
  turn: SessionTurn
): Effect.Effect<boolean, SessionStorageError> => {
  const isBefore = (end: TurnRef, depth: number): Effect.Effect<boolean, SessionStorageError> =>
    Effect.flatMap(store.turns(end, { limit: Math.min(pageSize, depth - turn.depth + 1) }), ([first]) => {
      if (first === undefined) return Effect.succeed(false)
      if (first.depth <= turn.depth || first.parent === undefined) {
        return Effect.succeed(first.sessionId === turn.sessionId && first.id === turn.id)
      }
      return isBefore(first.parent, first.depth - 1)
    })
  // Most that do not lie on it are deeper than where the branch left it: they were said afterwards.
  return turn.depth >= ancestor.depth
    ? Effect.succeed(turn.id === ancestor.turnId)
    : isBefore({ sessionId: ancestor.sessionId, turnId: ancestor.turnId }, ancestor.depth)
}

/** The turn of this id that a branch has from where it comes. */
const inherited = Effect.fnUntraced(function* (store: SessionStore.Service, session: Session, turnId: TurnId) {
  for (const ancestor of session.lineage.toReversed()) {
    const found = yield* store.turn({ sessionId: ancestor.sessionId, turnId })
    if (Option.isSome(found) && (yield* isOnTheWay(store, ancestor, found.value))) return found
  }
  return Option.none<SessionTurn>()
})

const known = (
  store: SessionStore.Service,
  session: Session,
  turnId: TurnId
): Effect.Effect<Option.Option<SessionTurn>, SessionStorageError> =>
  Effect.flatMap(store.turn({ sessionId: session.id, turnId }), (own) =>
    Option.isSome(own) || session.lineage.length === 0 ? Effect.succeed(own) : inherited(store, session, turnId)
  )

const refusal = (
  { settings }: SessionChange.Parts,
  session: Session,
  options: SessionManager.AddTurnOptions | undefined
) => {
  const ended = SessionChange.refusal(session)
  if (ended !== undefined) return ended
  if (session.status === "suspended") {
    return new SessionTransitionError({
      message: "A suspended session takes no turns",
      hint: "Resume it first",
      sessionId: session.id,
      fromStatus: "suspended",
      toStatus: "active"
    })
  }
  const expected = options?.expectedHead
  if (expected !== undefined && !isSame(expected ?? undefined, session.head)) {
    return new SessionConflictError({
      message: "The newest turn of the session is another one than the caller knows",
      hint: "Read the turns again, and add the turn if it still fits",
      sessionId: session.id,
      expected: nameOf(expected),
      actual: nameOf(session.head)
    })
  }
  if (session.depth >= settings.maxTurns) {
    return new SessionCapacityError({
      message: `The session has ${settings.maxTurns} turns, and may not have more`,
      hint: "Go on in another session, or allow more turns (`maxTurnsPerSession`)",
      detail: "turns of a session"
    })
  }
  return undefined
}

interface Added {
  readonly turn: SessionTurn
  /** Absent when the turn was there already. */
  readonly written?: { readonly session: Session; readonly checkpoint: SessionCheckpoint | undefined }
}

type Decision = SessionWriter.Decision<SessionChange.Outcome<Added>>

const append = Effect.fnUntraced(function* (
  { settings }: SessionChange.Parts,
  session: Session,
  given: NewTurn,
  now: number
) {
  const depth = session.depth + 1
  const turn: SessionTurn = {
    ...given,
    sessionId: session.id,
    ...(session.head === undefined ? {} : { parent: session.head }),
    depth
  }
  const grown = SessionChange.next(session, now, {
    head: { sessionId: session.id, turnId: turn.id },
    depth,
    totalTokens: Math.min(Number.MAX_SAFE_INTEGER, session.totalTokens + turn.tokensUsed),
    totalCost: Math.min(Number.MAX_VALUE, session.totalCost + turn.cost)
  })
  const { autoCheckpointInterval: interval, maxCheckpoints: keepCheckpoints } = settings
  const decided = (changed: Session, checkpoint: SessionCheckpoint | undefined): Decision => ({
    _tag: "Append",
    value: { _tag: "Done", value: { turn, written: { session: changed, checkpoint } } },
    addition: {
      session: changed,
      turns: [turn],
      ...(checkpoint === undefined ? {} : { checkpoint, keepCheckpoints })
    },
    known: (turns) => ({ _tag: "Done", value: { turn: turns[0] ?? turn } })
  })
  if (interval === undefined || depth % interval !== 0) return decided(grown, undefined)
  const checkpoint = yield* SessionCheckpoints.of(grown, { kind: "auto", now, parent: session.checkpointId })
  return decided({ ...grown, checkpointId: checkpoint.id }, checkpoint)
})

/**
 * @category constructors
 */
export const addTurn =
  (parts: SessionChange.Parts): SessionManager.Service["addTurn"] =>
  (id, given, options) => {
    const { store } = parts.writer
    const checked = Effect.suspend(() => SessionChecks.turn(given))
    const added = Effect.flatMap(checked, (turn) =>
      SessionChange.change(parts, id, options, {
        decide: Effect.fnUntraced(function* (session: Session, now: number) {
          const refused = refusal(parts, session, options)
          const overdue = SessionChange.isOverdue(parts, session, now)
          // A turn the session itself has already is found by the store when it is to be written.
          const first =
            refused === undefined && !overdue
              ? session.lineage.length === 0
                ? Option.none<SessionTurn>()
                : yield* inherited(store, session, turn.id)
              : yield* known(store, session, turn.id)
          if (Option.isSome(first)) return SessionChange.keep<Added>({ turn: first.value })
          if (overdue) return SessionChange.expire(session, now)
          if (refused !== undefined) return yield* refused
          return yield* append(parts, session, turn, now)
        }),
        after: ({ turn, written }: Added, restore) =>
          written === undefined
            ? Effect.succeed(turn)
            : Effect.as(parts.followUp.turnAdded(turn, written.session, written.checkpoint, restore), turn),
        refuse: SessionChange.expired
      })
    )
    return SessionNotices.observed("add_turn", id, added)
  }

/** Where the page before a turn ends; none when the session does not know that turn. */
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
    SessionNotices.observed(
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
