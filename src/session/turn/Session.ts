/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a
 * session its newest turn (its head), a checkpoint a head and the small state of the session. A branch is a session
 * whose first turn has its parent in another session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId, SessionId, TurnId, UserId } from "../../domain/Ids.js"
import { StoredFile } from "../../domain/StoredFile.js"

const NAME = "effect-lexigram/session/Session"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const attributes = Schema.optionalWith(Attributes, { default: () => ({}) })
const names = Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
const count = Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 })
const cost = Schema.optionalWith(Schema.NonNegative, { default: () => 0 })

/**
 * Active and suspended sessions can change into each other, and end as closed or expired. Those two are final.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionStatus = Schema.Literal("active", "suspended", "closed", "expired")
/**
 * @since 0.1.0
 * @category models
 */
export type SessionStatus = typeof SessionStatus.Type

/**
 * The id of a checkpoint.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CheckpointId = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(256),
  Schema.brand("CheckpointId"),
  Schema.annotations({ identifier: `${NAME}/CheckpointId` })
)
/**
 * @since 0.1.0
 * @category models
 */
export type CheckpointId = typeof CheckpointId.Type

/**
 * A turn by the session that wrote it: turn ids are unique within a session, and branches of one conversation may use
 * the same ones.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnRef = Schema.Struct({ sessionId: SessionId, turnId: TurnId }).annotations({
  identifier: `${NAME}/TurnRef`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface TurnRef extends Schema.Schema.Type<typeof TurnRef> {}

/**
 * A cut made by a restore: turns of the session said after `after` and before `before` (times) are no longer on the
 * path to its head.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Cut = Schema.Struct({ after: Schema.Finite, before: Schema.Finite }).annotations({
  identifier: `${NAME}/Cut`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Cut extends Schema.Schema.Type<typeof Cut> {}

/** Oldest first. */
const cuts = Schema.optionalWith(Schema.Array(Cut), { default: () => [] })

/**
 * A session that wrote some of the turns on the path to a branch, and the last of them on that path.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ancestor = Schema.Struct({
  ...TurnRef.fields,
  /** The depth of that turn. */
  depth: Schema.Int.pipe(Schema.positive()),
  /** The time of that turn. */
  until: Schema.Finite,
  /** The cuts of that session at that point. */
  cuts
}).annotations({ identifier: `${NAME}/Ancestor` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Ancestor extends Schema.Schema.Type<typeof Ancestor> {}

/**
 * A tool call made in a turn, and its result.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnToolCall = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  result: Schema.optional(Schema.Unknown),
  isFailure: Schema.optional(Schema.Boolean)
}).annotations({ identifier: `${NAME}/TurnToolCall` })
/**
 * @since 0.1.0
 * @category models
 */
export interface TurnToolCall extends Schema.Schema.Type<typeof TurnToolCall> {}

/**
 * A file of a turn: a reference to bytes that the session keeps (`SessionManager.attach`), or the URL that was given.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnFile = StoredFile
/**
 * @since 0.1.0
 * @category models
 */
export interface TurnFile extends Schema.Schema.Type<typeof TurnFile> {}

const turnFields = {
  id: TurnId,
  role: Schema.Literal("system", "user", "assistant", "tool"),
  content: Schema.String,
  /** At most 100. */
  files: Schema.optional(Schema.Array(TurnFile).pipe(Schema.maxItems(100))),
  timestamp: Schema.Finite,
  toolCalls: Schema.optionalWith(Schema.Array(TurnToolCall), { default: () => [] }),
  skillResults: Schema.optionalWith(Schema.Array(Attributes), { default: () => [] }),
  metadata: attributes,
  tokensUsed: count,
  cost,
  model: Schema.optional(Schema.String),
  provider: Schema.optional(Schema.String),
  /** The run that wrote it. */
  runId: Schema.optional(RunId),
  /** Why a user's turn has no answer: it was blocked, or the run failed or was interrupted. */
  unanswered: Schema.optional(Schema.Literal("blocked", "failed", "interrupted"))
}

/**
 * A turn before it has its place in a session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NewTurn = Schema.Struct(turnFields).annotations({ identifier: `${NAME}/NewTurn` })
/**
 * @since 0.1.0
 * @category models
 */
export interface NewTurn extends Schema.Schema.Type<typeof NewTurn> {}

/**
 * The input of a run that has not answered yet: turns that are stored with the answer, or marked if there is none. It
 * is not yet part of the conversation.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Exchange = Schema.Struct({
  sessionId: SessionId,
  runId: RunId,
  /** The answering process, which renews a lease. Absent: the exchange is never given up. */
  owner: Schema.optional(Schema.NonEmptyString),
  turns: Schema.Array(NewTurn)
}).annotations({ identifier: `${NAME}/Exchange` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Exchange extends Schema.Schema.Type<typeof Exchange> {}

/**
 * A turn in its place. Immutable.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionTurn = Schema.Struct({
  ...turnFields,
  /** The session that wrote it; branches of that session share it. */
  sessionId: SessionId,
  /** Absent for the first turn. */
  parent: Schema.optional(TurnRef),
  /** 1 for the first turn, else one more than its parent's. */
  depth: Schema.Int.pipe(Schema.positive()),
  /** The turn that a merge copied: its first version and its time. */
  origin: Schema.optional(Schema.Struct({ ...TurnRef.fields, timestamp: Schema.Finite }))
}).annotations({ identifier: `${NAME}/SessionTurn` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionTurn extends Schema.Schema.Type<typeof SessionTurn> {}

const state = {
  status: SessionStatus,
  metadata: attributes,
  activeTools: names,
  activeSkills: names,
  systemPrompt: Schema.optional(Schema.String),
  variables: attributes,
  /** The newest turn; absent while there is none. */
  head: Schema.optional(TurnRef),
  /** The number of turns on the path from the first turn to the head. */
  depth: count,
  /** Of the turns on that path. */
  totalTokens: count,
  totalCost: cost,
  cuts
}

/**
 * The small state of a session: everything that a checkpoint stores besides the head.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionState = Schema.Struct(state).annotations({ identifier: `${NAME}/SessionState` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionState extends Schema.Schema.Type<typeof SessionState> {}

/**
 * A session without its turns, which are read by window.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Session = Schema.Struct({
  id: SessionId,
  /** Absent: the session has no owner, and only calls without a user find it. */
  userId: Schema.optional(UserId),
  ...state,
  createdAt: Schema.Finite,
  updatedAt: Schema.Finite,
  /** The number of writes. Each write increments it, so that concurrent writers do not overwrite each other. */
  revision: count,
  /** The newest checkpoint, or the one last restored. */
  checkpointId: Schema.optional(CheckpointId),
  /** The session it was forked from. */
  parentSessionId: Schema.optional(SessionId),
  /** The first session of its tree; absent for that session itself. */
  rootSessionId: Schema.optional(SessionId),
  branchName: Schema.optional(Schema.String),
  /** The sessions that wrote the turns a branch begins with, in order; empty for a session that is not a branch. */
  lineage: Schema.optionalWith(Schema.Array(Ancestor), { default: () => [] })
}).annotations({ identifier: `${NAME}/Session` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Session extends Schema.Schema.Type<typeof Session> {}

/**
 * A merge of two sessions: the session merged in, and the two heads that are its parents.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MergeRecord = Schema.Struct({
  /** The session that was merged in. */
  sessionId: SessionId,
  strategy: Schema.String,
  /** The head before the merge, and the head of the session that was merged in; absent where there was no turn yet. */
  ours: Schema.optional(TurnRef),
  theirs: Schema.optional(TurnRef),
  /** The state of the session that was merged in, from which the next merge of the two starts. */
  state: SessionState
}).annotations({ identifier: `${NAME}/MergeRecord` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MergeRecord extends Schema.Schema.Type<typeof MergeRecord> {}

/**
 * A session at a point in time: its head and its small state, without turns.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionCheckpoint = Schema.Struct({
  id: CheckpointId,
  sessionId: SessionId,
  name: Schema.optional(Schema.String),
  /**
   * Made by a caller (`manual`), every N turns (`auto`), at the beginning of a branch (`fork`) or after a merge
   * (`merge`). The last two are kept as long as their session; of the others, the oldest are deleted beyond the limit.
   */
  kind: Schema.Literal("manual", "auto", "fork", "merge"),
  state: SessionState,
  createdAt: Schema.Finite,
  /** The revision of the session it was written with: later checkpoints of a session have higher ones. */
  revision: count,
  /** The checkpoint the session was on before. It may be deleted. */
  parentCheckpointId: Schema.optional(CheckpointId),
  metadata: attributes,
  /** Only for kind `fork`: the cuts of the session it was forked from, at that point; absent if there are none. */
  sourceCuts: Schema.optional(Schema.Array(Cut)),
  /** Only for kind `merge`. */
  merge: Schema.optional(MergeRecord)
}).annotations({ identifier: `${NAME}/SessionCheckpoint` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionCheckpoint extends Schema.Schema.Type<typeof SessionCheckpoint> {}

/**
 * The small state of a session, as a checkpoint stores it.
 *
 * @since 0.1.0
 * @category getters
 */
export const stateOf = (session: SessionState): SessionState => ({
  status: session.status,
  metadata: session.metadata,
  activeTools: session.activeTools,
  activeSkills: session.activeSkills,
  ...(session.systemPrompt === undefined ? {} : { systemPrompt: session.systemPrompt }),
  variables: session.variables,
  ...(session.head === undefined ? {} : { head: session.head }),
  depth: session.depth,
  totalTokens: session.totalTokens,
  totalCost: session.totalCost,
  cuts: session.cuts
})

/**
 * Whether a session is active or suspended: it then counts against limits and may expire.
 *
 * @since 0.1.0
 * @category getters
 */
export const isLive = (session: Pick<Session, "status">): boolean =>
  session.status === "active" || session.status === "suspended"

/**
 * An active session without turns.
 *
 * @since 0.1.0
 * @category constructors
 */
export const begin = (
  id: SessionId,
  options: { readonly at: number; readonly userId?: UserId | undefined }
): Session => ({
  id,
  ...(options.userId === undefined ? {} : { userId: options.userId }),
  status: "active",
  metadata: {},
  activeTools: [],
  activeSkills: [],
  variables: {},
  depth: 0,
  totalTokens: 0,
  totalCost: 0,
  cuts: [],
  createdAt: options.at,
  updatedAt: options.at,
  revision: 0,
  lineage: []
})
