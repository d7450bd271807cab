/**
 * Turns whose facts are to be extracted, by session, with the time at which that is due.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"

/**
 * The turns of a session, or those of an owner outside any session.
 *
 * @category models
 */
export interface Conversation {
  readonly key: string
  readonly ownerId: string
  readonly ids: ReadonlySet<EntryId>
  /** Failed extractions of these turns. */
  readonly attempts: number
}

/**
 * Times in milliseconds.
 *
 * @category models
 */
export interface Limits {
  /** After the last turn. */
  readonly quiet: number
  /** After the first turn. */
  readonly maxWait: number
  /** Conversations beyond this number are due at once, the oldest first; beyond twice as many they are dropped. */
  readonly maxConversations: number
  /** Turns of a conversation. It is due at once when it has so many, and more are dropped. */
  readonly maxTurns: number
}

interface Waiting {
  readonly key: string
  readonly ownerId: string
  readonly ids: Set<EntryId>
  firstAt: number
  lastAt: number
  attempts: number
  notBefore: number
  isForced: boolean
}

/**
 * @category models
 */
export interface PendingTurns {
  /** Returns how many turns were dropped, because there are too many, and when the first of these is due. */
  readonly add: (
    entries: ReadonlyArray<Pick<MemoryEntry, "id" | "ownerId" | "sessionId">>,
    now: number
  ) => { readonly dropped: number; readonly dueAt: number }
  /** Keys of what is due, the oldest first. */
  readonly due: (now: number, count: number) => ReadonlyArray<string>
  /** Takes a conversation, whether or not it is due. */
  readonly takeOf: (key: string) => Conversation | undefined
  /** Adds what was taken again, due at this time. Turns that came meanwhile wait with it. */
  readonly putBack: (taken: Conversation, due: { readonly now: number; readonly at: number }) => void
  /** All keys, the oldest first. */
  readonly keys: () => ReadonlyArray<string>
  /** When the next one is due. */
  readonly next: () => number | undefined
}

/**
 * Identifies a conversation.
 *
 * @category conversions
 */
export const keyOf = ({ ownerId, sessionId }: Pick<MemoryEntry, "ownerId" | "sessionId">): string =>
  JSON.stringify(sessionId === undefined ? [ownerId] : [ownerId, sessionId])

/**
 * @category constructors
 */
export const make = ({ maxConversations, maxTurns, maxWait, quiet }: Limits): PendingTurns => {
  // In the order of their first turns.
  const waiting = new Map<string, Waiting>()

  const dueAt = ({ firstAt, ids, isForced, lastAt, notBefore }: Waiting): number =>
    isForced || ids.size >= maxTurns ? notBefore : Math.max(notBefore, Math.min(lastAt + quiet, firstAt + maxWait))

  const enter = (key: string, ownerId: string, now: number): Waiting => {
    const known = waiting.get(key)
    if (known !== undefined) return known
    const one: Waiting = {
      key,
      ownerId,
      ids: new Set(),
      firstAt: now,
      lastAt: now,
      attempts: 0,
      notBefore: 0,
      isForced: false
    }
    waiting.set(key, one)
    return one
  }

  /** If there are too many: makes the oldest ones due, or drops the oldest if it was due and there are far too many. */
  const bound = (): { readonly dropped: number; readonly isForced: boolean } => {
    const [oldest] = waiting.values()
    if (oldest === undefined || waiting.size <= maxConversations) return { dropped: 0, isForced: false }
    if (waiting.size > 2 * maxConversations) {
      waiting.delete(oldest.key)
      return { dropped: oldest.ids.size, isForced: true }
    }
    let surplus = waiting.size - maxConversations
    for (const one of waiting.values()) {
      if (surplus-- === 0) break
      one.isForced = true
    }
    return { dropped: 0, isForced: true }
  }

  return {
    add: (entries, now) => {
      let dropped = 0
      let first = Number.POSITIVE_INFINITY
      for (const entry of entries) {
        const one = enter(keyOf(entry), entry.ownerId, now)
        one.lastAt = now
        if (one.ids.size < maxTurns || one.ids.has(entry.id)) one.ids.add(entry.id)
        else dropped++
        first = Math.min(first, dueAt(one))
        const bounded = bound()
        dropped += bounded.dropped
        if (bounded.isForced) first = now
      }
      return { dropped, dueAt: first }
    },
    due: (now, count) => {
      const keys: Array<string> = []
      for (const one of waiting.values()) if (keys.length < count && dueAt(one) <= now) keys.push(one.key)
      return keys
    },
    takeOf: (key) => {
      const one = waiting.get(key)
      waiting.delete(key)
      return one === undefined ? undefined : { key, ownerId: one.ownerId, ids: one.ids, attempts: one.attempts }
    },
    putBack: (taken, { at, now }) => {
      const one = enter(taken.key, taken.ownerId, now)
      for (const id of taken.ids) one.ids.add(id)
      one.attempts = taken.attempts
      one.notBefore = at
    },
    keys: () => [...waiting.keys()],
    next: () => {
      let next: number | undefined
      for (const one of waiting.values()) {
        const due = dueAt(one)
        if (next === undefined || due < next) next = due
      }
      return next
    }
  }
}
