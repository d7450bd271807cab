/**
 * The handlers of sessions: for the caller's own ones, by the session manager and the branch manager of the server.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as PublicView from "../../domain/PublicView.js"
import * as BranchManager from "../../session/branch/BranchManager.js"
import * as MergeStrategy from "../../session/branch/MergeStrategy.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import type { CheckpointId, Session, SessionStatus, SessionTurn } from "../../session/turn/Session.js"
import { AgentApi } from "./AgentApi.js"
import { ApiError } from "./ApiError.js"
import { accessOf, Caller } from "./Authentication.js"
import * as Refusals from "./Refusals.js"
import * as SessionModels from "./SessionModels.js"

interface Access {
  readonly userId?: UserId
}

const access = Effect.map(Caller, accessOf)

const unknown = new ApiError({ reason: "unknown", message: "No session of yours has this id" })

const strategyOf = ({
  conflict,
  turns
}: {
  readonly conflict?: "ours" | "theirs" | "fail" | undefined
  readonly turns?: Parameters<typeof MergeStrategy.selective>[0] | undefined
}): MergeStrategy.MergeStrategy =>
  turns === undefined ? MergeStrategy.threeWay({ conflict: conflict ?? "fail" }) : MergeStrategy.selective(turns)

type Attributes = Session["metadata"]

interface Edits {
  readonly metadata?: Attributes | undefined
  readonly variables?: Attributes | undefined
}

/** The new state. What the server had hidden of the old one stays as it was. */
const edited = ({ metadata, variables }: Edits, session: Session): Edits => ({
  ...(metadata === undefined ? {} : { metadata: PublicView.restored(metadata, session.metadata) as Attributes }),
  ...(variables === undefined ? {} : { variables: PublicView.restored(variables, session.variables) as Attributes })
})

type Payload<A extends (...args: any) => any> = NonNullable<Parameters<A>[1]>

/** What the endpoints do, for sessions of the caller alone. */
const make = (
  managers: Effect.Effect<SessionManager.Service, ApiError>,
  branchManagers: Effect.Effect<BranchManager.Service, ApiError>
) => {
  const sessions = <A, E extends Refusals.SessionFailure>(
    use: (sessions: SessionManager.Service, access: Access) => Effect.Effect<A, E>
  ): Effect.Effect<A, ApiError, Caller> =>
    Effect.flatMap(Effect.all([managers, access]), ([sessions, own]) => Refusals.ofSession(use(sessions, own)))
  const branches = <A, E extends Refusals.SessionFailure>(
    use: (branches: BranchManager.Service, access: Access) => Effect.Effect<A, E>
  ): Effect.Effect<A, ApiError, Caller> =>
    Effect.flatMap(Effect.all([branchManagers, access]), ([branches, own]) => Refusals.ofSession(use(branches, own)))
  const find = (id: SessionId): Effect.Effect<Session, ApiError, Caller> =>
    Effect.flatMap(
      sessions((manager, own) => manager.get(id, own)),
      Option.match({ onNone: () => unknown, onSome: Effect.succeed })
    )
  return {
    find,
    list: (status: SessionStatus | undefined, options: SessionManager.ListOptions) =>
      sessions((manager, { userId }) =>
        manager.list(userId ?? null, { ...options, ...(status === undefined ? {} : { statuses: [status] }) })
      ),
    create: (options: SessionManager.CreateOptions) =>
      sessions((manager, own) => manager.create({ ...options, ...own })),
    update: (id: SessionId, edits: Edits) =>
      Effect.flatMap(find(id), (session) =>
        sessions((manager, own) => manager.update(id, { ...edited(edits, session), ...own }))
      ),
    remove: (id: SessionId) => sessions((manager, own) => manager.delete(id, own)),
    become: (id: SessionId, status: "active" | "suspended" | "closed") => {
      if (status === "active") return sessions((manager, own) => manager.resume(id, own))
      if (status === "suspended") return sessions((manager, own) => manager.suspend(id, own))
      return Effect.zipRight(
        sessions((manager, own) => manager.close(id, own)),
        find(id)
      )
    },
    turns: (id: SessionId, options: Pick<SessionManager.TurnsOptions, "last" | "before">) =>
      sessions((manager, own) => manager.turns(id, { ...options, ...own })),
    checkpoints: (id: SessionId, options: Payload<SessionManager.Service["checkpoints"]>) =>
      sessions((manager, own) => manager.checkpoints(id, { ...options, ...own })),
    checkpoint: (id: SessionId, options: Payload<SessionManager.Service["checkpoint"]>) =>
      sessions((manager, own) => manager.checkpoint(id, { ...options, ...own })),
    restore: (id: CheckpointId, options: Payload<SessionManager.Service["restore"]>) =>
      sessions((manager, own) => manager.restore(id, { ...options, ...own })),
    tree: (id: SessionId) => branches((manager, own) => manager.tree(id, own)),
    diff: (from: CheckpointId, to: CheckpointId) => branches((manager, own) => manager.diff(from, to, own)),
    fork: (id: SessionId, options: Payload<BranchManager.Service["fork"]>) =>
      branches((manager, own) => manager.fork(id, { ...options, ...own })),
    merge: (id: SessionId, { from, ...how }: Parameters<typeof strategyOf>[0] & { readonly from: SessionId }) =>
      branches((manager, own) => manager.merge(id, from, { ...own, strategy: strategyOf(how) }))
  }
}

/** A page of turns, and where the one before it begins. */
const turnPage = (turns: ReadonlyArray<SessionTurn>) => {
  const oldest = turns[0]
  return {
    turns: SessionModels.fromTurns(turns),
    ...(oldest === undefined || oldest.depth === 1 ? {} : { next: { sessionId: oldest.sessionId, turnId: oldest.id } })
  }
}

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(AgentApi, "sessions", (handlers) =>
  Effect.gen(function* () {
    const all = make(
      Refusals.offered(yield* Effect.serviceOption(SessionManager.SessionManager), "sessions"),
      Refusals.offered(yield* Effect.serviceOption(BranchManager.BranchManager), "branches of sessions")
    )
    const shown = <R>(session: Effect.Effect<Session, ApiError, R>) => Effect.map(session, SessionModels.fromSession)
    return handlers
      .handle("listSessions", ({ urlParams: { cursor, status, ...options } }) =>
        Effect.map(all.list(status, { ...options, after: cursor }), ({ next, sessions }) => ({
          sessions: sessions.map(SessionModels.fromSession),
          ...(next === undefined ? {} : { next })
        }))
      )
      .handle("createSession", ({ payload }) => shown(all.create(payload)))
      .handle("getSession", ({ path }) => shown(all.find(path.sessionId)))
      .handle("updateSession", ({ path, payload }) => shown(all.update(path.sessionId, payload)))
      .handle("deleteSession", ({ path }) => all.remove(path.sessionId))
      .handle("changeSession", ({ path, payload }) => shown(all.become(path.sessionId, payload.status)))
      .handle("sessionTurns", ({ path, urlParams: { before, limit = 50 } }) =>
        Effect.map(all.turns(path.sessionId, { before, last: limit }), turnPage)
      )
      .handle("sessionTree", ({ path }) => Effect.map(all.tree(path.sessionId), SessionModels.fromTree))
      .handle("listCheckpoints", ({ path, urlParams: { before, limit = 50 } }) =>
        Effect.map(all.checkpoints(path.sessionId, { before, limit }), (found) => ({
          checkpoints: found.map(SessionModels.fromCheckpoint)
        }))
      )
      .handle("createCheckpoint", ({ path, payload }) =>
        Effect.map(all.checkpoint(path.sessionId, payload), SessionModels.fromCheckpoint)
      )
      .handle("restoreCheckpoint", ({ path, payload }) => shown(all.restore(path.checkpointId, payload)))
      .handle("diffCheckpoints", ({ path }) => Effect.map(all.diff(path.checkpointId, path.to), SessionModels.fromDiff))
      .handle("forkSession", ({ path, payload }) => shown(all.fork(path.sessionId, payload)))
      .handle("mergeSession", ({ path, payload }) =>
        Effect.map(all.merge(path.sessionId, payload), ({ checkpoint, session, turns }) => ({
          session: SessionModels.fromSession(session),
          turns: SessionModels.fromTurns(turns),
          ...(checkpoint === undefined ? {} : { checkpoint: SessionModels.fromCheckpoint(checkpoint) })
        }))
      )
  })
)
