/**
 * Holds the most recently added entries of each owner and session, within bounds.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId, SessionId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"

/**
 * @category models
 */
export interface Scope {
  readonly ownerId: string
  readonly sessionId?: SessionId | undefined
}

/**
 * @category models
 */
export interface HeldEntries {
  readonly add: (entry: MemoryEntry) => void
  /** Oldest first. */
  readonly entriesOf: (scope: Scope) => ReadonlyArray<MemoryEntry>
  /** Releases these entries, except those that another entry has replaced. */
  readonly release: (entries: ReadonlyArray<MemoryEntry>) => void
}

interface Held {
  readonly entry: MemoryEntry
  /** When the first entry of this id was added: a replacement keeps its place. */
  readonly at: number
  readonly seq: number
}

/** The entries of one session of an owner, or those outside any session. */
interface Window {
  readonly ownerId: string
  readonly sessionId: SessionId | undefined
  readonly held: Map<EntryId, Held>
}

interface Owner {
  readonly sessions: Map<SessionId | undefined, Window>
  readonly windowOf: Map<EntryId, Window>
}

/**
 * Holds at most `maxEntries` per scope, `maxScopes` scopes and `maxChars` characters in total. Evicts the oldest
 * entries of a scope and the least recently used scopes.
 *
 * @category constructors
 */
export const make = (options: {
  readonly maxEntries: number
  readonly maxScopes: number
  readonly maxChars: number
}): HeldEntries => {
  const owners = new Map<string, Owner>()
  // In the order of their last use.
  const windows = new Set<Window>()
  let chars = 0
  let seq = 0

  const drop = (window: Window, id: EntryId): void => {
    const held = window.held.get(id)
    if (held === undefined) return
    window.held.delete(id)
    chars -= held.entry.content.length
    const owner = owners.get(window.ownerId)
    owner?.windowOf.delete(id)
    if (window.held.size > 0) return
    windows.delete(window)
    owner?.sessions.delete(window.sessionId)
    if (owner?.sessions.size === 0) owners.delete(window.ownerId)
  }

  const ownerOf = (ownerId: string): Owner => {
    let owner = owners.get(ownerId)
    if (owner === undefined) {
      owner = { sessions: new Map(), windowOf: new Map() }
      owners.set(ownerId, owner)
    }
    return owner
  }

  const inOrder = (held: Iterable<Held>): ReadonlyArray<Held> =>
    Array.from(held).sort((a, b) => a.at - b.at || a.seq - b.seq)

  const makeRoom = (window: Window): void => {
    if (window.held.size > options.maxEntries) {
      for (const { entry } of inOrder(window.held.values()).slice(0, window.held.size - options.maxEntries)) {
        drop(window, entry.id)
      }
    }
    for (const oldest of windows) {
      if (windows.size <= options.maxScopes && chars <= options.maxChars) break
      for (const id of Array.from(oldest.held.keys())) {
        if (windows.size <= options.maxScopes && chars <= options.maxChars) break
        drop(oldest, id)
      }
    }
  }

  return {
    add: (entry) => {
      // An entry may move to another session of its owner.
      const elsewhere = owners.get(entry.ownerId)?.windowOf.get(entry.id)
      if (elsewhere !== undefined && elsewhere.sessionId !== entry.sessionId) drop(elsewhere, entry.id)
      const owner = ownerOf(entry.ownerId)
      const window = owner.sessions.get(entry.sessionId) ?? {
        ownerId: entry.ownerId,
        sessionId: entry.sessionId,
        held: new Map()
      }
      owner.sessions.set(entry.sessionId, window)
      windows.delete(window)
      windows.add(window)
      const before = window.held.get(entry.id)
      chars += entry.content.length - (before?.entry.content.length ?? 0)
      owner.windowOf.set(entry.id, window)
      window.held.set(entry.id, { entry, at: before?.at ?? entry.timestamp, seq: before?.seq ?? seq++ })
      makeRoom(window)
    },
    entriesOf: ({ ownerId, sessionId }) => {
      const sessions = owners.get(ownerId)?.sessions
      if (sessions === undefined) return []
      const window = sessions.get(sessionId)
      const wanted = sessionId === undefined ? Array.from(sessions.values()) : window === undefined ? [] : [window]
      return inOrder(wanted.flatMap(({ held }) => Array.from(held.values()))).map(({ entry }) => entry)
    },
    release: (entries) => {
      for (const entry of entries) {
        const window = owners.get(entry.ownerId)?.windowOf.get(entry.id)
        if (window?.held.get(entry.id)?.entry === entry) drop(window, entry.id)
      }
    }
  }
}
