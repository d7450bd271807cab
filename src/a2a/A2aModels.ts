/**
 * The objects of the Agent2Agent protocol 1.0 in its JSON form, as far as agents use them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionId } from "../domain/Ids.js"

const NAME = "effect-lexigram/a2a/A2aModels"

/** The version of the protocol. */
export const VERSION = "1.0"

/** Ids of the other side. In the JSON of the protocol an empty text stands for one that is absent. */
const Id = Schema.String.pipe(Schema.maxLength(256))

const Metadata = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * A part of a message: a text, the bytes of a file in base64, the URL of one, or data.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Part = Schema.Struct({
  text: Schema.optional(Schema.String),
  raw: Schema.optional(Schema.String),
  url: Schema.optional(Schema.String),
  data: Schema.optional(Schema.Unknown),
  filename: Schema.optional(Schema.String),
  mediaType: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/Part` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Part extends Schema.Schema.Type<typeof Part> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Message = Schema.Struct({
  messageId: Id.pipe(Schema.minLength(1)),
  contextId: Schema.optional(Id),
  taskId: Schema.optional(Id),
  role: Schema.Literal("ROLE_USER", "ROLE_AGENT"),
  parts: Schema.Array(Part).pipe(Schema.minItems(1), Schema.maxItems(64)),
  metadata: Schema.optional(Metadata)
}).annotations({ identifier: `${NAME}/Message` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Message extends Schema.Schema.Type<typeof Message> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const TaskState = Schema.Literal(
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED"
)
/**
 * @since 0.1.0
 * @category models
 */
export type TaskState = typeof TaskState.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const TaskStatus = Schema.Struct({
  state: TaskState,
  message: Schema.optional(Message),
  /** ISO 8601. */
  timestamp: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/TaskStatus` })
/**
 * @since 0.1.0
 * @category models
 */
export interface TaskStatus extends Schema.Schema.Type<typeof TaskStatus> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Artifact = Schema.Struct({
  artifactId: Schema.String,
  name: Schema.optional(Schema.String),
  parts: Schema.Array(Part)
}).annotations({ identifier: `${NAME}/Artifact` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Artifact extends Schema.Schema.Type<typeof Artifact> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Task = Schema.Struct({
  id: Schema.String,
  contextId: Schema.optional(Schema.String),
  status: TaskStatus,
  artifacts: Schema.optional(Schema.Array(Artifact)),
  metadata: Schema.optional(Metadata)
}).annotations({ identifier: `${NAME}/Task` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Task extends Schema.Schema.Type<typeof Task> {}

/**
 * One object of a stream: the task, its new status, a piece of an artifact, or a message in place of a task.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Update = Schema.Struct({
  task: Schema.optional(Task),
  message: Schema.optional(Message),
  statusUpdate: Schema.optional(
    Schema.Struct({ taskId: Schema.String, contextId: Schema.optional(Schema.String), status: TaskStatus })
  ),
  artifactUpdate: Schema.optional(
    Schema.Struct({
      taskId: Schema.String,
      contextId: Schema.optional(Schema.String),
      artifact: Artifact,
      /** The parts follow those that the artifact has; otherwise they replace them. */
      append: Schema.optional(Schema.Boolean),
      lastChunk: Schema.optional(Schema.Boolean)
    })
  )
}).annotations({ identifier: `${NAME}/Update` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Update extends Schema.Schema.Type<typeof Update> {}

const count = Schema.Number.pipe(Schema.int(), Schema.nonNegative())

const Visible = Schema.String.pipe(Schema.pattern(/^[\x21-\x7e]*$/))

/**
 * Where and how a caller wants to be notified of a task. An empty text stands for one that is absent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PushConfig = Schema.Struct({
  id: Schema.optional(Id),
  taskId: Schema.optional(Id),
  url: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(2048)),
  /** Sent as `X-A2A-Notification-Token`; at most 1,024 visible characters of ASCII. */
  token: Schema.optional(Visible.pipe(Schema.maxLength(1024))),
  /** Sent as `Authorization`: the name of a scheme, and at most 4,096 characters of ASCII. */
  authentication: Schema.optional(
    Schema.Struct({
      scheme: Visible.pipe(Schema.minLength(1), Schema.maxLength(64)),
      credentials: Schema.optional(Schema.String.pipe(Schema.maxLength(4096), Schema.pattern(/^[\x20-\x7e]*$/)))
    })
  )
}).annotations({ identifier: `${NAME}/PushConfig` })
/**
 * @since 0.1.0
 * @category models
 */
export interface PushConfig extends Schema.Schema.Type<typeof PushConfig> {}

const TaskId = Id.pipe(Schema.minLength(1))

/**
 * The parameters of the methods.
 *
 * @since 0.1.0
 * @category schemas
 */
export const params = {
  send: Schema.Struct({
    // The context is a session, whose id has no control characters.
    message: Schema.Struct({
      ...Message.fields,
      contextId: Schema.optional(Schema.Union(Schema.Literal(""), SessionId))
    }),
    configuration: Schema.optional(
      Schema.Struct({
        returnImmediately: Schema.optional(Schema.Boolean),
        taskPushNotificationConfig: Schema.optional(PushConfig)
      })
    )
  }),
  task: Schema.Struct({ id: TaskId }),
  push: Schema.Struct({ ...PushConfig.fields, taskId: TaskId }),
  pushOne: Schema.Struct({ taskId: TaskId, id: Id.pipe(Schema.minLength(1)) }),
  pushes: Schema.Struct({ taskId: TaskId }),
  list: Schema.Struct({
    contextId: Schema.optional(Id),
    status: Schema.optional(Schema.Union(TaskState, Schema.Literal("TASK_STATE_UNSPECIFIED"))),
    pageSize: Schema.optional(count.pipe(Schema.lessThanOrEqualTo(100))),
    pageToken: Schema.optional(Schema.String.pipe(Schema.maxLength(1024))),
    includeArtifacts: Schema.optional(Schema.Boolean)
  })
}

/**
 * The card by which others find out what an agent is and how to talk to it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentCard = Schema.Struct({
  name: Schema.String,
  description: Schema.optional(Schema.String),
  version: Schema.optional(Schema.String),
  supportedInterfaces: Schema.Array(
    Schema.Struct({
      url: Schema.String,
      protocolBinding: Schema.String,
      protocolVersion: Schema.optional(Schema.String),
      tenant: Schema.optional(Schema.String)
    })
  ),
  capabilities: Schema.optional(
    Schema.Struct({
      streaming: Schema.optional(Schema.Boolean),
      pushNotifications: Schema.optional(Schema.Boolean),
      extendedAgentCard: Schema.optional(Schema.Boolean)
    })
  ),
  securitySchemes: Schema.optional(Metadata),
  securityRequirements: Schema.optional(Schema.Array(Schema.Unknown)),
  defaultInputModes: Schema.optional(Schema.Array(Schema.String)),
  defaultOutputModes: Schema.optional(Schema.Array(Schema.String)),
  skills: Schema.optional(
    Schema.Array(
      Schema.Struct({
        id: Schema.String,
        name: Schema.String,
        description: Schema.optional(Schema.String),
        tags: Schema.optional(Schema.Array(Schema.String))
      })
    )
  )
}).annotations({ identifier: `${NAME}/AgentCard` })
/**
 * @since 0.1.0
 * @category models
 */
export interface AgentCard extends Schema.Schema.Type<typeof AgentCard> {}

/**
 * A call by JSON-RPC 2.0.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Call = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.Union(Schema.String.pipe(Schema.maxLength(256)), Schema.Number, Schema.Null),
  method: Schema.String,
  params: Schema.optional(Schema.Unknown)
}).annotations({ identifier: `${NAME}/Call` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Call extends Schema.Schema.Type<typeof Call> {}

/**
 * The answer to a call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reply = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.optional(Schema.Unknown),
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(
    Schema.Struct({ code: Schema.Number, message: Schema.String, data: Schema.optional(Schema.Unknown) })
  )
}).annotations({ identifier: `${NAME}/Reply` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Reply extends Schema.Schema.Type<typeof Reply> {}
