/**
 * Walks the turn tree: finds the common ancestor of two heads and reads a path page by page.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Cut, Session, SessionState, SessionTurn, TurnRef } from "../turn/Session.js"
import { SessionStorageError } from "../turn/SessionError.js"
import type * as SessionStore from "../turn/SessionStore.js"

/** The last turn on the path that a session wrote. */
interface End extends TurnRef {
  readonly depth: number
  /** The cuts of that session at that point. */
  readonly cuts: ReadonlyArray<Cut>
}

/**
 * From the first turn to a head, by the sessions that wrote the turns.
 *
 * @category models
 */
export type Path = ReadonlyArray<End>

/**
 * A turn on both paths; `undefined` if there is none.
 *
 * @category models
 */
export type Common = { readonly turn: TurnRef; readonly depth: number } | undefined

/**
 * The path to the head of a session state.
 *
 * @category constructors
 */
export const pathOf = ({ id, lineage }: Pick<Session, "id" | "lineage">, state: SessionState): Path => {
  const { cuts, depth, head } = state
  if (head === undefined) return []
  return head.sessionId === id ? [...lineage, { ...head, depth, cuts }] : lineage
}

const pageSize = 100

const lost = new SessionStorageError({
  message: "Turns on the path to the head of a session are missing",
  hint: "The session was deleted in the meantime, or the store has lost some of its turns"
})

/** Follows the parents turn by turn. */
const walker = (store: SessionStore.Service, from: TurnRef) => {
  let page: ReadonlyArray<SessionTurn> = []
  let at = -1
  let next: TurnRef | undefined = from
  return Effect.gen(function* () {
    if (at < 0) {
      if (next === undefined) return undefined
      page = yield* store.turns(next, { limit: pageSize })
      next = page[0]?.parent
      at = page.length - 1
      if (at < 0) return yield* lost
    }
    return page[at--]
  })
}

const findMeeting = (
  store: SessionStore.Service,
  one: TurnRef,
  other: TurnRef,
  until: number
): Effect.Effect<Common, SessionStorageError> =>
  Effect.gen(function* () {
    const [stepA, stepB] = [walker(store, one), walker(store, other)]
    let a = yield* stepA
    let b = yield* stepB
    while (a !== undefined && b !== undefined && Math.min(a.depth, b.depth) > until) {
      if (a.depth === b.depth) {
        if (a.id === b.id && a.sessionId === b.sessionId) {
          return { turn: { sessionId: a.sessionId, turnId: a.id }, depth: a.depth }
        }
        a = yield* stepA
        b = yield* stepB
      } else if (a.depth > b.depth) a = yield* stepA
      else b = yield* stepB
    }
    return undefined
  })

/**
 * The last turn on both paths. The sessions that wrote the turns determine it without reading turns, unless the paths
 * diverge within one session that was restored in between.
 *
 * @category getters
 */
export const common = (
  store: SessionStore.Service,
  one: Path,
  other: Path
): Effect.Effect<Common, SessionStorageError> => {
  let last: Common
  for (let at = 0; ; at++) {
    const a = one[at]
    const b = other[at]
    if (a === undefined || b === undefined || a.sessionId !== b.sessionId) return Effect.succeed(last)
    if (a.turnId !== b.turnId) {
      const [lower, upper] = a.depth < b.depth ? [a, b] : [b, a]
      if (lower.depth < upper.depth && lower.cuts.length === 0 && upper.cuts.length === 0) {
        return Effect.succeed({ turn: { sessionId: lower.sessionId, turnId: lower.turnId }, depth: lower.depth })
      }
      return Effect.map(findMeeting(store, lower, upper, last?.depth ?? 0), (met) => met ?? last)
    }
    last = { turn: { sessionId: a.sessionId, turnId: a.turnId }, depth: a.depth }
  }
}

/**
 * The turns deeper than a given depth on the path to the head, oldest first, page by page.
 *
 * @category getters
 */
export const turnsAfter = (
  store: SessionStore.Service,
  { depth, head }: Pick<SessionState, "depth" | "head">,
  since: number
): Effect.Effect<ReadonlyArray<SessionTurn>, SessionStorageError> =>
  Effect.gen(function* () {
    const pages: Array<ReadonlyArray<SessionTurn>> = []
    let next = head
    for (let open = depth - since; open > 0; ) {
      if (next === undefined) return yield* lost
      const page: ReadonlyArray<SessionTurn> = yield* store.turns(next, { limit: Math.min(open, pageSize) })
      if (page.length === 0) return yield* lost
      pages.push(page)
      open -= page.length
      next = page[0]?.parent
    }
    return pages.reverse().flat()
  })
