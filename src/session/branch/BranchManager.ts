/**
 * Branches of sessions: forks a conversation, shows its tree, and merges branches.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { SessionId, type TurnId } from "../../domain/Ids.js"
import type { Access, Page } from "../manager/SessionManager.js"
import {
  begin,
  type CheckpointId,
  type Session,
  type SessionCheckpoint,
  type SessionStatus,
  type SessionTurn
} from "../turn/Session.js"
import {
  CheckpointNotFoundError,
  type SessionCapacityError,
  type SessionClosedError,
  type SessionExpiredError,
  type SessionInputError,
  type SessionMergeError,
  type SessionNotFoundError,
  type SessionStorageError,
  type SessionTransitionError
} from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"
import type * as StateDiff from "../turn/StateDiff.js"
import * as BranchTree from "./BranchTree.js"
import type * as MergeStrategy from "./MergeStrategy.js"

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
  /**
   * Forks after this turn, which the session wrote itself. Variables, metadata, prompt and tools are those of now.
   */
  readonly afterTurn?: TurnId | undefined
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
 * @internal
 * @since 0.1.0
 * @category errors
 */
export const noCheckpoint = (checkpointId: CheckpointId): CheckpointNotFoundError =>
  new CheckpointNotFoundError({
    message: "The session has no such checkpoint",
    hint: "Choose a checkpoint of this session; checkpoints of other users are not found",
    checkpointId
  })

const ephemeral = (id: SessionId, fields: Partial<Session>): Effect.Effect<Session> =>
  Effect.map(Clock.currentTimeMillis, (at) => ({ ...begin(id, { at }), ...fields }))

/**
 * Stores nothing, as `SessionManager.layerNoop`: every fork is an active session without turns, no session has
 * branches, a merge finds nothing new, and there are no checkpoints.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { BranchManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 *
 * const explore = (id: Ids.SessionId) =>
 *   Effect.gen(function* () {
 *     const branches = yield* BranchManager.BranchManager
 *     const branch = yield* branches.fork(id, { branchName: "cheaper" })
 *     // … the conversation continues in the branch …
 *     return yield* branches.merge(id, branch.id)
 *   })
 *
 * // In tests of the program nothing is stored, and the merge finds nothing new.
 * const test = explore(Ids.SessionId.make("trip")).pipe(Effect.provide(BranchManager.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<BranchManager> = Layer.succeed(BranchManager, {
  fork: Effect.fnUntraced(function* (parentSessionId, options) {
    const { branchName, fromCheckpoint, metadata, userId } = options ?? {}
    if (fromCheckpoint !== undefined) return yield* noCheckpoint(fromCheckpoint)
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
  diff: (from) => Effect.fail(noCheckpoint(from))
})
