/**
 * Sessions, turns and checkpoints for cases, as a session manager would make them.
 *
 * @since 0.1.0
 * @private
 */
import { SessionId, TurnId, UserId } from "../../domain/Ids.js"
import type { Ancestor, Session, SessionCheckpoint, SessionTurn, TurnRef } from "../../session/turn/Session.js"
import { CheckpointId, stateOf } from "../../session/turn/Session.js"

/**
 * The time at which a case begins, in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category constants
 */
export const epoch = 1_750_000_000_000

/**
 * @since 0.1.0
 * @category constructors
 */
export const sessionId = (id: string): SessionId => SessionId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const userId = (id: string): UserId => UserId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const checkpointId = (id: string): CheckpointId => CheckpointId.make(id)
/**
 * @since 0.1.0
 * @category constructors
 */
export const ref = (session: string, turn: string): TurnRef => ({
  sessionId: SessionId.make(session),
  turnId: TurnId.make(turn)
})

/**
 * The ids that identify a turn.
 *
 * @since 0.1.0
 * @category getters
 */
export const refOf = (turn: SessionTurn): TurnRef => ({ sessionId: turn.sessionId, turnId: turn.id })

/**
 * @since 0.1.0
 * @category models
 */
export interface Fields extends Partial<Omit<Session, "id" | "userId" | "parentSessionId" | "rootSessionId">> {
  readonly userId?: string | undefined
  readonly parentSessionId?: string | undefined
  readonly rootSessionId?: string | undefined
}

/**
 * An active session of `ann` since `epoch`, without turns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const session = (id: string, fields: Fields = {}): Session => ({
  ...defined({
    userId: "ann",
    status: "active",
    metadata: {},
    activeTools: [],
    activeSkills: [],
    variables: {},
    depth: 0,
    totalTokens: 0,
    totalCost: 0,
    cuts: [],
    createdAt: epoch,
    updatedAt: epoch,
    revision: 0,
    lineage: [],
    ...fields
  } as Fields as Session),
  id: SessionId.make(id)
})

/** Removes fields that are `undefined`. */
const defined = <A extends object>(value: A): A =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as A

/**
 * The next revision of a session.
 *
 * @since 0.1.0
 * @category constructors
 */
export const next = (session: Session, change: Partial<Session> = {}): Session =>
  defined({ ...session, ...change, revision: session.revision + 1 })

/**
 * Turns that continue a session, one per millisecond, with one token each.
 *
 * @since 0.1.0
 * @category constructors
 */
export const turnsOf = (session: Session, ids: ReadonlyArray<string>): ReadonlyArray<SessionTurn> =>
  ids.map((id, at) => {
    const before = ids[at - 1]
    const parent = before === undefined ? session.head : ref(session.id, before)
    const depth = session.depth + at + 1
    return {
      id: TurnId.make(id),
      role: depth % 2 === 1 ? "user" : "assistant",
      content: `${id} of ${session.id}`,
      timestamp: session.updatedAt + at + 1,
      toolCalls: [],
      skillResults: [],
      metadata: {},
      tokensUsed: 1,
      cost: 0.5,
      sessionId: session.id,
      ...(parent === undefined ? undefined : { parent }),
      depth
    }
  })

/**
 * The session after appending turns to its head.
 *
 * @since 0.1.0
 * @category constructors
 */
export const behind = (session: Session, turns: ReadonlyArray<SessionTurn>): Session => {
  const last = turns[turns.length - 1] as SessionTurn
  return next(session, {
    head: refOf(last),
    depth: last.depth,
    totalTokens: session.totalTokens + turns.reduce((sum, one) => sum + one.tokensUsed, 0),
    totalCost: session.totalCost + turns.reduce((sum, one) => sum + one.cost, 0),
    updatedAt: last.timestamp
  })
}

/**
 * A checkpoint of the current session.
 *
 * @since 0.1.0
 * @category constructors
 */
export const checkpoint = (
  id: string,
  session: Session,
  fields: Partial<Omit<SessionCheckpoint, "id">> = {}
): SessionCheckpoint => ({
  sessionId: session.id,
  kind: "manual",
  state: stateOf(session),
  createdAt: session.updatedAt,
  revision: session.revision,
  ...(session.checkpointId === undefined ? undefined : { parentCheckpointId: session.checkpointId }),
  metadata: {},
  ...fields,
  id: CheckpointId.make(id)
})

/**
 * The lineage of a fork of a session at one of its turns.
 *
 * @since 0.1.0
 * @category getters
 */
const lineageAt = (session: Session, turn: SessionTurn): ReadonlyArray<Ancestor> => {
  const place = { ...refOf(turn), depth: turn.depth, until: turn.timestamp }
  const at = session.lineage.findIndex((ancestor) => ancestor.sessionId === turn.sessionId)
  return at < 0
    ? [...session.lineage, { ...place, cuts: session.cuts }]
    : [...session.lineage.slice(0, at), { ...(session.lineage[at] as Ancestor), ...place }]
}

/**
 * A branch of a session that begins with the turns up to one of them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const branch = (id: string, parent: Session, turn: SessionTurn, fields: Fields = {}): Session =>
  session(id, {
    userId: parent.userId,
    parentSessionId: parent.id,
    rootSessionId: parent.rootSessionId ?? parent.id,
    branchName: id,
    head: refOf(turn),
    depth: turn.depth,
    totalTokens: turn.depth,
    totalCost: turn.depth / 2,
    lineage: lineageAt(parent, turn),
    ...fields
  })

/**
 * Names that are dangerous in keys, paths, patterns, SQL or objects.
 *
 * @since 0.1.0
 * @category constants
 */
export const hostileIds: ReadonlyArray<string> = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "a",
  "A",
  "aa",
  "a ",
  " a",
  "a:b",
  "a:b:c",
  "a/b",
  "a%",
  "a%3Ab",
  "a_b",
  "a.b",
  "a*",
  "a\\b",
  ".",
  "..",
  "../a",
  "CON",
  "null",
  "a'b\"c",
  "a'; DELETE FROM sessions; --",
  "{a}",
  "[1]",
  "é",
  "e\u0301",
  "ﬁ",
  "fi",
  "İ",
  "日本\u{1f600}",
  "\u202ea",
  "x".repeat(256),
  `${"x".repeat(255)}y`,
  "\u{1f600}".repeat(128)
]
