/**
 * Maps sessions to memory: the owner, a turn as a memory entry, and which entries a branch may recall.
 *
 * @since 0.1.0
 */
import { EntryId, type SessionId, type UserId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as PlainId from "../../internal/text/PlainId.js"
import { type MemoryEntry, maxContent } from "../../memory/entry/MemoryEntry.js"
import * as MemoryOwner from "../../memory/entry/MemoryOwner.js"
import * as Selection from "../../memory/entry/Selection.js"
import type { Cut, NewTurn, Session, SessionTurn } from "../turn/Session.js"

/**
 * The owner of a session's memory: the user, under its id, or else the session, under `session:…`, so that neither can
 * recall the other's data; a user id that looks like a session's gets the prefix `user:`. Without either there is no
 * owner: strangers share nothing.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOf = (of: {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}): string | undefined => {
  if (of.userId !== undefined) return MemoryOwner.ofUser(of.userId)
  return of.sessionId === undefined ? undefined : MemoryOwner.ofSession(of.sessionId)
}

/**
 * The first session of the tree; a session that was not forked is its own root.
 *
 * @since 0.1.0
 * @category getters
 */
export const treeOf = (session: Pick<Session, "id" | "rootSessionId">): SessionId => session.rootSessionId ?? session.id

/**
 * As `ownerOf`: the session's user, or else the first session of its tree, so that a branch of a session without a user
 * recalls what its ancestors said.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOfSession = (session: Pick<Session, "id" | "userId" | "rootSessionId">): string =>
  ownerOf({ userId: session.userId }) ?? MemoryOwner.ofSession(treeOf(session))

/**
 * The fields of a session that place its turns in memory.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place extends Pick<Session, "id" | "rootSessionId">, Partial<Pick<Session, "cuts">> {}

/** The time since which a restored session has continued. */
const stretchOf = ({ cuts = [] }: Place, at: number): number | undefined =>
  cuts.reduce<number | undefined>(
    (newest, { before }) => (before > at ? newest : Math.max(before, newest ?? before)),
    undefined
  )

const cutNote = "\n[Cut: the turn exceeds what memory stores of one.]"

/** The beginning of a text that is too long for an entry, without half a character at its end. */
const contentOf = (content: string): string => {
  if (content.length <= maxContent) return content
  const end = maxContent - cutNote.length
  const last = content.charCodeAt(end - 1)
  return `${content.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}${cutNote}`
}

/**
 * The memory entry of a turn. Its id derives from the ids of the turn and of the session that wrote it, so that a turn
 * added twice is remembered once, and equal turn ids of different sessions stay distinct. Outside any session, the id
 * of the turn is used. The metadata has the `type` `turn`, the references to its `files`, the reason for a missing
 * answer, and under `Selection.treeKey` the session tree; for a restored session also, under `Selection.stretchKey`,
 * the time since which it has continued.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toEntry = (
  turn: NewTurn | SessionTurn,
  options: {
    readonly ownerId: string
    readonly session?: Place | undefined
  }
): MemoryEntry => {
  const { ownerId, session } = options
  // A branch shares the turns it begins with.
  const sessionId = session === undefined ? undefined : "sessionId" in turn ? turn.sessionId : session.id
  const stretch = session === undefined || sessionId !== session.id ? undefined : stretchOf(session, turn.timestamp)
  return {
    id: PlainId.make(EntryId, sessionId === undefined ? turn.id : `turn-${CanonicalJson.hash([sessionId, turn.id])}`),
    ownerId,
    content: contentOf(turn.content),
    role: turn.role,
    timestamp: turn.timestamp,
    importance: 0.5,
    metadata: {
      type: "turn",
      ...(turn.files === undefined ? {} : { files: turn.files }),
      ...(turn.unanswered === undefined ? {} : { unanswered: turn.unanswered }),
      ...(session === undefined ? {} : { [Selection.treeKey]: treeOf(session) }),
      ...(stretch === undefined ? {} : { [Selection.stretchKey]: stretch })
    },
    ...(sessionId === undefined ? {} : { sessionId }),
    ...(turn.runId === undefined ? {} : { runId: turn.runId }),
    turnId: turn.id
  }
}

/**
 * The memory entry of a session's turn, under the owner of the session: `toEntry` with `ownerOfSession`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const entryOf = (turn: NewTurn | SessionTurn, session: Place & Pick<Session, "userId">): MemoryEntry =>
  toEntry(turn, { ownerId: ownerOfSession(session), session })

/**
 * The maximum number of stretches of a lineage; beyond it the oldest are not recalled. Every query carries them all.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxStretches = 256

/** The intervals between the cuts, oldest first. */
const stretches = (
  sessionId: SessionId,
  cuts: ReadonlyArray<Cut>,
  until: number | undefined
): ReadonlyArray<Selection.Ancestor> => {
  const found: Array<Selection.Ancestor> = []
  let from: number | undefined
  const add = (end: number | undefined): void => {
    if (from !== undefined && end !== undefined && from > end) return
    found.push({
      sessionId,
      ...(from === undefined ? {} : { from }),
      ...(end === undefined ? {} : { until: end })
    })
  }
  for (const { after, before } of cuts.toSorted((a, b) => a.after - b.after)) {
    // Before the first turn: nothing precedes it.
    if (after > 0) add(until === undefined ? after : Math.min(after, until))
    from = Math.max(before, from ?? before)
  }
  add(until)
  return found
}

/**
 * Selects what a session may recall of its tree: of its ancestors, the turns before it was forked; of itself,
 * everything; each without the cuts of restores. It can be merged into a query or a selection; other session trees and
 * entries outside any tree are not restricted. It compares the times of turns, which must increase from turn to turn.
 *
 * @since 0.1.0
 * @category getters
 */
export const lineageOf = (
  session: Pick<Session, "id" | "rootSessionId" | "cuts" | "lineage">
): { readonly tree: SessionId; readonly lineage: ReadonlyArray<Selection.Ancestor> } => ({
  tree: treeOf(session),
  lineage: [
    ...session.lineage.flatMap(({ cuts, sessionId, until }) => stretches(sessionId, cuts, until)),
    ...stretches(session.id, session.cuts, undefined)
  ].slice(-maxStretches)
})
