/**
 * A run that waits in a queue, or that a queue has started.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as Content from "../../content/Content.js"
import { RunId, UserId } from "../../domain/Ids.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import { ClientTools } from "../../tool/definition/ClientTool.js"
import * as RequestedAnswer from "./RequestedAnswer.js"
import { RunPolicy } from "./RunPolicy.js"
import { Labels } from "./RunRecord.js"

const NAME = "effect-lexigram/agent/QueuedRun"

/**
 * The request that starts the run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Request = Schema.Struct({
  agent: Schema.String,
  runId: Schema.String,
  input: Schema.Union(Schema.String, Schema.Array(Content.Content)),
  labels: Schema.optional(Labels),
  sessionId: Schema.optional(Schema.String),
  userId: Schema.optional(Schema.String),
  tenantId: Schema.optional(Schema.String),
  classifications: Schema.optional(Schema.Array(Schema.String)),
  settings: Schema.optional(ModelSettings.ModelSettings),
  policy: Schema.optional(RunPolicy),
  clientTools: Schema.optional(ClientTools),
  output: Schema.optional(RequestedAnswer.Output),
  toolChoice: Schema.optional(RequestedAnswer.ToolChoice),
  history: Schema.optional(Schema.Array(Schema.Any)),
  startWith: Schema.optional(Schema.Literal("last", "called"))
}).annotations({ identifier: `${NAME}/Request` })

/**
 * Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const QueuedRun = Schema.Struct({
  runId: RunId,
  agent: Schema.String,
  userId: Schema.optional(UserId),
  /** The system queued the run for no user. */
  system: Schema.optional(Schema.Literal(true)),
  request: Request,
  /** What makes two requests the same. */
  fingerprint: Schema.String,
  priority: Schema.Number,
  /** The order within the runs of one owner: the lowest first. */
  rank: Schema.Number,
  /** The run does not start before it. */
  notBefore: Schema.Number,
  createdAt: Schema.Number,
  /** The run must not start: it was cancelled. */
  cancelled: Schema.optional(Schema.Literal(true))
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface QueuedRun extends Schema.Schema.Type<typeof QueuedRun> {}

/**
 * Whose turn a run takes: that of its user, of nobody, or of the system.
 *
 * @since 0.1.0
 * @category getters
 */
export const ownerOf = ({ system, userId }: Pick<QueuedRun, "system" | "userId">): string =>
  userId !== undefined ? `user:${userId}` : system === true ? "system" : "nobody"
