/**
 * Sessions over HTTP.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { SessionId, TurnId } from "../../domain/Ids.js"
import { CheckpointId, SessionStatus } from "../../session/turn/Session.js"
import { numberBetween, pathParam } from "./ApiModels.js"
import { Conflict, Invalid, Unavailable, Unknown, Unsupported } from "./ApiStatus.js"
import * as SessionModels from "./SessionModels.js"

const sessionId = pathParam("sessionId", SessionId)
const checkpointId = pathParam("checkpointId", CheckpointId)

const Attributes = Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const Name = Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))

/** The small state that a caller may set. A prompt and the tools of a session are those of the application. */
const state = { metadata: Attributes, variables: Attributes }

/**
 * @category constants
 */
export const group = HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.get("listSessions", "/sessions")
      .setUrlParams(
        Schema.Struct({
          status: Schema.optional(SessionStatus),
          order: Schema.optional(Schema.Literal("created", "updated")),
          limit: Schema.optional(numberBetween(1, 500)),
          cursor: Schema.optional(SessionModels.SessionCursor)
        })
      )
      .addSuccess(
        Schema.Struct({
          sessions: Schema.Array(SessionModels.SessionInfo),
          /** The cursor of the next page; absent on the last one. */
          next: Schema.optional(SessionModels.SessionCursor)
        })
      )
      .addError(Invalid)
      .annotate(OpenApi.Summary, "The sessions of the caller, the newest first")
  )
  .add(
    HttpApiEndpoint.post("createSession", "/sessions")
      .setPayload(Schema.Struct({ id: Schema.optional(SessionId), ...state }))
      .addSuccess(SessionModels.SessionInfo, { status: 201 })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Creates a session; an id that the caller uses already returns that session")
  )
  .add(
    HttpApiEndpoint.get("getSession")`/sessions/${sessionId}`
      .addSuccess(SessionModels.SessionInfo)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "One session")
  )
  .add(
    HttpApiEndpoint.patch("updateSession")`/sessions/${sessionId}`
      .setPayload(Schema.Struct(state))
      .addSuccess(SessionModels.SessionInfo)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Replaces the metadata or the variables of a session, those that are given")
  )
  .add(
    HttpApiEndpoint.del("deleteSession")`/sessions/${sessionId}`
      .addSuccess(HttpApiSchema.NoContent)
      .annotate(OpenApi.Summary, "Deletes a session, and the turns that no other session reaches")
  )
  .add(
    HttpApiEndpoint.post("changeSession")`/sessions/${sessionId}/status`
      .setPayload(Schema.Struct({ status: Schema.Literal("active", "suspended", "closed") }))
      .addSuccess(SessionModels.SessionInfo)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Suspends a session, makes it active again, or closes it for good")
  )
  .add(
    HttpApiEndpoint.get("sessionTurns")`/sessions/${sessionId}/turns`
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(numberBetween(1, 500)),
          before: Schema.optional(SessionModels.TurnCursor)
        })
      )
      .addSuccess(
        Schema.Struct({
          turns: Schema.Array(SessionModels.Turn),
          /** The `before` of the next page of older turns; absent on the last one. */
          next: Schema.optional(SessionModels.TurnCursor)
        })
      )
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "The newest turns of a session, or those before a turn, the oldest first")
  )
  .add(
    HttpApiEndpoint.get("sessionTree")`/sessions/${sessionId}/tree`
      .addSuccess(SessionModels.Tree)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "The branches of the conversation that a session belongs to")
  )
  .add(
    HttpApiEndpoint.get("listCheckpoints")`/sessions/${sessionId}/checkpoints`
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(numberBetween(1, 500)),
          /** Only checkpoints with a lower `revision`. */
          before: Schema.optional(numberBetween(0, Number.MAX_SAFE_INTEGER))
        })
      )
      .addSuccess(Schema.Struct({ checkpoints: Schema.Array(SessionModels.Checkpoint) }))
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "The checkpoints of a session, the newest first")
  )
  .add(
    HttpApiEndpoint.post("createCheckpoint")`/sessions/${sessionId}/checkpoints`
      .setPayload(Schema.Struct({ name: Name, metadata: Attributes }))
      .addSuccess(SessionModels.Checkpoint, { status: 201 })
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "Keeps the state of a session")
  )
  .add(
    HttpApiEndpoint.post("restoreCheckpoint")`/checkpoints/${checkpointId}/restore`
      .setPayload(Schema.Struct({ reopen: Schema.optional(Schema.Boolean) }))
      .addSuccess(SessionModels.SessionInfo)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Returns a session to a checkpoint; with `reopen` a closed one too")
  )
  .add(
    HttpApiEndpoint.get("diffCheckpoints")`/checkpoints/${checkpointId}/diff/${pathParam("to", CheckpointId)}`
      .addSuccess(SessionModels.Diff)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "What the second checkpoint of a tree has otherwise than the first")
  )
  .add(
    HttpApiEndpoint.post("forkSession")`/sessions/${sessionId}/fork`
      .setPayload(
        Schema.Struct({
          id: Schema.optional(SessionId),
          branchName: Name,
          fromCheckpoint: Schema.optional(CheckpointId),
          /** A turn that the session wrote itself. */
          afterTurn: Schema.optional(TurnId),
          metadata: Attributes
        })
      )
      .addSuccess(SessionModels.SessionInfo, { status: 201 })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(
        OpenApi.Summary,
        "Creates a session that goes on from the newest turn, a checkpoint or an earlier turn of another one"
      )
  )
  .add(
    HttpApiEndpoint.post("mergeSession")`/sessions/${sessionId}/merge`
      .setPayload(
        Schema.Struct({
          from: SessionId,
          /** Which side wins where both changed the same; default `fail`. */
          conflict: Schema.optional(Schema.Literal("ours", "theirs", "fail")),
          /** Only these turns, and nothing of the state. */
          turns: Schema.optional(Schema.Array(TurnId).pipe(Schema.minItems(1), Schema.maxItems(1000)))
        })
      )
      .addSuccess(
        Schema.Struct({
          session: SessionModels.SessionInfo,
          /** The turns that were copied. */
          turns: Schema.Array(SessionModels.Turn),
          checkpoint: Schema.optional(SessionModels.Checkpoint)
        })
      )
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .annotate(OpenApi.Summary, "Copies the new turns of a branch, and the changes of its state")
  )
  .addError(Unsupported)
  .addError(Unavailable)
