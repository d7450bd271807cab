/**
 * What leaves a server of sessions, in its public view: without prompts, costs, and the arguments and results of tools.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionId, TurnId } from "../../domain/Ids.js"
import * as PublicView from "../../domain/PublicView.js"
import { StoredFile } from "../../domain/StoredFile.js"
import type * as BranchTrees from "../../session/branch/BranchTree.js"
import * as Sessions from "../../session/turn/Session.js"
import * as StateDiffs from "../../session/turn/StateDiff.js"

const NAME = "effect-lexigram/http/SessionModels"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })

const shownAttributes = (given: { readonly [key: string]: unknown }): typeof Attributes.Type =>
  PublicView.fromValue(given) as typeof Attributes.Type

/**
 * The position of a turn: where a page of older turns ends. A text in URLs and JSON.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnCursor = Schema.compose(
  Schema.StringFromBase64Url.pipe(Schema.maxLength(2048)),
  Schema.parseJson(Sessions.TurnRef)
).annotations({ identifier: `${NAME}/TurnCursor` })

/**
 * The position of a session in a list. A text in URLs and JSON.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionCursor = Schema.compose(
  Schema.StringFromBase64Url.pipe(Schema.maxLength(2048)),
  Schema.parseJson(Schema.Struct({ at: Schema.Finite, id: SessionId }))
).annotations({ identifier: `${NAME}/SessionCursor` })

/**
 * A session without its turns. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionInfo = Schema.Struct({
  id: SessionId,
  status: Sessions.SessionStatus,
  metadata: Attributes,
  variables: Attributes,
  /** The number of turns on the path to the newest one. */
  depth: Schema.Number,
  totalTokens: Schema.Number,
  createdAt: Schema.Number,
  updatedAt: Schema.Number,
  /** The newest checkpoint, or the one restored last. */
  checkpointId: Schema.optional(Sessions.CheckpointId),
  branchName: Schema.optional(Schema.String),
  /** The session it was forked from, and the first one of its tree. */
  parentSessionId: Schema.optional(SessionId),
  rootSessionId: Schema.optional(SessionId)
}).annotations({ identifier: `${NAME}/SessionInfo` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionInfo extends Schema.Schema.Type<typeof SessionInfo> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromSession = (session: Sessions.Session): SessionInfo => {
  const { branchName, checkpointId, parentSessionId, rootSessionId } = session
  return {
    id: session.id,
    status: session.status,
    metadata: shownAttributes(session.metadata),
    variables: shownAttributes(session.variables),
    depth: session.depth,
    totalTokens: session.totalTokens,
    createdAt: session.createdAt,
    updatedAt: session.updatedAt,
    ...(checkpointId === undefined ? {} : { checkpointId }),
    ...(branchName === undefined ? {} : { branchName }),
    ...(parentSessionId === undefined ? {} : { parentSessionId }),
    ...(rootSessionId === undefined ? {} : { rootSessionId })
  }
}

/**
 * A turn of a person or of an agent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Turn = Schema.Struct({
  id: TurnId,
  /** The session that wrote it: a branch shares the turns before it. */
  sessionId: SessionId,
  role: Schema.Literal("user", "assistant"),
  content: Schema.String,
  files: Schema.optional(Schema.Array(StoredFile)),
  timestamp: Schema.Number,
  /** The agent that answered. */
  agent: Schema.optional(Schema.String),
  runId: Schema.optional(Schema.String),
  toolCalls: Schema.Array(
    Schema.Struct({ id: Schema.String, name: Schema.String, isFailure: Schema.optional(Schema.Boolean) })
  ),
  tokensUsed: Schema.Number,
  /** Why a turn of a person has no answer. */
  unanswered: Schema.optional(Schema.Literal("blocked", "failed", "interrupted")),
  /** 1 for the first turn of the conversation, then one more for each. */
  depth: Schema.Number
}).annotations({ identifier: `${NAME}/Turn` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Turn extends Schema.Schema.Type<typeof Turn> {}

/**
 * The turns of persons and agents among these: prompts and tools have turns too.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromTurns = (turns: ReadonlyArray<Sessions.SessionTurn>): ReadonlyArray<Turn> =>
  turns.flatMap(({ files, metadata, role, runId, toolCalls, unanswered, ...turn }) => {
    if (role !== "user" && role !== "assistant") return []
    const { agent } = metadata
    const shown: Turn = {
      id: turn.id,
      sessionId: turn.sessionId,
      role,
      content: turn.content,
      ...(files === undefined ? {} : { files }),
      timestamp: turn.timestamp,
      ...(role === "assistant" && typeof agent === "string" ? { agent } : {}),
      ...(runId === undefined ? {} : { runId }),
      toolCalls: toolCalls.map(({ id, isFailure, name }) => ({
        id,
        name,
        ...(isFailure === undefined ? {} : { isFailure })
      })),
      tokensUsed: turn.tokensUsed,
      ...(unanswered === undefined ? {} : { unanswered }),
      depth: turn.depth
    }
    return [shown]
  })

/**
 * A session of a tree, with those that were forked from it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Branch {
  readonly sessionId: string
  readonly branchName?: string | undefined
  /** Absent: the session was deleted or not read. */
  readonly status?: Sessions.SessionStatus | undefined
  readonly depth: number
  /** The turn it was forked at; absent if it was forked before any turn. */
  readonly fork?: { readonly turn: Sessions.TurnRef; readonly depth: number } | undefined
  readonly children: ReadonlyArray<Branch>
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Branch = Schema.Struct({
  sessionId: Schema.String,
  branchName: Schema.optional(Schema.String),
  status: Schema.optional(Sessions.SessionStatus),
  depth: Schema.Number,
  fork: Schema.optional(Schema.Struct({ turn: Schema.typeSchema(Sessions.TurnRef), depth: Schema.Number })),
  children: Schema.Array(Schema.suspend((): Schema.Schema<Branch> => Branch as never))
}).annotations({ identifier: `${NAME}/Branch` })

/**
 * The branches of a conversation, from its first session on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Tree = Schema.Struct({
  sessionId: Schema.String,
  root: Branch,
  /** False: there are more sessions than were read; the oldest ones are missing. */
  isComplete: Schema.Boolean
}).annotations({ identifier: `${NAME}/Tree` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Tree extends Schema.Schema.Type<typeof Tree> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromTree = (tree: BranchTrees.BranchTree): Tree => tree

/**
 * @since 0.1.0
 * @category schemas
 */
export const Checkpoint = Schema.Struct({
  id: Sessions.CheckpointId,
  sessionId: SessionId,
  name: Schema.optional(Schema.String),
  kind: Schema.Literal("manual", "auto", "fork", "merge"),
  createdAt: Schema.Number,
  /** Later checkpoints of a session have higher ones. */
  revision: Schema.Number,
  /** The number of turns before it. */
  depth: Schema.Number,
  metadata: Attributes
}).annotations({ identifier: `${NAME}/Checkpoint` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Checkpoint extends Schema.Schema.Type<typeof Checkpoint> {}

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromCheckpoint = (checkpoint: Sessions.SessionCheckpoint): Checkpoint => ({
  id: checkpoint.id,
  sessionId: checkpoint.sessionId,
  ...(checkpoint.name === undefined ? {} : { name: checkpoint.name }),
  kind: checkpoint.kind,
  createdAt: checkpoint.createdAt,
  revision: checkpoint.revision,
  depth: checkpoint.state.depth,
  metadata: shownAttributes(checkpoint.metadata)
})

/**
 * What differs between two checkpoints. Members that do not differ are absent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Diff = Schema.Struct({
  /** Turns that the second one lacks, and turns that it has in addition. */
  turns: Schema.optional(Schema.Struct({ removed: Schema.Array(Sessions.TurnRef), added: Schema.Array(Turn) })),
  status: Schema.optional(Schema.Struct({ from: Sessions.SessionStatus, to: Sessions.SessionStatus })),
  variables: Schema.optional(StateDiffs.KeysChange),
  metadata: Schema.optional(StateDiffs.KeysChange)
}).annotations({ identifier: `${NAME}/Diff` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Diff extends Schema.Schema.Type<typeof Diff> {}

const shownChange = ({ removed, set }: StateDiffs.KeysChange): StateDiffs.KeysChange => ({
  // A value is hidden for its key too.
  set: set.map(({ key, value }) => ({ key, value: shownAttributes({ [key]: value })[key] })),
  removed
})

/**
 * @since 0.1.0
 * @category conversions
 */
export const fromDiff = ({ metadata, status, turns, variables }: StateDiffs.StateDiff): Diff => ({
  ...(turns === undefined ? {} : { turns: { removed: turns.removed, added: fromTurns(turns.added) } }),
  ...(status === undefined ? {} : { status }),
  ...(variables === undefined ? {} : { variables: shownChange(variables) }),
  ...(metadata === undefined ? {} : { metadata: shownChange(metadata) })
})
