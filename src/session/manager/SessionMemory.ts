/**
 * Maps sessions to memory: the owner, a turn as a memory entry, and which entries a branch may recall.
 *
 * @since 0.1.0
 */
import { EntryId, type SessionId, type UserId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import { type MemoryEntry, maxContent } from "../../memory/entry/MemoryEntry.js"
import * as Selection from "../../memory/entry/Selection.js"
import type { Cut, NewTurn, Session, SessionTurn } from "../turn/Session.js"

/** Owners are no longer. */
const maxOwner = 256

/** A hash stands for what is too long, behind a character that no id has. */
const bounded = (prefix: string, id: string): string =>
  prefix.length + id.length <= maxOwner ? prefix + id : `${prefix}\u001f${CanonicalJson.hash(id)}`

const ofTree = (sessionId: SessionId): string => bounded("session:", sessionId)

/**
 * Whose memory is used: the user's, under its id, else the session's, under a name of its own (`session:…`), so that
 * nobody recalls what belongs to the other: a user who is called like a session has `user:` before its id. Nobody has
 * none: strangers share nothing.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOf = (of: {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}): string | undefined => {
  if (of.userId !== undefined) return bounded(/^(?:session|user):/.test(of.userId) ? "user:" : "", of.userId)
  return of.sessionId === undefined ? undefined : ofTree(of.sessionId)
}

/**
 * The first session of the tree a session belongs to; a session that was not forked is its own.
 *
 * @since 0.1.0
 * @category getters
 */
export const treeOf = (session: Pick<Session, "id" | "rootSessionId">): SessionId => session.rootSessionId ?? session.id

/**
 * As `ownerOf`: the session's user, else the first session of its tree, so that a branch of a session of nobody
 * remembers where it comes from.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOfSession = (session: Pick<Session, "id" | "userId" | "rootSessionId">): string =>
  ownerOf({ userId: session.userId }) ?? ofTree(treeOf(session))

/**
 * What of a session says where a turn belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Place extends Pick<Session, "id" | "rootSessionId">, Partial<Pick<Session, "cuts">> {}

/** Since when a session has gone on from where it was taken back to. */
const stretchOf = ({ cuts = [] }: Place, at: number): number | undefined =>
  cuts.reduce<number | undefined>(
    (newest, { before }) => (before > at ? newest : Math.max(before, newest ?? before)),
    undefined
  )

const cutNote = "\n[Cut: the turn was longer than what is remembered of one.]"

/** The beginning of a text that is too long for an entry, without half a character at its end. */
const contentOf = (content: string): string => {
  if (content.length <= maxContent) return content
  const end = maxContent - cutNote.length
  const last = content.charCodeAt(end - 1)
  return `${content.slice(0, last >= 0xd800 && last < 0xdc00 ? end - 1 : end)}${cutNote}`
}

/**
 * What is remembered of a turn. Its id comes from the ids of the session that wrote it and of the turn, so that a turn
 * that is fed twice, by whomever, is remembered once, and turns of different sessions that have the same id are two.
 * Outside of any session the id of the turn is taken. The metadata has the `type` `turn`, why it has no answer, and
 * under `Selection.treeKey` the tree of sessions it belongs to; of a session that was restored also, under
 * `Selection.stretchKey`, since when it has gone on from where it was taken back to.
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
    id: EntryId.make(sessionId === undefined ? turn.id : `turn-${CanonicalJson.hash([sessionId, turn.id])}`),
    ownerId,
    content: contentOf(turn.content),
    role: turn.role,
    timestamp: turn.timestamp,
    importance: 0.5,
    metadata: {
      type: "turn",
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
 * What is remembered of a turn of a session, under the owner of the session: `toEntry` with `ownerOfSession`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const entryOf = (turn: NewTurn | SessionTurn, session: Place & Pick<Session, "userId">): MemoryEntry =>
  toEntry(turn, { ownerId: ownerOfSession(session), session })

/**
 * Stretches of a lineage at most: of a way of more the oldest are not recalled. Every question carries them all.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxStretches = 256

/** What lies between the cuts, oldest first. */
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
    // Behind no turn at all: nothing lies before.
    if (after > 0) add(until === undefined ? after : Math.min(after, until))
    from = Math.max(before, from ?? before)
  }
  add(until)
  return found
}

/**
 * What a session may recall of its tree: of the sessions it comes from what was said before it left them, of itself
 * everything, each without what a restore left behind. Goes into a query or a selection as it is; other trees of
 * sessions and what belongs to none are not restricted. It goes by the times of turns: they have to rise from turn to
 * turn.
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
