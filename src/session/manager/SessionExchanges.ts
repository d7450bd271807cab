/**
 * Exchanges of sessions: opened with the question before the run answers, closed with the answer, and marked as
 * interrupted when the answering process is gone.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type RunId, type SessionId, TurnId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import type { Exchange, NewTurn, Session, SessionCheckpoint, SessionTurn } from "../turn/Session.js"
import * as SessionChecks from "../turn/SessionChecks.js"
import { type SessionConflictError, SessionInputError, SessionStorageError } from "../turn/SessionError.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as SessionChange from "./SessionChange.js"
import type * as SessionLease from "./SessionLease.js"
import type * as SessionManager from "./SessionManager.js"
import * as SessionTurns from "./SessionTurns.js"
import type * as SessionWriter from "./SessionWriter.js"

/** Two turns with one id in an exchange would become one. */
const checkedAll = (
  { settings }: SessionChange.Parts,
  turns: ReadonlyArray<NewTurn>
): Effect.Effect<ReadonlyArray<NewTurn>, SessionInputError> =>
  Effect.flatMap(
    Effect.forEach(turns, (turn) => SessionChecks.turn(turn, settings.maxTurnBytes)),
    (checked) =>
      new Set(checked.map(({ id }) => id)).size === checked.length
        ? Effect.succeed(checked)
        : Effect.fail(
            new SessionInputError({
              message: "Two turns of the exchange have the same id",
              hint: "Give each turn an id of its own"
            })
          )
  )

const keyOf = (id: SessionId, runId: RunId): string => JSON.stringify([id, runId])

/**
 * @category constructors
 */
export const begin =
  (parts: SessionChange.Parts, lease: SessionLease.Lease): SessionManager.Service["beginExchange"] =>
  (id, { durable, runId, turns: given, ...access }) => {
    const { find, store, writes } = parts.writer
    const key = keyOf(id, runId)
    const begun = Effect.gen(function* () {
      const turns = yield* checkedAll(parts, given)
      const session = yield* find(id, access)
      if (SessionChange.isOverdue(parts, session, yield* Clock.currentTimeMillis)) {
        return yield* SessionChange.expired(id)
      }
      // The answer needs room too.
      const refused = SessionTurns.refusal(parts, session, turns.length + 1)
      if (refused !== undefined) return yield* refused
      if (durable === true) return yield* writes.open({ sessionId: id, runId, turns })
      yield* lease.sweep
      yield* Effect.uninterruptible(
        Effect.flatMap(lease.hold(key), (owner) =>
          // A failed write may still have taken effect.
          Effect.onError(writes.open({ sessionId: id, runId, owner, turns }), () =>
            lease.leave(key, store.withdraw({ sessionId: id, runId }))
          )
        )
      )
    })
    return SessionTelemetry.observed("begin_exchange", id, begun)
  }

interface Written {
  readonly session: Session
  readonly checkpoint: SessionCheckpoint | undefined
}

type Closed =
  | { readonly _tag: "Closed"; readonly turns: ReadonlyArray<SessionTurn>; readonly written?: Written | undefined }
  /** The question was marked as interrupted in the meantime. */
  | { readonly _tag: "Late"; readonly known: ReadonlySet<TurnId> }

type Closing = SessionWriter.Decision<Closed, SessionConflictError | SessionStorageError>

/**
 * Turns that the session already has: all of them when the exchange has ended before, some when its question was
 * marked.
 */
const known = (
  { writer: { store } }: SessionChange.Parts,
  session: Session,
  given: ReadonlyArray<NewTurn>,
  kept: ReadonlyArray<SessionTurn>
): Effect.Effect<Closed, SessionConflictError | SessionStorageError> => {
  const byId = new Map(kept.map((turn) => [turn.id, turn]))
  const both = given.flatMap((turn) => {
    const one = byId.get(turn.id)
    return one === undefined ? [] : [[one, turn] as const]
  })
  return both.length === given.length
    ? Effect.map(
        Effect.forEach(both, ([one, turn]) => SessionTurns.replaceByStored(store, session, one, turn)),
        (turns): Closed => ({ _tag: "Closed", turns })
      )
    : Effect.as(
        Effect.forEach(both, ([one, turn]) => SessionTurns.requireSameContent(session, one, turn), { discard: true }),
        { _tag: "Late", known: new Set(byId.keys()) } as const
      )
}

/**
 * Appends to the head in any status of the session: a question asked while the session took turns is stored with its
 * answer.
 */
const closing = Effect.fnUntraced(function* (
  parts: SessionChange.Parts,
  session: Session,
  runId: RunId,
  turns: ReadonlyArray<NewTurn>,
  at: number
) {
  const before = yield* SessionTurns.findAllInherited(parts, session, turns)
  if (before.length > 0) {
    const decided: Closing = { _tag: "Keep", value: yield* known(parts, session, turns, before) }
    return decided
  }
  const { addition, checkpoint, turns: added } = yield* SessionTurns.append(parts, session, turns, at)
  const decided: Closing = {
    _tag: "Append",
    value: { _tag: "Closed", turns: added, written: { session: addition.session, checkpoint } },
    addition: { ...addition, closes: runId },
    known: (kept) => known(parts, session, turns, kept)
  }
  return decided
})

const announced = (
  parts: SessionChange.Parts,
  value: Closed,
  restore: SessionTelemetry.Restore,
  savedTo?: ReadonlyArray<WorkingMemory.Service>
): Effect.Effect<ReadonlyArray<SessionTurn>> =>
  value._tag === "Late"
    ? Effect.succeed([])
    : value.written === undefined
      ? Effect.succeed(value.turns)
      : Effect.as(
          parts.effects.turnsAdded(value.turns, value.written.session, value.written.checkpoint, restore, savedTo),
          value.turns
        )

/** Writes the turns of an exchange and closes it. */
const close = (
  parts: SessionChange.Parts,
  id: SessionId,
  { runId, savedTo, turns, ...access }: SessionManager.EndExchangeOptions
) => {
  const { modify, store } = parts.writer
  const ref = { sessionId: id, runId }
  const write = (turns: ReadonlyArray<NewTurn>) =>
    SessionTelemetry.thenAfterWrite(
      (written: SessionTelemetry.Written<Closed>) =>
        modify(
          id,
          access,
          Effect.fnUntraced(function* (session: Session, now: number) {
            const refused = SessionTurns.refusal(parts, session, turns.length)
            if (refused !== undefined && Option.isNone(yield* store.exchange(ref))) return yield* refused
            const isLasting = refused === undefined && !SessionChange.isOverdue(parts, session, now)
            return yield* closing(parts, session, runId, turns, isLasting ? now : session.updatedAt)
          }),
          written
        ),
      (value, restore) => Effect.map(announced(parts, value, restore, savedTo), (turns) => ({ value, turns }))
    )
  return Effect.gen(function* () {
    const first = yield* write(turns)
    if (first.value._tag === "Closed") {
      if (first.value.written === undefined) yield* store.withdraw(ref)
      return first.turns
    }
    const { known } = first.value
    // The marked question stays. It is repeated, so that the answer follows it.
    const again = turns.map((turn) => (known.has(turn.id) ? { ...turn, id: TurnId.make(`${turn.id}:late`) } : turn))
    const late = yield* write(again)
    yield* store.withdraw(ref)
    return late.turns
  })
}

const isStorage = (error: unknown): error is SessionStorageError => error instanceof SessionStorageError

/**
 * A write that fails in the store, or is interrupted, is retried in the background while this process keeps the
 * exchange open. When the answer cannot be stored for another reason, the question is stored without it.
 *
 * @category constructors
 */
export const end =
  (parts: SessionChange.Parts, lease: SessionLease.Lease): SessionManager.Service["endExchange"] =>
  (id, { turns: given, ...options }) => {
    const { find, store } = parts.writer
    const key = keyOf(id, options.runId)
    const unanswered: Effect.Effect<void, SessionStorageError> = find(id, options).pipe(
      Effect.zipRight(store.exchange({ sessionId: id, runId: options.runId })),
      Effect.flatMap(
        Option.match({
          onNone: () => Effect.void,
          onSome: (exchange) => Effect.asVoid(giveUp(parts, exchange, "failed"))
        })
      ),
      Effect.catchTag("SessionNotFoundError", () => Effect.void)
    )
    const closed = Effect.flatMap(checkedAll(parts, given), (turns) => close(parts, id, { ...options, turns }))
    const later = Effect.asVoid(
      Effect.catchAll(closed, (error) => (isStorage(error) ? Effect.fail(error) : unanswered))
    )
    const ended = Effect.flatMap(SystemAccess.held, (held) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.exit(restore(closed)), (exit) => {
          if (Exit.isSuccess(exit)) return Effect.zipRight(lease.letGo(key), exit)
          const isLost = Cause.isInterrupted(exit.cause) || Option.exists(Cause.failureOption(exit.cause), isStorage)
          const rest = isLost ? later : unanswered
          return Effect.flatMap(isLost ? Effect.succeed(false) : Effect.isSuccess(restore(rest)), (isDone) =>
            Effect.zipRight(isDone ? lease.letGo(key) : lease.leave(key, SystemAccess.holding(held)(rest)), exit)
          )
        })
      )
    )
    return SessionTelemetry.observed("end_exchange", id, ended)
  }

/** Stores the question without an answer, marked. This does not extend the life of the session. */
const giveUp = (
  parts: SessionChange.Parts,
  { runId, sessionId, turns }: Exchange,
  unanswered: "failed" | "interrupted"
): Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError> => {
  const { modify, store } = parts.writer
  const withdrawn = Effect.as(store.withdraw({ sessionId, runId }), [])
  const marked = turns.map((turn): NewTurn => (turn.role === "user" ? { ...turn, unanswered } : turn))
  return SessionTelemetry.thenAfterWrite(
    (written: SessionTelemetry.Written<Closed>) =>
      SystemAccess.grant(
        modify(
          sessionId,
          {},
          (session, now) =>
            closing(
              parts,
              session,
              runId,
              marked.map((turn) => ({ ...turn, timestamp: now })),
              session.updatedAt
            ),
          written
        )
      ),
    (value, restore) =>
      Effect.flatMap(announced(parts, value, restore), (turns) =>
        value._tag === "Closed" && value.written !== undefined ? Effect.succeed(turns) : withdrawn
      )
  ).pipe(
    Effect.catchTags({ SessionNotFoundError: () => withdrawn, SessionConflictError: () => withdrawn }),
    SessionChange.unlimited
  )
}

/**
 * A failure for one exchange does not stop the others.
 *
 * @category constructors
 */
export const recover = (
  parts: SessionChange.Parts,
  limit: number
): Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError> =>
  Effect.flatMap(Clock.currentTimeMillis, (at) =>
    Effect.flatMap(parts.writer.store.orphans({ at, limit }), (orphans) =>
      Effect.flatMap(
        Effect.forEach(orphans, (orphan) => Effect.either(giveUp(parts, orphan, "interrupted"))),
        (marked) => Effect.map(Effect.all(marked), (turns) => turns.flat())
      )
    )
  )
