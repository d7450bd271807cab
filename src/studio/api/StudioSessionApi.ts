/**
 * The caller's sessions as developers see them: whole turns and states, and merges that are decided by hand.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { SessionId, TurnId } from "../../domain/Ids.js"
import { StoredFile } from "../../domain/StoredFile.js"
import { numberBetween, pathParam } from "../../http/api/ApiModels.js"
import { Conflict, Invalid, Unavailable, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import * as SessionModels from "../../http/api/SessionModels.js"
import { CheckpointId, SessionStatus, TurnRef } from "../../session/turn/Session.js"
import * as StateDiff from "../../session/turn/StateDiff.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioSessionApi"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * A turn with all that is stored of it but secrets. A text of more than 50,000 characters is cut, and a value whose
 * JSON is longer is its beginning as a text. Of a response with more than 4,000,000 characters further texts and values
 * are cut to 200.
 *
 * @category schemas
 */
export const WholeTurn = Schema.Struct({
  id: TurnId,
  /** The session that wrote it: a branch shares the turns before it. */
  sessionId: SessionId,
  role: Schema.Literal("system", "user", "assistant", "tool"),
  content: Schema.String,
  files: Schema.optional(Schema.Array(StoredFile)),
  timestamp: Schema.Number,
  toolCalls: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      params: Schema.Unknown,
      result: Schema.optional(Schema.Unknown),
      isFailure: Schema.optional(Schema.Boolean)
    })
  ),
  metadata: Attributes,
  tokensUsed: Schema.Number,
  /** US dollars. */
  cost: Schema.Number,
  model: Schema.optional(Schema.String),
  provider: Schema.optional(Schema.String),
  runId: Schema.optional(Schema.String),
  unanswered: Schema.optional(Schema.Literal("blocked", "failed", "interrupted")),
  depth: Schema.Number,
  /** The turn that a merge copied. */
  origin: Schema.optional(TurnRef)
}).annotations({ identifier: `${NAME}/WholeTurn` })
/**
 * @category models
 */
export interface WholeTurn extends Schema.Schema.Type<typeof WholeTurn> {}

/**
 * A session with all of its small state but secrets.
 *
 * @category schemas
 */
export const WholeSession = Schema.Struct({
  ...SessionModels.SessionInfo.fields,
  systemPrompt: Schema.optional(Schema.String),
  activeTools: Schema.Array(Schema.String),
  activeSkills: Schema.Array(Schema.String),
  /** US dollars. */
  totalCost: Schema.Number
}).annotations({ identifier: `${NAME}/WholeSession` })
/**
 * @category models
 */
export interface WholeSession extends Schema.Schema.Type<typeof WholeSession> {}

/** What changes of a small state. Members that do not change are absent. */
const changes = {
  systemPrompt: StateDiff.StateDiff.fields.systemPrompt,
  variables: StateDiff.StateDiff.fields.variables,
  metadata: StateDiff.StateDiff.fields.metadata,
  activeTools: StateDiff.StateDiff.fields.activeTools,
  activeSkills: StateDiff.StateDiff.fields.activeSkills
}

/**
 * What differs between two checkpoints.
 *
 * @category schemas
 */
export const WholeDiff = Schema.Struct({
  ...changes,
  turns: Schema.optional(
    Schema.Struct({
      /** Turns that the second one lacks. */
      removedCount: Schema.Number,
      /** The first 200 of those that it has in addition. */
      added: Schema.Array(WholeTurn),
      addedCount: Schema.Number
    })
  ),
  status: Schema.optional(Schema.Struct({ from: SessionStatus, to: SessionStatus }))
}).annotations({ identifier: `${NAME}/WholeDiff` })
/**
 * @category models
 */
export interface WholeDiff extends Schema.Schema.Type<typeof WholeDiff> {}

/** A version of a value; without `value` it is absent there. */
const Version = Schema.Struct({ value: Schema.optional(Schema.Unknown) })

/**
 * A value that both sessions changed differently.
 *
 * @category schemas
 */
export const MergeConflict = Schema.Struct({
  /** `variables/<key>`, `metadata/<key>` or `systemPrompt`. */
  path: Schema.String,
  field: Schema.Literal("variables", "metadata", "systemPrompt"),
  key: Schema.String,
  base: Version,
  ours: Version,
  theirs: Version
}).annotations({ identifier: `${NAME}/MergeConflict` })
/**
 * @category models
 */
export interface MergeConflict extends Schema.Schema.Type<typeof MergeConflict> {}

/**
 * What a merge would bring, besides what is decided for each conflict.
 *
 * @category schemas
 */
export const MergePreview = Schema.Struct({
  /** The first 200 of the turns that would be copied. */
  turns: Schema.Array(WholeTurn),
  turnCount: Schema.Number,
  changes: Schema.Struct(changes),
  conflicts: Schema.Array(MergeConflict),
  /** `seen` of the merge that follows. */
  fingerprint: Schema.String
}).annotations({ identifier: `${NAME}/MergePreview` })
/**
 * @category models
 */
export interface MergePreview extends Schema.Schema.Type<typeof MergePreview> {}

const Fingerprint = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))
const sessionId = pathParam("sessionId", SessionId)

/**
 * @category constants
 */
export const group = HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("wholeSession")`/sessions/${sessionId}`
      .addSuccess(WholeSession)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "One session with its prompt, tools and cost")
  )
  .add(
    HttpApiEndpoint.get("wholeTurns")`/sessions/${sessionId}/turns`
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(numberBetween(1, 200)),
          before: Schema.optional(SessionModels.TurnCursor)
        })
      )
      .addSuccess(
        Schema.Struct({
          turns: Schema.Array(WholeTurn),
          /** The `before` of the next page of older turns; absent on the last one. */
          next: Schema.optional(SessionModels.TurnCursor)
        })
      )
      .addError(Invalid)
      .addError(Unknown)
      .annotate(
        OpenApi.Summary,
        "The newest turns of a session with calls, arguments, results and costs, the oldest first"
      )
  )
  .add(
    HttpApiEndpoint.get(
      "wholeDiff"
    )`/checkpoints/${pathParam("checkpointId", CheckpointId)}/diff/${pathParam("to", CheckpointId)}`
      .addSuccess(WholeDiff)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "All that the second checkpoint of a tree has otherwise than the first")
  )
  .add(
    HttpApiEndpoint.post("previewMerge")`/sessions/${sessionId}/merge/preview`
      .setPayload(Schema.Struct({ from: SessionId }))
      .addSuccess(MergePreview)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(
        OpenApi.Summary,
        "What a merge of a branch would bring, and what both sides changed; nothing is written"
      )
  )
  .add(
    HttpApiEndpoint.post("decideMerge")`/sessions/${sessionId}/merge`
      .setPayload(
        Schema.Struct({
          from: SessionId,
          /** The side of each conflict by its path. A list, so that no path has a special meaning. */
          decisions: Schema.Array(Schema.Struct({ path: Schema.String, take: Schema.Literal("ours", "theirs") })),
          /** The fingerprint of the preview: other conflicts are not decided. */
          seen: Fingerprint
        })
      )
      .addSuccess(
        Schema.Struct({
          session: WholeSession,
          /** The number of turns that were copied. */
          copied: Schema.Number
        })
      )
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Merges a branch with the decisions of a person")
  )
  .addError(Unsupported)
  .addError(Unavailable)
  .middleware(Developer)
