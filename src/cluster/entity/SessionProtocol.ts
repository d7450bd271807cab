/**
 * What sessions and runs are asked in a cluster.
 *
 * @private
 * @since 0.1.0
 */
import * as ClusterSchema from "@effect/cluster/ClusterSchema"
import * as Entity from "@effect/cluster/Entity"
import * as Rpc from "@effect/rpc/Rpc"
import * as Schema from "effect/Schema"
import { RunError } from "../../agent/record/RunError.js"
import { RunPolicy } from "../../agent/record/RunPolicy.js"
import * as Content from "../../content/Content.js"
import { AgentEvent } from "../../domain/AgentEvent.js"
import { RunId, UserId } from "../../domain/Ids.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import { Status } from "./AgentEntity.js"
import { AgentEntityError } from "./AgentEntityError.js"
import { Session } from "./SessionAddress.js"

const NAME = "effect-lexigram/cluster/AgentEntity"

/**
 * A message to a session. `messageId`, of 1 to 256 characters, makes it one message however often it is sent.
 *
 * @category schemas
 */
export const Message = Schema.Struct({
  ...Session.fields,
  messageId: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)),
  agent: Schema.String,
  input: Schema.Union(Schema.String, Schema.Array(Content.Content)),
  labels: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy),
  classifications: Schema.optional(Schema.Array(Schema.String)),
  startWith: Schema.optional(Schema.Literal("last", "called"))
}).annotations({ identifier: `${NAME}/Message` })
/**
 * @category models
 */
export interface Message extends Schema.Schema.Type<typeof Message> {}

/**
 * `Moved`: the process gives the session away and keeps no answer. The next process reads the message again.
 *
 * @category schemas
 */
export const Handled = Schema.Union(Schema.TaggedStruct("Ended", {}), Schema.TaggedStruct("Moved", {}))
/**
 * @category models
 */
export type Handled = typeof Handled.Type

const Failure = Schema.Union(AgentEntityError, RunError)

/**
 * @category constants
 */
export const sessionType = "LexigramSession"

/**
 * The tag of the requests with messages.
 *
 * @category constants
 */
export const sendTag = "send"

/**
 * A session. Messages are kept until they are answered, and a caller that leaves does not take its message back. Each
 * call is a request of its own (`call`): an answer that refused it is not that of the next one.
 *
 * @category constants
 */
export const SessionEntity = Entity.make(sessionType, [
  Rpc.make(sendTag, {
    payload: { call: Schema.String, message: Message },
    success: Handled,
    error: Failure,
    primaryKey: ({ call }) => call
  })
    .annotate(ClusterSchema.Persisted, true)
    .annotate(ClusterSchema.Uninterruptible, true),
  Rpc.make("status", { payload: Session, success: Status, error: Failure })
])

/**
 * The process gives the run away: the reader goes on in the next one.
 *
 * @category schemas
 */
export const RunMoved = Schema.TaggedStruct("RunMoved", {})
/**
 * @category models
 */
export type RunMoved = typeof RunMoved.Type

/**
 * A run in the process that has it: there its deltas need no database. The id of the entity is that of the execution of
 * the run, so that both are on one shard.
 *
 * @category constants
 */
export const RunEntity = Entity.make("LexigramRun", [
  Rpc.make("events", {
    payload: { runId: RunId, userId: Schema.optional(UserId), from: Schema.NonNegativeInt },
    success: AgentEvent,
    error: Schema.Union(RunError, RunMoved),
    stream: true
  })
])
