/**
 * A session store as plain lists, written from the contract.
 *
 * @since 0.1.0
 * @private
 */
import type { Session, SessionCheckpoint, SessionTurn, TurnRef } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"

const isLive = (session: Session): boolean => session.status === "active" || session.status === "suspended"

const byTime =
  (order: "created" | "updated") =>
  (a: Session, b: Session): number =>
    (order === "created" ? a.createdAt - b.createdAt : a.updatedAt - b.updatedAt) || (a.id < b.id ? -1 : 1)

/**
 * @since 0.1.0
 * @category models
 */
export class SessionModel {
  private sessions: ReadonlyArray<Session> = []
  private kept: ReadonlyArray<SessionTurn> = []
  private held: ReadonlyArray<SessionCheckpoint> = []
  /** Where sessions branched: a branch needs this turn as long as it exists. */
  private readonly begun = new Map<string, TurnRef | undefined>()

  session(id: string): Session | undefined {
    return this.sessions.find((one) => one.id === id)
  }

  turns(): ReadonlyArray<SessionTurn> {
    return this.kept
  }

  /** Newest first. */
  checkpoints(id: string): ReadonlyArray<SessionCheckpoint> {
    return this.held.filter((one) => one.sessionId === id).sort((a, b) => b.revision - a.revision)
  }

  create(session: Session, limits: SessionStore.Limits): SessionStore.Created | string {
    const found = this.session(session.id)
    if (found !== undefined) return { session: found, isNew: false }
    if (this.kept.some((turn) => turn.sessionId === session.id)) return "SessionConflictError"
    if (session.head !== undefined && this.turn(session.head) === undefined) return "SessionConflictError"
    if (this.isOver(session, limits)) return "SessionCapacityError"
    this.sessions = [...this.sessions, session]
    this.begun.set(session.id, session.head)
    return { session, isNew: true }
  }

  save(change: SessionStore.Change): string | undefined {
    const { checkpoint, keepCheckpoints, limits, session } = change
    const found = this.session(session.id)
    if (found === undefined || found.revision + 1 !== session.revision) return "SessionConflictError"
    const { perUser } = limits ?? {}
    const bounds = !isLive(found) ? (limits ?? {}) : found.userId === session.userId ? {} : { perUser }
    if (this.isOver(session, bounds)) return "SessionCapacityError"
    this.replace(session)
    this.keep(checkpoint, keepCheckpoints)
    return undefined
  }

  append({ checkpoint, keepCheckpoints, session, turns }: SessionStore.Addition): ReadonlyArray<SessionTurn> | string {
    const found = this.session(session.id)
    if (found === undefined || found.revision + 1 !== session.revision) return "SessionConflictError"
    const known = turns.flatMap((turn) => this.turn({ sessionId: session.id, turnId: turn.id }) ?? [])
    if (known.length > 0) return known
    this.kept = [...this.kept, ...turns]
    this.replace(session)
    this.keep(checkpoint, keepCheckpoints)
    return []
  }

  delete(id: string): boolean {
    if (this.session(id) === undefined) return false
    this.sessions = this.sessions.filter((one) => one.id !== id)
    this.held = this.held.filter((one) => one.sessionId !== id)
    const needed = new Set(
      this.sessions.flatMap((one) => {
        const head = this.begun.get(one.id)
        return head === undefined ? [] : this.way(head)
      })
    )
    this.kept = this.kept.filter((turn) => needed.has(turn) || this.session(turn.sessionId) !== undefined)
    return true
  }

  deleteCheckpoint(id: string): boolean {
    const before = this.held.length
    this.held = this.held.filter((one) => one.id !== id)
    return this.held.length < before
  }

  idle(since: number): ReadonlyArray<Session> {
    return this.sessions.filter((one) => isLive(one) && one.updatedAt <= since).sort(byTime("updated"))
  }

  expire({ at, limit, since }: { readonly since: number; readonly at: number; readonly limit: number }) {
    const expired = this.idle(since)
      .slice(0, limit)
      .map((one): Session => ({ ...one, status: "expired", updatedAt: at, revision: one.revision + 1 }))
    for (const one of expired) this.replace(one)
    return expired
  }

  list(query: Omit<SessionStore.ListOptions, "limit" | "after">): ReadonlyArray<Session> {
    const { order = "created", parentSessionId, rootSessionId, statuses, userId } = query
    return this.sessions
      .filter(
        (one) =>
          (userId === undefined || (one.userId ?? null) === userId) &&
          (statuses === undefined || statuses.includes(one.status)) &&
          (parentSessionId === undefined || one.parentSessionId === parentSessionId) &&
          (rootSessionId === undefined || (one.rootSessionId ?? one.id) === rootSessionId)
      )
      .sort((a, b) => byTime(order)(b, a))
  }

  /** Oldest first. */
  way(head: TurnRef): ReadonlyArray<SessionTurn> {
    const turn = this.turn(head)
    if (turn === undefined) return []
    return turn.parent === undefined ? [turn] : [...this.way(turn.parent), turn]
  }

  window(
    head: TurnRef,
    { limit, since }: { readonly limit: number; readonly since: TurnRef | undefined }
  ): ReadonlyArray<SessionTurn> {
    const way = this.way(head)
    const known = since === undefined ? undefined : this.turn(since)
    const from = known === undefined ? -1 : way.indexOf(known)
    return limit === 0 ? [] : way.slice(from + 1).slice(-limit)
  }

  private turn(ref: TurnRef): SessionTurn | undefined {
    return this.kept.find((one) => one.sessionId === ref.sessionId && one.id === ref.turnId)
  }

  private replace(session: Session): void {
    this.sessions = this.sessions.map((one) => (one.id === session.id ? session : one))
  }

  private keep(checkpoint: SessionCheckpoint | undefined, bound: number | undefined): void {
    if (checkpoint === undefined) return
    this.held = [...this.held, checkpoint]
    if (bound === undefined) return
    const mayGo = this.checkpoints(checkpoint.sessionId).filter(({ kind }) => kind === "manual" || kind === "auto")
    const gone = new Set(mayGo.slice(bound))
    this.held = this.held.filter((one) => !gone.has(one))
  }

  private isOver(session: Session, { perParent, perUser }: SessionStore.Limits): boolean {
    if (!isLive(session)) return false
    const live = this.sessions.filter((one) => isLive(one) && one.id !== session.id)
    const ofUser = live.filter((one) => one.userId === session.userId).length
    const ofParent = live.filter((one) => one.parentSessionId === session.parentSessionId).length
    return (
      (perUser !== undefined && session.userId !== undefined && ofUser >= perUser) ||
      (perParent !== undefined && session.parentSessionId !== undefined && ofParent >= perParent)
    )
  }
}
