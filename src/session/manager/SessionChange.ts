/**
 * The steps that operations of the manager share: expire an overdue session first, decide, write, and run the effects
 * once.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SessionId } from "../../domain/Ids.js"
import { isLive, type Session } from "../turn/Session.js"
import {
  SessionCapacityError,
  SessionClosedError,
  SessionExpiredError,
  type SessionStorageError
} from "../turn/SessionError.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import type * as SessionEffects from "./SessionEffects.js"
import type * as SessionWriter from "./SessionWriter.js"

/**
 * The options of the manager, with defaults applied.
 *
 * @category models
 */
export interface Settings {
  readonly defaultSystemPrompt: string | undefined
  /** Milliseconds; infinite for never. */
  readonly ttl: number
  readonly maxTurns: number
  readonly maxTurnBytes: number
  readonly maxSessionsPerUser: number | undefined
  readonly autoCheckpointInterval: number | undefined
  readonly maxCheckpoints: number | undefined
}

/**
 * @category models
 */
export interface Parts {
  readonly settings: Settings
  readonly writer: SessionWriter.Service
  readonly effects: SessionEffects.Effects
}

const reopening = "Create another session, or restore one of its checkpoints with `reopen`"

/**
 * @category errors
 */
export const closed = (sessionId: SessionId): SessionClosedError =>
  new SessionClosedError({ message: "The session is closed", hint: reopening, sessionId })

/**
 * @category errors
 */
export const expired = (sessionId: SessionId): SessionExpiredError =>
  new SessionExpiredError({
    message: "The session has expired: it was idle for too long",
    hint: reopening,
    sessionId
  })

/**
 * Why a session is no longer live, if it is not.
 *
 * @category errors
 */
export const refusal = ({ id, status }: Session): SessionClosedError | SessionExpiredError | undefined => {
  switch (status) {
    case "active":
    case "suspended":
      return undefined
    case "closed":
      return closed(id)
    case "expired":
      return expired(id)
  }
}

/**
 * Whether a live session has exceeded its TTL.
 *
 * @category predicates
 */
export const isOverdue = ({ settings }: Parts, session: Session, now: number): boolean =>
  isLive(session) && session.updatedAt <= now - settings.ttl

/**
 * The result of a decision: a value, or a session found expired.
 *
 * @category models
 */
export type Outcome<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Expired"; readonly session: Session }

/**
 * The next revision of the session.
 *
 * @category constructors
 */
export const next = (session: Session, now: number, changes: Partial<Session>): Session => ({
  ...session,
  updatedAt: now,
  ...changes,
  revision: session.revision + 1
})

/**
 * @category decisions
 */
export const keep = <A>(value: A): SessionWriter.Decision<Outcome<A>> => ({
  _tag: "Keep",
  value: { _tag: "Done", value }
})

/**
 * @category decisions
 */
export const save = <A>(
  value: A,
  change: Extract<SessionWriter.Decision<A>, { _tag: "Save" }>["change"]
): SessionWriter.Decision<Outcome<A>> => ({ _tag: "Save", value: { _tag: "Done", value }, change })

/**
 * @category decisions
 */
export const expire = (session: Session, now: number): SessionWriter.Decision<Outcome<never>> => {
  const ended = next(session, now, { status: "expired" })
  return { _tag: "Save", value: { _tag: "Expired", session: ended }, change: { session: ended } }
}

/**
 * Expires idle sessions: at most `limit`, longest idle first.
 *
 * @category combinators
 */
export const sweep = (
  { effects, writer: { store } }: Parts,
  options: { readonly idle: number; readonly limit: number }
): Effect.Effect<ReadonlyArray<Session>, SessionStorageError> =>
  Number.isFinite(options.idle) && options.limit > 0
    ? Effect.flatMap(Clock.currentTimeMillis, (at) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.tap(restore(store.expire({ since: at - options.idle, at, limit: options.limit })), (sessions) =>
            // These sessions are returned to this caller alone, so an interruption must not skip the rest.
            Effect.flatMap(
              Effect.forEach(sessions, (session) => Effect.exit(effects.ended(session, restore))),
              (exits) => exits.find(Exit.isFailure) ?? Exit.void
            )
          )
        )
      )
    : Effect.succeed([])

const sweepSize = 100

/**
 * For operations that open a session: sessions waiting to be expired take no room.
 *
 * @category combinators
 */
export const opening = <A, E, R>(
  parts: Parts,
  effect: Effect.Effect<A, E | SessionCapacityError, R>
): Effect.Effect<A, E | SessionCapacityError | SessionStorageError, R> =>
  Effect.catchIf(
    effect,
    (error): error is SessionCapacityError => error instanceof SessionCapacityError,
    (full) =>
      Effect.flatMap(sweep(parts, { idle: parts.settings.ttl, limit: sweepSize }), ({ length }) =>
        length === 0 ? Effect.fail(full) : opening(parts, effect)
      )
  )

/**
 * For operations that open no session: only an opening can reach a limit.
 *
 * @category combinators
 */
export const unlimited = <A, E, R>(
  effect: Effect.Effect<A, E | SessionCapacityError, R>
): Effect.Effect<A, Exclude<E, SessionCapacityError>, R> =>
  Effect.catchIf(
    effect,
    (error): error is SessionCapacityError => error instanceof SessionCapacityError,
    (error) => Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SessionCapacityError>, R>

/**
 * Decides and writes as `SessionWriter.modify`. `after` follows a write even if the caller is interrupted; only the
 * part inside `restore` is skipped then. A session found expired is ended first; then `refuse` makes the error.
 *
 * @category combinators
 */
export const change = <A, E, B, E2>(
  parts: Parts,
  id: SessionId,
  access: SessionWriter.Access | undefined,
  options: {
    readonly decide: (session: Session, now: number) => Effect.Effect<SessionWriter.Decision<Outcome<A>, E>, E>
    readonly after: (value: A, restore: SessionTelemetry.Restore) => Effect.Effect<B>
    readonly refuse: (id: SessionId) => E2
  }
) =>
  SessionTelemetry.thenAfterWrite(
    (written: SessionTelemetry.Written<Outcome<A>>) => parts.writer.modify(id, access, options.decide, written),
    (outcome, restore): Effect.Effect<B, E2> =>
      outcome._tag === "Done"
        ? options.after(outcome.value, restore)
        : Effect.zipRight(parts.effects.ended(outcome.session, restore), Effect.fail(options.refuse(id)))
  )
