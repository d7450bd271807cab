/**
 * Indexes sessions in memory in the orders of their lists: all, by user, by parent and by root, each by status and
 * time.
 *
 * @private
 * @since 0.1.0
 */
import type { SessionId, UserId } from "../../domain/Ids.js"
import { OrderedList } from "../../internal/OrderedList.js"
import type { Session, SessionStatus } from "./Session.js"
import type { Cursor, ListOptions } from "./SessionStore.js"

/**
 * The fields that sessions are listed by.
 *
 * @category models
 */
export type Listed = Pick<
  Session,
  "id" | "userId" | "status" | "createdAt" | "updatedAt" | "parentSessionId" | "rootSessionId"
>

/**
 * A session as it is now; it is removed from the index before it changes.
 *
 * @category models
 */
export interface Entry<S extends Listed = Listed> {
  session: S
}

type Order = "created" | "updated"

const timeOf = (session: Listed, order: Order): number => (order === "created" ? session.createdAt : session.updatedAt)

const byPlace = (aTime: number, aId: string, bTime: number, bId: string): number =>
  aTime - bTime || (aId < bId ? -1 : aId > bId ? 1 : 0)

const comparing =
  (order: Order) =>
  (a: Entry, b: Entry): number =>
    byPlace(timeOf(a.session, order), a.session.id, timeOf(b.session, order), b.session.id)

const compare = { created: comparing("created"), updated: comparing("updated") }

const compareToCursor = (session: Listed, order: Order, cursor: Cursor): number =>
  byPlace(timeOf(session, order), session.id, cursor.at, cursor.id)

const statuses: ReadonlyArray<SessionStatus> = ["active", "suspended", "closed", "expired"]
const live: ReadonlyArray<SessionStatus> = ["active", "suspended"]

interface Ranked<E> {
  readonly created: OrderedList<E>
  readonly updated: OrderedList<E>
}

/** The index of one user, parent or root. */
class Scope<E extends Entry> {
  private readonly ranked = new Map<SessionStatus, Ranked<E>>()

  add(entry: E): void {
    const { status } = entry.session
    let of: Ranked<E> | undefined = this.ranked.get(status)
    if (of === undefined) {
      of = { created: new OrderedList<E>(compare.created), updated: new OrderedList<E>(compare.updated) }
      this.ranked.set(status, of)
    }
    of.created.add(entry)
    of.updated.add(entry)
  }

  remove(entry: E): void {
    const { status } = entry.session
    const of = this.ranked.get(status)
    if (of === undefined) return
    of.created.remove(entry)
    of.updated.remove(entry)
    if (of.created.size === 0) this.ranked.delete(status)
  }

  leaveTime(entry: E): void {
    this.ranked.get(entry.session.status)?.updated.remove(entry)
  }

  takeTime(entry: E): void {
    this.ranked.get(entry.session.status)?.updated.add(entry)
  }

  get isEmpty(): boolean {
    return this.ranked.size === 0
  }

  get live(): number {
    return live.reduce((sum, status) => sum + (this.ranked.get(status)?.created.size ?? 0), 0)
  }

  lists(wanted: ReadonlyArray<SessionStatus>, order: Order): ReadonlyArray<OrderedList<E>> {
    return wanted.flatMap((status) => this.ranked.get(status)?.[order] ?? [])
  }
}

const scopeOf = <K, E extends Entry>(scopes: Map<K, Scope<E>>, key: K): Scope<E> => {
  let scope = scopes.get(key)
  if (scope === undefined) {
    scope = new Scope<E>()
    scopes.set(key, scope)
  }
  return scope
}

/** Merges several ordered lists into one. */
function* merged<A>(lists: ReadonlyArray<Generator<A, void>>, compare: (a: A, b: A) => number): Generator<A, void> {
  const heads = lists.flatMap((list) => {
    const first = list.next()
    return first.done === true ? [] : [{ list, value: first.value }]
  })
  while (heads.length > 0) {
    let least = 0
    for (let at = 1; at < heads.length; at++) {
      if (compare((heads[at] as { value: A }).value, (heads[least] as { value: A }).value) < 0) least = at
    }
    const head = heads[least] as { readonly list: Generator<A, void>; value: A }
    yield head.value
    const next = head.list.next()
    if (next.done === true) heads.splice(least, 1)
    else head.value = next.value
  }
}

/**
 * Merges several lists newest first, from `passed` downwards.
 *
 * @category getters
 */
export const newest = <A>(
  lists: ReadonlyArray<OrderedList<A>>,
  compare: (a: A, b: A) => number,
  passed?: (item: A) => boolean
): Generator<A, void> =>
  merged(
    lists.map((list) => list.descending(passed)),
    (a, b) => compare(b, a)
  )

/**
 * @category models
 */
export class SessionIndex<S extends Listed, E extends Entry<S> = Entry<S>> {
  private readonly all = new Scope<E>()
  private readonly users = new Map<UserId | null, Scope<E>>()
  private readonly parents = new Map<SessionId, Scope<E>>()
  /** Without the first sessions of trees: most trees have no other session. */
  private readonly roots = new Map<SessionId, Scope<E>>()

  constructor(private readonly find: (id: SessionId) => E | undefined) {}

  add(entry: E): void {
    const { parentSessionId, rootSessionId, userId } = entry.session
    this.all.add(entry)
    scopeOf(this.users, userId ?? null).add(entry)
    if (parentSessionId !== undefined) scopeOf(this.parents, parentSessionId).add(entry)
    if (rootSessionId !== undefined) scopeOf(this.roots, rootSessionId).add(entry)
  }

  remove(entry: E): void {
    const { parentSessionId, rootSessionId, userId } = entry.session
    const from = <K>(scopes: Map<K, Scope<E>>, key: K | undefined): void => {
      const scope = key === undefined ? undefined : scopes.get(key)
      if (scope === undefined) return
      scope.remove(entry)
      if (scope.isEmpty) scopes.delete(key as K)
    }
    this.all.remove(entry)
    from(this.users, userId ?? null)
    from(this.parents, parentSessionId)
    from(this.roots, rootSessionId)
  }

  /** Only the time of the last change differs. */
  moveTo(entry: E, session: S): void {
    const scopes = this.scopesOf(entry.session)
    for (const scope of scopes) scope.leaveTime(entry)
    entry.session = session
    for (const scope of scopes) scope.takeTime(entry)
  }

  liveOfUser(userId: UserId | undefined): number {
    return userId === undefined ? 0 : (this.users.get(userId)?.live ?? 0)
  }

  liveOfParent(parentSessionId: SessionId | undefined): number {
    return parentSessionId === undefined ? 0 : (this.parents.get(parentSessionId)?.live ?? 0)
  }

  list(options: ListOptions): ReadonlyArray<E> {
    const order = options.order ?? "created"
    const { after } = options
    const wanted = options.statuses === undefined ? statuses : [...new Set(options.statuses)]
    const found = newest(
      this.narrowest(options, wanted, order),
      compare[order],
      after === undefined ? undefined : (entry) => compareToCursor(entry.session, order, after) >= 0
    )
    return taken(found, options.limit, ({ session }) => this.fits(session, options))
  }

  idle(since: number, limit: number, after: Cursor | undefined): ReadonlyArray<E> {
    const found = merged(
      this.all
        .lists(live, "updated")
        .map((list) =>
          list.ascending(
            after === undefined ? undefined : (entry) => compareToCursor(entry.session, "updated", after) > 0
          )
        ),
      compare.updated
    )
    const idle: Array<E> = []
    if (limit <= 0) return idle
    for (const entry of found) {
      if (entry.session.updatedAt > since) break
      idle.push(entry)
      if (idle.length >= limit) break
    }
    return idle
  }

  private scopesOf({ parentSessionId, rootSessionId, userId }: Listed): ReadonlyArray<Scope<E>> {
    const scopes = [this.all, scopeOf(this.users, userId ?? null)]
    if (parentSessionId !== undefined) scopes.push(scopeOf(this.parents, parentSessionId))
    if (rootSessionId !== undefined) scopes.push(scopeOf(this.roots, rootSessionId))
    return scopes
  }

  /** A tree usually belongs to one user, so few sessions are skipped. */
  private narrowest(
    { parentSessionId, rootSessionId, userId }: ListOptions,
    wanted: ReadonlyArray<SessionStatus>,
    order: Order
  ): ReadonlyArray<OrderedList<E>> {
    const of = <K>(scopes: Map<K, Scope<E>>, key: K) => scopes.get(key)?.lists(wanted, order) ?? []
    if (parentSessionId !== undefined) return of(this.parents, parentSessionId)
    if (rootSessionId !== undefined) {
      const root = this.find(rootSessionId)
      const alone = new OrderedList<E>(compare[order])
      if (root !== undefined && root.session.rootSessionId === undefined && wanted.includes(root.session.status)) {
        alone.add(root)
      }
      return [alone, ...of(this.roots, rootSessionId)]
    }
    return userId !== undefined ? of(this.users, userId) : this.all.lists(wanted, order)
  }

  private fits(session: Listed, { parentSessionId, rootSessionId, userId }: ListOptions): boolean {
    return (
      (userId === undefined || (session.userId ?? null) === userId) &&
      (parentSessionId === undefined || session.parentSessionId === parentSessionId) &&
      (rootSessionId === undefined || (session.rootSessionId ?? session.id) === rootSessionId)
    )
  }
}

/**
 * The first sessions that match.
 *
 * @category getters
 */
export const taken = <A>(
  found: Iterable<A>,
  limit: number,
  fits: (item: A) => boolean = () => true
): ReadonlyArray<A> => {
  const some: Array<A> = []
  if (limit <= 0) return some
  for (const item of found) {
    if (!fits(item)) continue
    some.push(item)
    if (some.length >= limit) break
  }
  return some
}
