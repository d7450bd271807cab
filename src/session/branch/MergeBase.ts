/**
 * Finds the newest state that two sessions of a tree have in common, from the checkpoints of forks and merges. States
 * that a restore left behind are no longer common.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../../domain/Ids.js"
import type { CheckpointId, Cut, Session, SessionCheckpoint, SessionState } from "../turn/Session.js"
import type { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"

/** How a session reached its current state: its cuts, and the checkpoint it is on. */
interface Course {
  readonly cuts: ReadonlyArray<Cut>
  readonly checkpointId: CheckpointId | undefined
}

/** A session at a point in time. */
interface Point {
  readonly at: number
  readonly state: SessionState
  readonly course: Course
}

interface Base {
  readonly state: SessionState
  /** When the session was in this state. */
  readonly at: number
}

type Read<A> = Effect.Effect<A, SessionStorageError>

/** The maximum number of checkpoints followed in a row; beyond it, no base is found. */
const maxSteps = 256
const pageSize = 50

const courseOf = ({ checkpointId, cuts }: Session): Course => ({ cuts, checkpointId })

const newer = (one: Base | undefined, other: Base | undefined): Base | undefined =>
  one === undefined || (other !== undefined && other.at > one.at) ? other : one

/** Whether the state stored at that time (under that id) still belongs to the session's history on this course. */
const isInHistory = (
  store: SessionStore.Service,
  course: Course,
  at: number,
  id: CheckpointId | undefined
): Read<boolean> =>
  Effect.gen(function* () {
    let { checkpointId, cuts } = course
    for (let step = 0; step < maxSteps; step++) {
      if (cuts.every(({ before }) => before < at)) return true
      if (checkpointId === undefined) return false
      if (checkpointId === id) return true
      const found: Option.Option<SessionCheckpoint> = yield* store.checkpoint(checkpointId)
      if (Option.isNone(found) || found.value.createdAt < at) return false
      cuts = found.value.state.cuts
      checkpointId = found.value.parentCheckpointId
    }
    return false
  })

/** The newest state that the session at that point and the same session on this course have in common. */
const newestCommon = (store: SessionStore.Service, point: Point, course: Course): Read<Base | undefined> =>
  Effect.gen(function* () {
    if (yield* isInHistory(store, course, point.at, undefined)) return { state: point.state, at: point.at }
    let { checkpointId } = course
    for (let step = 0; step < maxSteps && checkpointId !== undefined; step++) {
      const found: Option.Option<SessionCheckpoint> = yield* store.checkpoint(checkpointId)
      if (Option.isNone(found)) return undefined
      const { createdAt: at, id, kind, parentCheckpointId, state } = found.value
      if (at <= point.at && (yield* isInHistory(store, point.course, at, id))) return { state, at }
      // Any checkpoint before it belongs to another session.
      if (kind === "fork") return undefined
      checkpointId = parentCheckpointId
    }
    return undefined
  })

/** The common state left by the newest merge of one into the other that is still in the history of both. */
const baseOfMerge = (
  store: SessionStore.Service,
  into: Session,
  from: Session,
  last: Option.Option<SessionCheckpoint>
): Read<Base | undefined> =>
  Effect.gen(function* () {
    const consider = Effect.fnUntraced(function* ({ createdAt: at, id, merge }: SessionCheckpoint) {
      if (merge === undefined || merge.sessionId !== from.id) return undefined
      if (!(yield* isInHistory(store, courseOf(into), at, id))) return undefined
      const { state } = merge
      return yield* newestCommon(
        store,
        { at, state, course: { cuts: state.cuts, checkpointId: undefined } },
        courseOf(from)
      )
    })
    if (Option.isNone(last)) return undefined
    const base: Base | undefined = yield* consider(last.value)
    if (base !== undefined) return base
    for (let before = last.value.revision; ; ) {
      const page: ReadonlyArray<SessionCheckpoint> = yield* store.checkpoints(into.id, {
        kinds: ["merge"],
        limit: pageSize,
        before
      })
      for (const merge of page) {
        const base: Base | undefined = yield* consider(merge)
        if (base !== undefined) return base
      }
      const oldest = page[page.length - 1]
      if (oldest === undefined || page.length < pageSize) return undefined
      before = oldest.revision
    }
  })

/** A session and its ancestors, each with the branch that leads from it. */
class Descent {
  readonly branches = new Map<SessionId, Session | undefined>()
  private ancestor: Session | undefined
  constructor(session: Session) {
    this.ancestor = session
    this.branches.set(session.id, undefined)
  }
  get isOpen(): boolean {
    return this.ancestor?.parentSessionId !== undefined
  }
  climb(store: SessionStore.Service): Read<SessionId | undefined> {
    const branch = this.ancestor
    const parentId = branch?.parentSessionId
    if (branch === undefined || parentId === undefined) return Effect.succeed(undefined)
    this.branches.set(parentId, branch)
    return Effect.map(store.load(parentId), (found) => {
      this.ancestor = Option.getOrUndefined(found)
      return parentId
    })
  }
}

/** The nearest common ancestor, which may be one of the two, and the branches by which each left it. */
const commonAncestor = (store: SessionStore.Service, one: Session, other: Session) =>
  Effect.gen(function* () {
    const [a, b] = [new Descent(one), new Descent(other)]
    const at = (id: SessionId) => ({ a: a.branches.get(id), b: b.branches.get(id) })
    while (a.isOpen || b.isOpen) {
      const fromA: SessionId | undefined = yield* a.climb(store)
      if (fromA !== undefined && b.branches.has(fromA)) return at(fromA)
      const fromB: SessionId | undefined = yield* b.climb(store)
      if (fromB !== undefined && a.branches.has(fromB)) return at(fromB)
    }
    return undefined
  })

/** The cuts of the source when the branch began. Forks of an older version keep them in the lineage alone. */
const sourceCutsOf = ({ lineage, parentSessionId }: Session, fork: SessionCheckpoint): ReadonlyArray<Cut> =>
  fork.sourceCuts ?? lineage.find(({ sessionId }) => sessionId === parentSessionId)?.cuts ?? []

const forkOf = (store: SessionStore.Service, branch: Session): Read<Point | undefined> =>
  Effect.map(store.checkpoints(branch.id, { kinds: ["fork"], limit: 1 }), ([fork]) =>
    fork === undefined
      ? undefined
      : {
          at: fork.createdAt,
          state: fork.state,
          course: { cuts: sourceCutsOf(branch, fork), checkpointId: fork.parentCheckpointId }
        }
  )

const baseOfFork = (store: SessionStore.Service, one: Session, other: Session): Read<Base | undefined> =>
  Effect.gen(function* () {
    const parted = yield* commonAncestor(store, one, other)
    if (parted === undefined) return undefined
    const { a, b } = parted
    const left = a === undefined ? undefined : yield* forkOf(store, a)
    const right = b === undefined ? undefined : yield* forkOf(store, b)
    if (a === undefined) return right === undefined ? undefined : yield* newestCommon(store, right, courseOf(one))
    if (b === undefined) return left === undefined ? undefined : yield* newestCommon(store, left, courseOf(other))
    if (left === undefined || right === undefined) return undefined
    const [first, second] = left.at <= right.at ? [left, right] : [right, left]
    return yield* newestCommon(store, first, second.course)
  })

/**
 * The state is absent when nothing stored tells it; `at` is the time of the newest merge of the two, whether or not it
 * is still in their history.
 *
 * @category getters
 */
export const find = (
  store: SessionStore.Service,
  into: Session,
  from: Session
): Read<{ readonly state: SessionState | undefined; readonly at: number }> =>
  Effect.gen(function* () {
    const [there, back] = [yield* store.lastMerge(into.id, from.id), yield* store.lastMerge(from.id, into.id)]
    const merged = newer(yield* baseOfMerge(store, into, from, there), yield* baseOfMerge(store, from, into, back))
    const base = merged ?? (yield* baseOfFork(store, into, from))
    const timeOf = (merge: Option.Option<SessionCheckpoint>) => (Option.isSome(merge) ? merge.value.createdAt : 0)
    return { state: base?.state, at: Math.max(timeOf(there), timeOf(back)) }
  })
