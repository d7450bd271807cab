/**
 * A session store in the memory of this process. The cost of a call depends on its input and output, not on the number
 * of stored sessions, turns and checkpoints.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Mutable } from "effect/Types"
import type { SessionId } from "../../domain/Ids.js"
import * as FrozenJson from "./FrozenJson.js"
import { HeldCheckpoints } from "./HeldCheckpoints.js"
import { HeldExchanges } from "./HeldExchanges.js"
import type { CheckpointId, Exchange, Session, SessionCheckpoint, SessionTurn } from "./Session.js"
import { isLive } from "./Session.js"
import type { SessionCapacityError, SessionConflictError, SessionStorageError } from "./SessionError.js"
import { type Entry, SessionIndex } from "./SessionIndex.js"
import {
  type Addition,
  type Change,
  type Created,
  type Creation,
  type Limits,
  type Service,
  SessionStore
} from "./SessionStore.js"
import * as SessionStoreErrors from "./SessionStoreErrors.js"
import { TurnTree } from "./TurnTree.js"

interface Held extends Entry<Session> {
  readonly checkpoints: HeldCheckpoints
}

class Store {
  private readonly sessions = new Map<SessionId, Held>()
  private readonly byId = new Map<CheckpointId, SessionCheckpoint>()
  readonly index = new SessionIndex<Session, Held>((id) => this.sessions.get(id))
  readonly turns = new TurnTree()
  readonly exchanges = new HeldExchanges()

  create({
    checkpoint,
    limits,
    session
  }: Creation): Either.Either<Created, SessionConflictError | SessionCapacityError | SessionStorageError> {
    const kept = this.sessions.get(session.id)
    if (kept !== undefined) return Either.right({ session: kept.session, isNew: false })
    if (!this.turns.isFree(session.id)) return Either.left(SessionStoreErrors.idInUse(session))
    if (session.head !== undefined && this.turns.get(session.head) === undefined) {
      return Either.left(SessionStoreErrors.headMissing(session))
    }
    if (this.isTaken(checkpoint)) return Either.left(SessionStoreErrors.checkpointExists)
    const refusal = this.overLimit(session, limits)
    if (refusal !== undefined) return Either.left(refusal)
    const held: Held = { session, checkpoints: new HeldCheckpoints() }
    this.sessions.set(session.id, held)
    this.index.add(held)
    this.turns.open(session.id, session.head)
    this.keep(held, checkpoint, undefined)
    return Either.right({ session, isNew: true })
  }

  load(id: SessionId): Session | undefined {
    return this.sessions.get(id)?.session
  }

  save({
    checkpoint,
    keepCheckpoints,
    limits,
    session
  }: Change): Either.Either<void, SessionConflictError | SessionCapacityError | SessionStorageError> {
    const held = this.sessions.get(session.id)
    if (held === undefined || held.session.revision !== session.revision - 1) {
      return Either.left(SessionStoreErrors.staleRevision(session, held?.session))
    }
    if (this.isTaken(checkpoint)) return Either.left(SessionStoreErrors.checkpointExists)
    const before = { isLive: isLive(held.session), isUsers: held.session.userId === session.userId }
    const refusal = this.overLimit(session, SessionStoreErrors.limitsOf(before, limits))
    if (refusal !== undefined) return Either.left(refusal)
    this.replace(held, session)
    this.keep(held, checkpoint, keepCheckpoints)
    return Either.void
  }

  open(exchange: Exchange): Either.Either<void, SessionConflictError> {
    if (!this.sessions.has(exchange.sessionId))
      return Either.left(SessionStoreErrors.sessionMissing(exchange.sessionId))
    this.exchanges.open(exchange)
    return Either.void
  }

  append({
    checkpoint,
    closes,
    isStateChanged,
    keepCheckpoints,
    session,
    turns
  }: Addition): Either.Either<ReadonlyArray<SessionTurn>, SessionConflictError | SessionStorageError> {
    const held = this.sessions.get(session.id)
    if (held === undefined || held.session.revision !== session.revision - 1) {
      return Either.left(SessionStoreErrors.staleRevision(session, held?.session))
    }
    const known = turns.flatMap(({ id }) => this.turns.get({ sessionId: session.id, turnId: id }) ?? [])
    if (known.length > 0) return Either.right(known)
    if (turns.length > 1 && new Set(turns.map(({ id }) => id)).size < turns.length) {
      return Either.left(SessionStoreErrors.duplicateTurns)
    }
    if (this.isTaken(checkpoint)) return Either.left(SessionStoreErrors.checkpointExists)
    for (const turn of turns) this.turns.add(turn)
    if (isStateChanged === true) this.replace(held, session)
    else this.index.moveTo(held, moved(held.session, session))
    this.keep(held, checkpoint, keepCheckpoints)
    if (closes !== undefined) this.exchanges.withdraw(session.id, closes)
    return Either.right([])
  }

  expire(since: number, at: number, limit: number): ReadonlyArray<Session> {
    const expired: Array<Session> = []
    for (const entry of this.index.idle(since, limit, undefined)) {
      const session: Session = Object.freeze({
        ...entry.session,
        status: "expired",
        updatedAt: at,
        revision: entry.session.revision + 1
      })
      this.replace(entry, session)
      expired.push(session)
    }
    return expired
  }

  checkpoint(id: CheckpointId): SessionCheckpoint | undefined {
    return this.byId.get(id)
  }

  checkpointsOf(id: SessionId): HeldCheckpoints | undefined {
    return this.sessions.get(id)?.checkpoints
  }

  deleteCheckpoint(id: CheckpointId): boolean {
    const checkpoint = this.byId.get(id)
    if (checkpoint === undefined) return false
    this.byId.delete(id)
    this.sessions.get(checkpoint.sessionId)?.checkpoints.remove(checkpoint)
    return true
  }

  delete(id: SessionId): boolean {
    const held = this.sessions.get(id)
    if (held === undefined) return false
    this.sessions.delete(id)
    this.index.remove(held)
    for (const checkpoint of held.checkpoints.ids()) this.byId.delete(checkpoint)
    this.exchanges.delete(id)
    this.turns.delete(id)
    return true
  }

  private isTaken(checkpoint: SessionCheckpoint | undefined): boolean {
    return checkpoint !== undefined && this.byId.has(checkpoint.id)
  }

  private replace(entry: Held, session: Session): void {
    this.index.remove(entry)
    entry.session = session
    this.index.add(entry)
  }

  private keep(held: Held, checkpoint: SessionCheckpoint | undefined, keep: number | undefined): void {
    if (checkpoint === undefined) return
    this.byId.set(checkpoint.id, checkpoint)
    held.checkpoints.add(checkpoint)
    if (keep === undefined) return
    for (const id of held.checkpoints.prune(keep)) this.byId.delete(id)
  }

  private overLimit(session: Session, limits: Limits | undefined): SessionCapacityError | undefined {
    return SessionStoreErrors.overLimit(session, limits, {
      ofUser: () => this.index.liveOfUser(session.userId),
      ofParent: () => this.index.liveOfParent(session.parentSessionId)
    })
  }
}

/** The stored session after turns are appended: only the fields that turns change differ. */
const moved = (kept: Session, session: Session): Session => {
  // A plain copy first: an object literal that continues after a spread is thirty times slower.
  const next: Mutable<Session> = { ...kept }
  if (session.head !== undefined) next.head = FrozenJson.copy(session.head)
  if (session.checkpointId !== undefined) next.checkpointId = session.checkpointId
  next.depth = session.depth
  next.totalTokens = session.totalTokens
  next.totalCost = session.totalCost
  next.updatedAt = session.updatedAt
  next.revision = session.revision
  return Object.freeze(next)
}

/** Copied before the write, so that values that cannot be stored change nothing. */
const copied = <A>(copy: () => A): Effect.Effect<A, SessionStorageError> =>
  Effect.try({ try: copy, catch: () => SessionStoreErrors.notJson })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Service> = Effect.sync(() => {
  const store = new Store()
  const frozen = (checkpoint: SessionCheckpoint | undefined) =>
    checkpoint === undefined ? undefined : FrozenJson.copy(checkpoint)
  const service: Service = {
    name: "in_memory",
    create: (creation) =>
      Effect.flatMap(
        copied(() => ({
          ...creation,
          session: FrozenJson.copy(creation.session),
          checkpoint: frozen(creation.checkpoint)
        })),
        (copy) => store.create(copy)
      ),
    load: (id) => Effect.sync(() => Option.fromNullable(store.load(id))),
    save: (change) =>
      Effect.flatMap(
        copied(() => ({ ...change, session: FrozenJson.copy(change.session), checkpoint: frozen(change.checkpoint) })),
        (copy) => store.save(copy)
      ),
    append: (addition) =>
      Effect.flatMap(
        copied(() => ({
          ...addition,
          session: addition.isStateChanged === true ? FrozenJson.copy(addition.session) : addition.session,
          turns: addition.turns.map(FrozenJson.copy),
          checkpoint: frozen(addition.checkpoint)
        })),
        (copy) => store.append(copy)
      ),
    open: (exchange) =>
      Effect.flatMap(
        copied(() => FrozenJson.copy(exchange)),
        (copy) => store.open(copy)
      ),
    exchange: ({ runId, sessionId }) => Effect.sync(() => Option.fromNullable(store.exchanges.get(sessionId, runId))),
    withdraw: ({ runId, sessionId }) => Effect.sync(() => store.exchanges.withdraw(sessionId, runId)),
    lease: ({ owner, until }) => Effect.sync(() => store.exchanges.lease(owner, until)),
    orphans: ({ at, limit }) => Effect.sync(() => store.exchanges.orphans(at, limit)),
    turn: (ref) => Effect.sync(() => Option.fromNullable(store.turns.get(ref))),
    turns: (head, { limit, since }) => Effect.sync(() => store.turns.window(head, limit, since)),
    list: (options) => Effect.sync(() => store.index.list(options).map(({ session }) => session)),
    idle: ({ after, limit, since }) =>
      Effect.sync(() => store.index.idle(since, limit, after).map(({ session }) => session)),
    expire: ({ at, limit, since }) => Effect.sync(() => store.expire(since, at, limit)),
    checkpoint: (id) => Effect.sync(() => Option.fromNullable(store.checkpoint(id))),
    checkpoints: (id, { before, kinds, limit }) =>
      Effect.sync(() => store.checkpointsOf(id)?.list(limit, before, kinds) ?? []),
    lastMerge: (into, from) => Effect.sync(() => Option.fromNullable(store.checkpointsOf(into)?.lastMerge(from))),
    deleteCheckpoint: (id) => Effect.sync(() => store.deleteCheckpoint(id)),
    delete: (id) => Effect.sync(() => store.delete(id)),
    health: Effect.void
  }
  return service
})

/**
 * Stores everything in the memory of this process, without a bound, until the layer is released. Returned values are
 * frozen.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { MemoryConsolidator, WorkingMemory } from "effect-lexigram/memory"
 * import { DefaultSessionManager, InMemorySessionStore } from "effect-lexigram/session"
 * import * as Layer from "effect/Layer"
 *
 * // Sessions without memory.
 * const sessions = DefaultSessionManager.layer({ sessionTtl: "1 hour" }).pipe(
 *   Layer.provide([InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop])
 * )
 * ```
 */
export const layer: Layer.Layer<SessionStore> = Layer.effect(SessionStore, make)
