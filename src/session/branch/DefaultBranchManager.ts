/**
 * The branch manager over a store: limits, pages of branches, trees, and the memory work after each write. Forks,
 * merges and differences have modules of their own.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { SessionId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import type * as WorkingMemory from "../../memory/working/WorkingMemory.js"
import * as SessionEffects from "../manager/SessionEffects.js"
import * as SessionFiles from "../manager/SessionFiles.js"
import * as SessionWriter from "../manager/SessionWriter.js"
import type { Session } from "../turn/Session.js"
import * as SessionMetrics from "../turn/SessionMetrics.js"
import type * as SessionStore from "../turn/SessionStore.js"
import * as SessionTelemetry from "../turn/SessionTelemetry.js"
import * as BranchManager from "./BranchManager.js"
import * as BranchTree from "./BranchTree.js"
import * as CheckpointDiff from "./CheckpointDiff.js"
import * as MergeStrategy from "./MergeStrategy.js"
import * as SessionFork from "./SessionFork.js"
import * as SessionMerge from "./SessionMerge.js"

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
): Effect.Effect<
  BranchManager.Service,
  never,
  SessionWriter.SessionWriter | WorkingMemory.WorkingMemory | Scope.Scope
> =>
  Effect.gen(function* () {
    const writer = yield* SessionWriter.SessionWriter
    const telemetry = yield* SessionTelemetry.make
    const files = yield* SessionFiles.fromContext
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
              isNew
                ? files.copy(id, session).pipe(Effect.zipRight(telemetry.started(session, restore)), Effect.as(session))
                : Effect.succeed(session)
          )
        ),
      merge: <E, R>(into: SessionId, from: SessionId, options?: BranchManager.MergeOptions<E, R>) =>
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
                      Effect.zipRight(files.copy(from, merged.session, SessionFiles.hashesOf(merged.turns))),
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
 * @example
 * ```ts
 * import { WorkingMemory } from "effect-lexigram/memory"
 * import { DefaultBranchManager, InMemorySessionStore } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // `Sessions` composes it with the other services of sessions. Alone, it shares the store with the manager.
 * const branches = DefaultBranchManager.layer({ maxBranchesPerSession: 3, sessionTtl: "7 days" }).pipe(
 *   Layer.provide([InMemorySessionStore.layer, WorkingMemory.layerNoop])
 * )
 * ```
 */
export const layer = (
  options?: Options
): Layer.Layer<BranchManager.BranchManager, never, SessionStore.SessionStore | WorkingMemory.WorkingMemory> =>
  Layer.provide(Layer.scoped(BranchManager.BranchManager, make(options)), SessionWriter.layer)
