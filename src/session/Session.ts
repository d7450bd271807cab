/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a session its newest
 * turn (its head), a checkpoint a head and the small state of the session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId, SessionId, TurnId, UserId } from "../domain/Ids.js"

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
  parentId: Schema.optional(TurnId),
  /** 1 for the first turn, else one more than its parent's. */
  depth: Schema.Int.pipe(Schema.positive())
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
  head: Schema.optional(TurnId),
  /** How many turns lie on the way from the first to the head. */
  depth: count,
  /** Of the turns on that way. */
  totalTokens: count,
  totalCost: cost
}

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
  /** The newest checkpoint, or the one last restored. */
  checkpointId: Schema.optional(CheckpointId),
  parentSessionId: Schema.optional(SessionId),
  branchName: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/Session` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Session extends Schema.Schema.Type<typeof Session> {}

/**
 * A session as it stood: its head and its small state, no turns.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionCheckpoint = Schema.Struct({
  id: CheckpointId,
  sessionId: SessionId,
  state: Schema.Struct(state),
  createdAt: Schema.Finite,
  /** The checkpoint the session stood on before. */
  parentCheckpointId: Schema.optional(CheckpointId),
  metadata: attributes
}).annotations({ identifier: `${NAME}/SessionCheckpoint` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionCheckpoint extends Schema.Schema.Type<typeof SessionCheckpoint> {}
