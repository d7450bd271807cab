/**
 * Stores, lists and restores checkpoints of sessions.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as Count from "../../internal/Count.js"
import { CheckpointId, type Cut, isLive, type Session, type SessionCheckpoint, stateOf } from "../turn/Session.js"
import * as SessionChecks from "../turn/SessionChecks.js"
import { CheckpointNotFoundError, SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as SessionChange from "./SessionChange.js"
import type * as SessionManager from "./SessionManager.js"

/**
 * The checkpoint of a session, as it is written with it.
 *
 * @category constructors
 */
export const make = (
  session: Session,
  options: {
    readonly kind: SessionCheckpoint["kind"]
    readonly now: number
    readonly parent: CheckpointId | undefined
    readonly name?: string | undefined
    readonly metadata?: SessionCheckpoint["metadata"] | undefined
  }
): Effect.Effect<SessionCheckpoint> =>
  Effect.map(IdGenerator.generate, (id) => ({
    id: CheckpointId.make(id),
    sessionId: session.id,
    ...(options.name === undefined ? {} : { name: options.name }),
    kind: options.kind,
    state: stateOf(session),
    createdAt: options.now,
    revision: session.revision,
    ...(options.parent === undefined ? {} : { parentCheckpointId: options.parent }),
    metadata: options.metadata ?? {}
  }))

/**
 * @category constructors
 */
export const checkpoint =
  (parts: SessionChange.Parts): SessionManager.Service["checkpoint"] =>
  (id, options) => {
    const made = Effect.gen(function* () {
      yield* SessionChecks.name(options?.name)
      const metadata = yield* SessionChecks.attributes("The checkpoint", "metadata", options?.metadata)
      const decide = Effect.fnUntraced(function* (session: Session, now: number) {
        // A checkpoint is not activity: it does not extend the life of the session.
        const looked = SessionChange.next(session, session.updatedAt, {})
        const made = yield* make(looked, {
          kind: "manual",
          now,
          parent: session.checkpointId,
          name: options?.name,
          metadata
        })
        return {
          _tag: "Save" as const,
          value: made,
          change: {
            session: { ...looked, checkpointId: made.id },
            checkpoint: made,
            keepCheckpoints: parts.settings.maxCheckpoints
          }
        }
      })
      return yield* SessionTelemetry.thenAfterWrite(
        (written: SessionTelemetry.Written<SessionCheckpoint>) => parts.writer.modify(id, options, decide, written),
        (made, restore) => Effect.as(parts.effects.telemetry.checkpointed(made, restore), made)
      )
    })
    return SessionTelemetry.observed("checkpoint", id, SessionChange.unlimited(made))
  }

/**
 * @category constructors
 */
export const checkpoints =
  ({ writer: { find, store } }: SessionChange.Parts): SessionManager.Service["checkpoints"] =>
  (id, options) =>
    SessionTelemetry.observed(
      "checkpoints",
      id,
      Effect.flatMap(find(id, options), () => {
        const limit = Math.min(Number.MAX_SAFE_INTEGER, Count.count(options?.limit, Number.MAX_SAFE_INTEGER, 0))
        return limit === 0
          ? Effect.succeed([])
          : store.checkpoints(id, { limit, before: options?.before, kinds: options?.kinds })
      })
    )

const notFound = (checkpointId: CheckpointId): CheckpointNotFoundError =>
  new CheckpointNotFoundError({
    message: "The checkpoint was not found",
    hint: "List the checkpoints of the session; the oldest are deleted beyond the limit, and those of another user are not found",
    checkpointId
  })

/**
 * The time of the turn that the session returns to; 0, before all of its own turns, when the session did not write that
 * turn.
 */
const headTime = (
  store: SessionStore.Service,
  { sessionId, state: { head } }: SessionCheckpoint
): Effect.Effect<number, SessionStorageError> =>
  head === undefined || head.sessionId !== sessionId
    ? Effect.succeed(0)
    : Effect.flatMap(store.turn(head), (turn) =>
        Option.isSome(turn)
          ? Effect.succeed(turn.value.timestamp)
          : Effect.fail(
              new SessionStorageError({
                message: "The newest turn of the checkpoint is no longer stored",
                hint: "Restore another checkpoint"
              })
            )
      )

/**
 * Turns of one run and copies of a merge are a millisecond apart; a time further ahead of the clock is a time of its
 * own.
 */
const maxClockLead = 10_000

/** The end of the cut. */
const endOfCut = (
  store: SessionStore.Service,
  { head }: Session,
  now: number
): Effect.Effect<number, SessionStorageError> =>
  head === undefined
    ? Effect.succeed(now)
    : Effect.map(store.turn(head), (turn) =>
        Option.isSome(turn) && turn.value.timestamp < now + maxClockLead ? Math.max(now, turn.value.timestamp + 1) : now
      )

/** The cuts of a session after it drops everything after a time. */
const cutsWith = (cuts: ReadonlyArray<Cut>, { after, before: end }: Cut): ReadonlyArray<Cut> => {
  const before = cuts.reduce((latest, cut) => (cut.after === after ? Math.max(latest, cut.before) : latest), end)
  return bounded([...cuts.filter((cut) => cut.after < after || cut.before > before), { after, before }])
}

/**
 * Every write carries all cuts. Beyond the maximum, the oldest two become one, and the turns between them are no longer
 * recalled.
 */
const maxCuts = 256

const bounded = (cuts: ReadonlyArray<Cut>): ReadonlyArray<Cut> => {
  const [first, second, ...others] = cuts
  return cuts.length <= maxCuts || first === undefined || second === undefined
    ? cuts
    : [{ after: Math.min(first.after, second.after), before: Math.max(first.before, second.before) }, ...others]
}

/** The session with the state of the checkpoint; its status, its place in the tree and its times stay. */
const restored = (
  { checkpointId: _checkpointId, head: _head, systemPrompt: _systemPrompt, ...session }: Session,
  { id, state }: SessionCheckpoint,
  left: Cut,
  now: number
): Session => {
  const { status: _status, cuts, ...kept } = state
  return SessionChange.next(session, now, { ...kept, cuts: cutsWith(cuts, left), checkpointId: id })
}

/**
 * @category constructors
 */
export const restore =
  (parts: SessionChange.Parts): SessionManager.Service["restore"] =>
  (checkpointId, options) => {
    const { store } = parts.writer
    const done = Effect.gen(function* () {
      const found = yield* store.checkpoint(checkpointId)
      if (Option.isNone(found)) return yield* notFound(checkpointId)
      const checkpoint = found.value
      return yield* SessionChange.change(parts, checkpoint.sessionId, options, {
        decide: Effect.fnUntraced(function* (session: Session, now: number) {
          const overdue = SessionChange.isOverdue(parts, session, now)
          if (options?.reopen !== true) {
            if (overdue) return SessionChange.expire(session, now)
            const refused = SessionChange.refusal(session)
            if (refused !== undefined) return yield* refused
          }
          const left = { after: yield* headTime(store, checkpoint), before: yield* endOfCut(store, session, now) }
          const back = restored(session, checkpoint, left, now)
          if (isLive(session) && !overdue) return SessionChange.save(back, { session: back })
          const opened: Session = { ...back, status: "active" }
          const limits = isLive(session) ? undefined : { perUser: parts.settings.maxSessionsPerUser }
          return SessionChange.save(opened, { session: opened, limits })
        }),
        after: (session: Session) => Effect.as(parts.effects.telemetry.changed("restored", session), session),
        refuse: SessionChange.expired
      })
    })
    return SessionTelemetry.observed(
      "restore",
      undefined,
      // A session of another owner has no checkpoints for the caller.
      Effect.catchTag(SessionChange.opening(parts, done), "SessionNotFoundError", () =>
        Effect.fail(notFound(checkpointId))
      )
    )
  }
