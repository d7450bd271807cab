/**
 * Branches of sessions: forks a conversation, shows its tree, and merges branches.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as SessionEffects from "../manager/SessionEffects.js"
import type { Access, Page } from "../manager/SessionManager.js"
import * as SessionWriter from "../manager/SessionWriter.js"
import {
  begin,
  type CheckpointId,
  type Session,
  type SessionCheckpoint,
  type SessionStatus,
  type SessionTurn
} from "../turn/Session.js"
import type {
  CheckpointNotFoundError,
  SessionCapacityError,
  SessionClosedError,
  SessionExpiredError,
  SessionInputError,
  SessionMergeError,
  SessionNotFoundError,
  SessionStorageError,
  SessionTransitionError
} from "../turn/SessionError.js"
import * as SessionMetrics from "../turn/SessionMetrics.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import type * as StateDiff from "../turn/StateDiff.js"
import * as BranchTree from "./BranchTree.js"
import * as CheckpointDiff from "./CheckpointDiff.js"
import * as MergeStrategy from "./MergeStrategy.js"
import * as SessionFork from "./SessionFork.js"
import * as SessionMerge from "./SessionMerge.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ForkOptions extends Access {
  /** Default: a new id. */
  readonly id?: SessionId | undefined
  readonly branchName?: string | undefined
  /** Forks at this checkpoint of the session instead of at its head. */
  readonly fromCheckpoint?: CheckpointId | undefined
  /** Replaces the metadata of the session. */
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface BranchesOptions extends Access {
  /** Returns only branches with these statuses; default all. */
  readonly statuses?: ReadonlyArray<SessionStatus> | undefined
  /** The maximum number of branches; default 100. */
  readonly limit?: number | undefined
  /** The `next` of the previous page. */
  readonly after?: SessionStore.Cursor | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TreeOptions extends Access {
  /** The maximum number of sessions, newest first; default 1,000. */
  readonly maxSessions?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MergeOptions<E = never, R = never> extends Access {
  /** Default `MergeStrategy.append`. */
  readonly strategy?: MergeStrategy.MergeStrategy<E, R> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Merged {
  /** The session after the merge. */
  readonly session: Session
  /**
   * A checkpoint of kind `merge`, with both parents and the branch state from which the next merge of the two starts.
   */
  readonly checkpoint?: SessionCheckpoint | undefined
  /** The copied turns, as they are stored in the session. */
  readonly turns: ReadonlyArray<SessionTurn>
  /** What both sides had changed, and how each conflict was resolved. */
  readonly conflicts: ReadonlyArray<MergeStrategy.Resolved>
  /** `false`: the branch had nothing new, and nothing was written. */
  readonly isNew: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Creates an active session of the same user that continues from the head or a checkpoint of the session. It shares
   * the earlier turns and owns its copy of the small state. Sessions in any status can be forked, so a closed or
   * expired conversation can continue this way. The cost does not depend on the length of the conversation. If the id
   * already belongs to a branch of this session, that branch is returned; any other id in use fails with
   * `SessionNotFoundError`. Fails with `SessionCapacityError` when the session has the maximum number of active and
   * suspended branches, when the user has the maximum number of such sessions, or when the branch would begin with
   * turns of more than 256 sessions. A checkpoint of another session fails with `CheckpointNotFoundError`.
   */
  readonly fork: (
    id: SessionId,
    options?: ForkOptions
  ) => Effect.Effect<
    Session,
    SessionNotFoundError | CheckpointNotFoundError | SessionCapacityError | SessionInputError | SessionStorageError
  >
  /** The sessions forked from this one, newest first, page by page; empty if there are none. */
  readonly branches: (
    id: SessionId,
    options?: BranchesOptions
  ) => Effect.Effect<Page, SessionNotFoundError | SessionStorageError>
  /** All sessions that descend from the same first session, including this one. */
  readonly tree: (
    id: SessionId,
    options?: TreeOptions
  ) => Effect.Effect<BranchTree.BranchTree, SessionNotFoundError | SessionStorageError>
  /**
   * Merges another session of the tree into this one: its branch, a sibling, or the session it was forked from. New
   * turns are copied after the head in their order, and `origin` names the turn each one copies; turns that already are
   * on the session's path, including copies, are not copied again. Everything is written in one step, and the branch
   * does not change. The cost depends on how far the two have diverged. A repeated merge copies only what was added
   * since; without anything new, nothing is written. `SessionMergeError` says why two sessions cannot be merged; a
   * suspended, closed, expired or full session is rejected as in `addTurn`.
   */
  readonly merge: <E = never, R = never>(
    into: SessionId,
    from: SessionId,
    options?: MergeOptions<E, R>
  ) => Effect.Effect<
    Merged,
    | SessionNotFoundError
    | SessionClosedError
    | SessionExpiredError
    | SessionTransitionError
    | SessionCapacityError
    | SessionMergeError
    | SessionStorageError
    | E,
    R
  >
  /**
   * The difference between two checkpoints, of one session or of two sessions of a tree: the small state, the turns
   * that the second one has after the last common turn, and references to the turns it lacks. Fails with
   * `SessionMergeError` (`unrelated`) when they belong to different trees.
   */
  readonly diff: (
    from: CheckpointId,
    to: CheckpointId,
    options?: Access
  ) => Effect.Effect<StateDiff.StateDiff, CheckpointNotFoundError | SessionMergeError | SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class BranchManager extends Context.Tag("effect-lexigram/session/BranchManager")<BranchManager, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * The maximum number of active and suspended branches of one session, not counting their own branches; default 10.
   */
  readonly maxBranchesPerSession?: number | undefined
  /**
   * The maximum number of active and suspended sessions of one user, including branches; default 100. Sessions without
   * an owner are not counted.
   */
  readonly maxSessionsPerUser?: number | undefined
  /** The maximum number of turns on the path to the head; a merge beyond it is rejected. Default 1000. */
  readonly maxTurnsPerSession?: number | undefined
  /** A session idle for this long rejects merges; 0: never. Default 24 hours. */
  readonly sessionTtl?: Duration.DurationInput | undefined
}

const pageSize = 100

/** Infinity means no limit. */
const limitOf = (given: number | undefined, otherwise: number): number | undefined => {
  const count = Count.count(given, otherwise, 0)
  return Number.isFinite(count) ? count : undefined
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<Service, never, SessionWriter.SessionWriter | WorkingMemory.WorkingMemory | Scope.Scope> =>
  Effect.gen(function* () {
    const writer = yield* SessionWriter.SessionWriter
    const telemetry = yield* SessionTelemetry.make
    const feed = yield* SessionEffects.makeFeed
    const remember = ({ session, turns }: SessionMerge.Merged, restore: SessionTelemetry.Restore) => {
      for (const _ of turns) SessionMetrics.turnAdded()
      return feed(turns, session, restore)
    }
    const { find, store } = writer
    const fork = SessionFork.make(writer, {
      perParent: limitOf(options.maxBranchesPerSession, 10),
      perUser: limitOf(options.maxSessionsPerUser, 100)
    })
    const ttl = Duration.toMillis(options.sessionTtl ?? "24 hours")
    const merge = SessionMerge.make(writer, {
      maxTurns: Count.count(options.maxTurnsPerSession, 1000, 1),
      ttl: ttl === 0 ? Number.POSITIVE_INFINITY : ttl
    })

    return {
      fork: (id, options) =>
        SessionTelemetry.observed(
          "fork",
          id,
          SessionTelemetry.thenAfterWrite(
            (written: SessionTelemetry.Written<SessionStore.Created>) => fork(id, options, written),
            ({ isNew, session }, restore) =>
              isNew ? Effect.as(telemetry.started(session, restore), session) : Effect.succeed(session)
          )
        ),
      merge: <E, R>(into: SessionId, from: SessionId, options?: MergeOptions<E, R>) =>
        SessionTelemetry.observed(
          "merge",
          into,
          SessionTelemetry.thenAfterWrite(
            (written: SessionTelemetry.Written<SessionMerge.Merged>) =>
              merge(
                into,
                from,
                options?.strategy ?? (MergeStrategy.append as MergeStrategy.MergeStrategy<E, R>),
                options,
                written
              ),
            (merged, restore) =>
              merged.isNew
                ? telemetry
                    .changed("merged", merged.session)
                    .pipe(
                      Effect.zipRight(
                        merged.checkpoint === undefined
                          ? Effect.void
                          : telemetry.checkpointed(merged.checkpoint, restore)
                      ),
                      Effect.zipRight(remember(merged, restore)),
                      Effect.as(merged)
                    )
                : Effect.succeed(merged)
          )
        ),
      diff: CheckpointDiff.make(writer),
      branches: Effect.fnUntraced(function* (id, options) {
        const parent = yield* find(id, options)
        const limit = Math.min(Number.MAX_SAFE_INTEGER - 1, Count.count(options?.limit, pageSize, 0))
        if (limit === 0) return { sessions: [] }
        const sessions = yield* store.list({
          userId: parent.userId ?? null,
          parentSessionId: id,
          statuses: options?.statuses,
          limit: limit + 1,
          after: options?.after
        })
        if (sessions.length <= limit) return { sessions }
        const last = sessions[limit - 1] as Session
        return { sessions: sessions.slice(0, limit), next: { at: last.createdAt, id: last.id } }
      }),
      tree: Effect.fnUntraced(function* (id, options) {
        const session = yield* find(id, options)
        const rootSessionId = session.rootSessionId ?? session.id
        const most = Count.count(options?.maxSessions, 1000, 1)
        const sessions: Array<Session> = []
        let after: SessionStore.Cursor | undefined
        let isComplete = false
        while (!isComplete && sessions.length <= most) {
          const page: ReadonlyArray<Session> = yield* store.list({
            userId: session.userId ?? null,
            rootSessionId,
            limit: pageSize,
            after
          })
          sessions.push(...page)
          const last = page[page.length - 1]
          isComplete = last === undefined || page.length < pageSize
          after = last === undefined ? undefined : { at: last.createdAt, id: last.id }
        }
        return BranchTree.make(sessions.slice(0, most), {
          sessionId: id,
          rootSessionId,
          isComplete: isComplete && sessions.length <= most
        })
      })
    }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options
): Layer.Layer<BranchManager, never, SessionStore.SessionStore | WorkingMemory.WorkingMemory> =>
  Layer.provide(Layer.scoped(BranchManager, make(options)), SessionWriter.layer)

const ephemeral = (id: SessionId, fields: Partial<Session>): Effect.Effect<Session> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({ ...begin(id, { at }), ...fields }))

/**
 * Stores nothing, as `SessionManager.layerNoop`: every fork is an active session without turns, no session has
 * branches, a merge finds nothing new, and there are no checkpoints.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<BranchManager> = Layer.succeed(BranchManager, {
  fork: Effect.fnUntraced(function* (parentSessionId, options) {
    const { branchName, fromCheckpoint, metadata, userId } = options ?? {}
    if (fromCheckpoint !== undefined) return yield* SessionFork.noCheckpoint(fromCheckpoint)
    return yield* ephemeral(options?.id ?? SessionId.make(yield* IdGenerator.generate), {
      ...(userId === undefined ? {} : { userId }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(branchName === undefined ? {} : { branchName }),
      parentSessionId,
      rootSessionId: parentSessionId
    })
  }),
  branches: () => Effect.succeed({ sessions: [] }),
  tree: (sessionId) => Effect.succeed(BranchTree.make([], { sessionId, rootSessionId: sessionId })),
  merge: (into, _from, options) =>
    Effect.map(ephemeral(into, options?.userId === undefined ? {} : { userId: options.userId }), (session) => ({
      session,
      turns: [],
      conflicts: [],
      isNew: false
    })),
  diff: (from) => Effect.fail(SessionFork.noCheckpoint(from))
})
