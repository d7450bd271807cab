/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a
 * session its newest turn (its head), a checkpoint a head and the small state of the session. A branch is a session
 * whose first turn has its parent in another session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId, SessionId, TurnId, UserId } from "../../domain/Ids.js"

const NAME = "effect-lexigram/session/Session"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const attributes = Schema.optionalWith(Attributes, { default: () => ({}) })
const names = Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
const count = Schema.optionalWith(Schema.NonNegativeInt, { default: () => 0 })
const cost = Schema.optionalWith(Schema.NonNegative, { default: () => 0 })

/**
 * Active and suspended sessions change into each other and end as closed or expired; those two are final.
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
 * One checkpoint.
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
 * A turn by the session that wrote it: ids of turns are unique within a session, and branches of one conversation may
 * use the same ones.
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
 * What a restore left behind: turns of the session that were said after `after` and before `before` (times) are no
 * longer on the way to its head.
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
 * A session that wrote some of the turns on the way to a branch, and the last of them on that way.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ancestor = Schema.Struct({
  ...TurnRef.fields,
  /** Of that turn. */
  depth: Schema.Int.pipe(Schema.positive()),
  /** When it was said. */
  until: Schema.Finite,
  /** What that session had left behind by then. */
  cuts
}).annotations({ identifier: `${NAME}/Ancestor` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Ancestor extends Schema.Schema.Type<typeof Ancestor> {}

/**
 * A tool call made in a turn, and what came of it.
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

const turnFields = {
  id: TurnId,
  role: Schema.Literal("system", "user", "assistant", "tool"),
  content: Schema.String,
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
  /** Why a user's turn has no answer: the answer was blocked, the run failed or was interrupted. */
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
 * What a run was asked in a session and has not answered yet: the turns that are kept with the answer, or marked where
 * there is none. It is no part of the conversation.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Exchange = Schema.Struct({
  sessionId: SessionId,
  runId: RunId,
  /** Who answers: a process, as long as it renews its lease. Absent: nobody gives it up. */
  owner: Schema.optional(Schema.NonEmptyString),
  turns: Schema.Array(NewTurn)
}).annotations({ identifier: `${NAME}/Exchange` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Exchange extends Schema.Schema.Type<typeof Exchange> {}

/**
 * A turn in its place. Never changes.
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
  /** What it is a copy of, taken over by a merge: the turn that was said first, and when. */
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
  /** How many turns lie on the way from the first to the head. */
  depth: count,
  /** Of the turns on that way. */
  totalTokens: count,
  totalCost: cost,
  cuts
}

/**
 * The small state of a session: all that a checkpoint keeps.
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
  /** Absent: the session belongs to nobody and is found only by calls that name no user. */
  userId: Schema.optional(UserId),
  ...state,
  createdAt: Schema.Finite,
  updatedAt: Schema.Finite,
  /** How often it was written: each write goes from one revision to the next, so that no writer passes over another. */
  revision: count,
  /** The newest checkpoint, or the one last restored. */
  checkpointId: Schema.optional(CheckpointId),
  /** The session it was forked from. */
  parentSessionId: Schema.optional(SessionId),
  /** The first session of the tree it belongs to; absent for that one itself. */
  rootSessionId: Schema.optional(SessionId),
  branchName: Schema.optional(Schema.String),
  /**
   * The sessions that wrote the turns a branch begins with, the first one first; empty for a session that is no branch.
   */
  lineage: Schema.optionalWith(Schema.Array(Ancestor), { default: () => [] })
}).annotations({ identifier: `${NAME}/Session` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Session extends Schema.Schema.Type<typeof Session> {}

/**
 * Where two sessions came together: what a merge took over from another session, and the two turns it has for parents.
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
  /** The state of the session that was merged in: where the next merge of the two begins. */
  state: SessionState
}).annotations({ identifier: `${NAME}/MergeRecord` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MergeRecord extends Schema.Schema.Type<typeof MergeRecord> {}

/**
 * A session as it stood: its head and its small state, no turns.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionCheckpoint = Schema.Struct({
  id: CheckpointId,
  sessionId: SessionId,
  name: Schema.optional(Schema.String),
  /**
   * Made by a caller (`manual`), after every so many turns (`auto`), as the beginning of a branch (`fork`) or behind a
   * merge (`merge`). The last two are kept as long as their session; of the others the oldest go when there are too
   * many.
   */
  kind: Schema.Literal("manual", "auto", "fork", "merge"),
  state: SessionState,
  createdAt: Schema.Finite,
  /** The revision of the session it was written with: later checkpoints of a session have higher ones. */
  revision: count,
  /** The checkpoint the session stood on before. It may be gone. */
  parentCheckpointId: Schema.optional(CheckpointId),
  metadata: attributes,
  /** Of the kind `merge`. */
  merge: Schema.optional(MergeRecord)
}).annotations({ identifier: `${NAME}/SessionCheckpoint` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionCheckpoint extends Schema.Schema.Type<typeof SessionCheckpoint> {}

/**
 * The small state of a session, as a checkpoint keeps it.
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
 * Whether a session still takes part: active or suspended ones count against limits and may expire.
 *
 * @since 0.1.0
 * @category getters
 */
export const isLive = (session: Pick<Session, "status">): boolean =>
  session.status === "active" || session.status === "suspended"

/**
 * An active session in which nothing was said yet.
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
