/**
 * The session manager over a store: checks, limits, expiry, and the memory work after each write. Turns, exchanges and
 * checkpoints have modules of their own.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { SessionId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Count from "../../internal/Count.js"
import type * as MemoryConsolidator from "../../memory/consolidation/MemoryConsolidator.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import { begin, type Session } from "../turn/Session.js"
import * as SessionChecks from "../turn/SessionChecks.js"
import { SessionInputError, SessionNotFoundError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as TurnBytes from "../turn/TurnBytes.js"
import * as SessionChange from "./SessionChange.js"
import * as SessionCheckpoints from "./SessionCheckpoints.js"
import * as SessionEffects from "./SessionEffects.js"
import * as SessionExchanges from "./SessionExchanges.js"
import * as SessionFiles from "./SessionFiles.js"
import * as SessionLease from "./SessionLease.js"
import * as SessionManager from "./SessionManager.js"
import * as SessionStateMachine from "./SessionStateMachine.js"
import * as SessionTurns from "./SessionTurns.js"
import * as SessionWriter from "./SessionWriter.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The system prompt of sessions created without one. Default none. */
  readonly defaultSystemPrompt?: string | null | undefined
  /**
   * The time to live of an idle session, whether or not `expireIdle` has run; until then, reads return its old status.
   * 0: sessions never expire. Default 24 hours.
   */
  readonly sessionTtl?: Duration.DurationInput | undefined
  /** The maximum number of turns on the path to the head. An exchange needs room for its answer too. Default 1000. */
  readonly maxTurnsPerSession?: number | undefined
  /**
   * The maximum bytes of one turn: its text, tool calls, results and metadata in UTF-8. A larger turn fails with
   * `SessionInputError`; the answer of a run is cut instead, with a note. Default 4 MiB.
   */
  readonly maxTurnBytes?: number | undefined
  /** Counts active and suspended sessions. Default 100. */
  readonly maxSessionsPerUser?: number | undefined
  /** Creates a checkpoint every N turns, in the same write. `null`: none. Default 10. */
  readonly autoCheckpointInterval?: number | null | undefined
  /** The maximum number of manual and automatic checkpoints; the oldest are deleted. Default 50. */
  readonly maxCheckpointsPerSession?: number | undefined
  /**
   * The lease of this process: how long after its last renewal other processes leave its open exchanges alone. It is
   * renewed three times as often. At least a second, and longer than the clock difference between machines. Default 1
   * minute.
   */
  readonly exchangeLease?: Duration.DurationInput | undefined
  /** Whether memory is flushed and consolidated when a session is closed or expires. Default true. */
  readonly consolidateOnClose?: boolean | undefined
}

type Parts = SessionChange.Parts
type Service = SessionManager.Service

const observed = SessionTelemetry.observed

/** Infinity means no limit. */
const limit = (given: number | undefined, otherwise: number): number | undefined => {
  const count = Count.count(given, otherwise, 1)
  return Number.isFinite(count) ? count : undefined
}

const settingsOf = (options: Options | undefined): SessionChange.Settings => {
  const ttl = Duration.toMillis(options?.sessionTtl ?? "24 hours")
  return {
    defaultSystemPrompt: options?.defaultSystemPrompt ?? undefined,
    ttl: ttl === 0 ? Number.POSITIVE_INFINITY : ttl,
    maxTurns: Count.count(options?.maxTurnsPerSession, 1000, 1),
    maxTurnBytes: Count.count(options?.maxTurnBytes, TurnBytes.defaultMaxBytes, 1),
    maxSessionsPerUser: limit(options?.maxSessionsPerUser, 100),
    autoCheckpointInterval:
      options?.autoCheckpointInterval === null ? undefined : limit(options?.autoCheckpointInterval, 10),
    maxCheckpoints: limit(options?.maxCheckpointsPerSession, 50)
  }
}

/** The number of exchanges marked at once. */
const recoverSize = 100

const taken = (sessionId: SessionId, hint: string): SessionNotFoundError =>
  new SessionNotFoundError({ message: "The session was not found", hint, sessionId })

const create =
  (parts: Parts): Service["create"] =>
  (options) => {
    const { effects, settings, writer } = parts
    const { userId } = options ?? {}
    const created = Effect.gen(function* () {
      yield* SessionChecks.ids(options?.id, userId)
      const given = yield* SessionChecks.settings(options ?? {})
      const id = options?.id ?? SessionId.make(yield* IdGenerator.generate)
      const systemPrompt = given.systemPrompt ?? settings.defaultSystemPrompt
      const session: Session = {
        ...begin(id, { userId, at: yield* Clock.currentTimeMillis }),
        ...given,
        ...(systemPrompt === undefined ? {} : { systemPrompt })
      }
      const made = (written: SessionTelemetry.Written<SessionStore.Created>) =>
        Effect.catchTag(
          SessionChange.opening(
            parts,
            SessionTelemetry.reportWritten(
              writer.writes.create({ session, limits: { perUser: settings.maxSessionsPerUser } }),
              written
            )
          ),
          "SessionConflictError",
          () => Effect.fail(taken(id, "The id belongs to a deleted session that still has branches; choose another id"))
        )
      return yield* SessionTelemetry.thenAfterWrite(made, ({ isNew, session: kept }, restore) => {
        if (isNew) return Effect.as(effects.telemetry.started(kept, restore), kept)
        return Effect.flatMap(SystemAccess.permits(userId, kept.userId), (mayUse) =>
          mayUse ? Effect.succeed(kept) : Effect.fail(taken(id, "The id is taken; choose another one"))
        )
      })
    })
    return observed("create", options?.id, created)
  }

const resume =
  (parts: Parts): Service["resume"] =>
  (id, options) => {
    const resumed = SessionChange.change(parts, id, options, {
      decide: (session, now) => {
        const refused = SessionChange.refusal(session)
        if (refused !== undefined) return Effect.fail(refused)
        if (SessionChange.isOverdue(parts, session, now)) return Effect.succeed(SessionChange.expire(session, now))
        if (session.status === "active") return Effect.succeed(SessionChange.keep({ session, changed: false }))
        const active = SessionChange.next(session, now, { status: "active" })
        return Effect.succeed(SessionChange.save({ session: active, changed: true }, { session: active }))
      },
      after: ({ changed, session }) =>
        changed ? Effect.as(parts.effects.telemetry.changed("resumed", session), session) : Effect.succeed(session),
      refuse: SessionChange.expired
    })
    return observed("resume", id, SessionChange.unlimited(resumed))
  }

const claim =
  (parts: Parts, files: SessionFiles.Files): Service["claim"] =>
  (id, userId) => {
    const decide = (session: Session, now: number): Effect.Effect<Claimed, SessionNotFoundError> => {
      if (session.userId === userId) return Effect.succeed({ _tag: "Keep", value: session })
      if (session.userId !== undefined) return Effect.fail(taken(id, "Only a session without an owner can be claimed"))
      const value = SessionChange.next(session, now, { userId })
      const limits = { perUser: parts.settings.maxSessionsPerUser }
      return Effect.succeed({ _tag: "Save", value, change: { session: value, limits } })
    }
    // The decision checks the owner.
    const given = SessionChange.opening(parts, SystemAccess.grant(parts.writer.modify(id, undefined, decide)))
    const moved = Effect.gen(function* () {
      const before = yield* SystemAccess.grant(parts.writer.find(id, undefined))
      if (before.userId !== undefined) return yield* given
      // First the files: the turns never refer to what their user does not have.
      yield* files.give(before, userId)
      const session = yield* given
      yield* files.remove(before)
      return session
    })
    return observed(
      "claim",
      id,
      Effect.zipRight(
        Effect.suspend(() => SessionChecks.ids(id, userId)),
        files.isEnabled ? moved : given
      )
    )
  }

type Claimed = SessionWriter.Decision<Session>

const suspend =
  (parts: Parts): Service["suspend"] =>
  (id, options) => {
    const suspended = SessionChange.change(parts, id, options, {
      decide: (session, now) => {
        if (SessionChange.isOverdue(parts, session, now)) return Effect.succeed(SessionChange.expire(session, now))
        if (session.status === "suspended") return Effect.succeed(SessionChange.keep({ session, changed: false }))
        const still = SessionChange.next(session, now, { status: "suspended" })
        return Effect.as(
          SessionStateMachine.validate(id, session.status, "suspended"),
          SessionChange.save({ session: still, changed: true }, { session: still })
        )
      },
      after: ({ changed, session }) =>
        changed ? Effect.as(parts.effects.telemetry.changed("suspended", session), session) : Effect.succeed(session),
      refuse: (id) => SessionStateMachine.refusal(id, "expired", "suspended")
    })
    return observed("suspend", id, SessionChange.unlimited(suspended))
  }

const close =
  (parts: Parts): Service["close"] =>
  (id, options) => {
    const decide = (session: Session, now: number) => {
      const value = SessionChange.next(session, now, { status: "closed" })
      return Effect.succeed<SessionWriter.Decision<Session | undefined>>(
        SessionStateMachine.canTransition(session.status, "closed")
          ? { _tag: "Save", value, change: { session: value } }
          : { _tag: "Keep", value: undefined }
      )
    }
    const ended = SessionTelemetry.thenAfterWrite(
      (written: SessionTelemetry.Written<Session | undefined>) => parts.writer.modify(id, options, decide, written),
      (session, restore) => (session === undefined ? Effect.void : parts.effects.ended(session, restore))
    )
    return observed("close", id, SessionChange.unlimited(ended))
  }

const update =
  (parts: Parts): Service["update"] =>
  (id, options) => {
    const checked = Effect.suspend(() => SessionChecks.settings(options))
    const updated = Effect.flatMap(checked, (given) =>
      SessionChange.change(parts, id, options, {
        decide: (session, now) => {
          const refused = SessionChange.refusal(session)
          if (refused !== undefined) return Effect.fail(refused)
          if (SessionChange.isOverdue(parts, session, now)) return Effect.succeed(SessionChange.expire(session, now))
          if (Object.keys(given).length === 0) return Effect.succeed(SessionChange.keep(session))
          const changed = SessionChange.next(session, now, given)
          return Effect.succeed(SessionChange.save(changed, { session: changed }))
        },
        after: Effect.succeed,
        refuse: SessionChange.expired
      })
    )
    return observed("update", id, SessionChange.unlimited(updated))
  }

const remove =
  ({ writer }: Parts, files: SessionFiles.Files): Service["delete"] =>
  (id, options) =>
    observed(
      "delete",
      id,
      SessionChange.unlimited(
        // Keeps other writers out between the read and the write.
        writer.modify(id, options, (session) =>
          // First the files: a repeated call finds only what has a session.
          Effect.map(
            Effect.zipRight(files.remove(session), writer.writes.delete(id)),
            (value) => ({ _tag: "Keep", value }) as const
          )
        )
      ).pipe(
        Effect.asVoid,
        Effect.catchTag("SessionNotFoundError", () => Effect.void)
      )
    )

const list =
  ({ writer: { store } }: Parts): Service["list"] =>
  (userId, options) => {
    const order = options?.order ?? "updated"
    const limit = Math.min(Number.MAX_SAFE_INTEGER - 1, Count.count(options?.limit, 100, 0))
    if (limit === 0) return observed("list", undefined, Effect.succeed({ sessions: [] }))
    const found = Effect.map(
      // One more than requested shows whether there is another page. An absent user means no owner, not every owner.
      store.list({
        userId: userId ?? null,
        statuses: options?.statuses,
        order,
        limit: limit + 1,
        after: options?.after
      }),
      (found): SessionManager.Page => {
        const sessions = found.slice(0, limit)
        const last = sessions.at(-1)
        if (found.length <= limit || last === undefined) return { sessions }
        return { sessions, next: { at: order === "created" ? last.createdAt : last.updatedAt, id: last.id } }
      }
    )
    return observed("list", undefined, found)
  }

/** Handles sessions of all owners. */
const forSystem = <A, E>(work: Effect.Effect<A, E>): Effect.Effect<A, E | SessionInputError> =>
  Effect.if(SystemAccess.isGranted, {
    onTrue: () => SystemAccess.drop(work),
    onFalse: () =>
      new SessionInputError({
        message: "Only the system may handle sessions of all owners",
        hint: "Wrap the call in SystemAccess.grant"
      })
  })

const expireIdle =
  (parts: Parts): Service["expireIdle"] =>
  (options) => {
    const sweep = SessionChange.sweep(parts, {
      idle: options?.idle === undefined ? parts.settings.ttl : Duration.toMillis(options.idle),
      limit: Math.min(Number.MAX_SAFE_INTEGER, Count.count(options?.limit, 100, 0))
    })
    return observed("expire_idle", undefined, forSystem(sweep))
  }

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<
  Service,
  never,
  SessionWriter.SessionWriter | WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator | Scope.Scope
> =>
  Effect.gen(function* () {
    const writer = yield* SessionWriter.SessionWriter
    const files = yield* SessionFiles.fromContext
    const effects = yield* SessionEffects.make({ consolidateOnClose: options?.consolidateOnClose ?? true })
    const parts: Parts = { settings: settingsOf(options), writer, effects }
    const lease = yield* SessionLease.make(
      writer.writes,
      Duration.toMillis(options?.exchangeLease ?? "1 minute"),
      SessionExchanges.recover(parts, recoverSize)
    )
    return {
      create: create(parts),
      resume: resume(parts),
      claim: claim(parts, files),
      get: (id, access) =>
        observed(
          "get",
          id,
          Effect.catchTag(Effect.asSome(writer.find(id, access)), "SessionNotFoundError", () => Effect.succeedNone)
        ),
      list: list(parts),
      addTurn: SessionTurns.addTurn(parts),
      beginExchange: SessionExchanges.begin(parts, lease),
      endExchange: SessionExchanges.end(parts, lease),
      keepsFiles: files.isEnabled,
      attach: (id, file, access) =>
        observed(
          "attach",
          id,
          Effect.flatMap(writer.find(id, access), (session) => files.attach(session, file))
        ),
      file: (id, hash, access) =>
        observed(
          "file",
          id,
          Effect.flatMap(writer.find(id, access), (session) => files.read(session, hash))
        ),
      maxTurnBytes: parts.settings.maxTurnBytes,
      recover: forSystem(SessionExchanges.recover(parts, recoverSize)),
      turns: SessionTurns.turns(parts),
      update: update(parts),
      checkpoint: SessionCheckpoints.checkpoint(parts),
      checkpoints: SessionCheckpoints.checkpoints(parts),
      restore: SessionCheckpoints.restore(parts),
      suspend: suspend(parts),
      close: close(parts),
      delete: remove(parts, files),
      expireIdle: expireIdle(parts),
      health: writer.store.health
    }
  })

/**
 * Manages sessions on a store. Turns are also added to working memory, and memory is consolidated when a session ends.
 * Neither ever fails an operation: what memory rejects, or does not finish within 5 seconds, is logged, counted and
 * skipped. Consolidation runs in the background; when the layer closes, it has 5 more seconds.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultSessionManager } from "effect-lexigram/session"
 *
 * const sessions = DefaultSessionManager.layer({ sessionTtl: "7 days", maxTurnsPerSession: 500 })
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<
  SessionManager.SessionManager,
  never,
  SessionStore.SessionStore | WorkingMemory.WorkingMemory | MemoryConsolidator.MemoryConsolidator
> => Layer.provide(Layer.scoped(SessionManager.SessionManager, make(options)), SessionWriter.layer)
