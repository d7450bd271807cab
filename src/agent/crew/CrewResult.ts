/**
 * Result and events of a crew run.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { AgentEvent } from "../../domain/AgentEvent.js"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import { RunId } from "../../domain/Ids.js"
import { Usage } from "../../domain/Usage.js"

const NAME = "effect-lexigram/agent/CrewResult"

/**
 * How the tasks of a crew run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Process = Schema.Literal("sequential", "parallel", "hierarchical")
/**
 * @since 0.1.0
 * @category models
 */
export type Process = typeof Process.Type

/**
 * The outcome of one task. `output` is empty unless the task was completed; `value` is the encoded output if the task
 * or its agent has a schema. Usage and cost cover all attempts and their reviews; `costUsd` is absent unless every
 * price is known. A skipped task has no attempts, and no agent if it was never assigned.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TaskResult = Schema.Struct({
  name: Schema.String,
  agent: Schema.optional(Schema.String),
  status: Schema.Literal("completed", "failed", "skipped"),
  success: Schema.Boolean,
  output: Schema.String,
  value: Schema.optional(Schema.Unknown),
  error: Schema.optional(ErrorInfo),
  attempts: Schema.Number,
  usage: Usage,
  costUsd: Schema.optional(Schema.Number),
  durationMs: Schema.Number
}).annotations({ identifier: `${NAME}/TaskResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface TaskResult extends Schema.Schema.Type<typeof TaskResult> {}

/**
 * `tasks` are in the order of the crew. `finalOutput` is the manager's answer in a hierarchical crew, else the output
 * of the last task; absent if that was not completed. Usage and cost cover everybody, managers included.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CrewResult = Schema.Struct({
  crew: Schema.String,
  runId: RunId,
  tasks: Schema.Array(TaskResult),
  finalOutput: Schema.optional(Schema.String),
  usage: Usage,
  costUsd: Schema.optional(Schema.Number),
  durationMs: Schema.Number
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface CrewResult extends Schema.Schema.Type<typeof CrewResult> {}

const event = <const Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.Struct({ _tag: Schema.Literal(tag), ...fields }).annotations({ identifier: `${NAME}/${tag}` })

/**
 * The crew began. `runId` is that of its own run, which contains those of its agents.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CrewStarted = event("CrewStarted", {
  crew: Schema.String,
  process: Process,
  tasks: Schema.Array(Schema.String),
  runId: RunId
})
/**
 * A task began. `runId` is the run of its agent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TaskStarted = event("TaskStarted", { task: Schema.String, agent: Schema.String, runId: RunId })
/**
 * An output was rejected, and the task begins for the `attempt`-th time, in another run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TaskRetried = event("TaskRetried", {
  task: Schema.String,
  agent: Schema.String,
  attempt: Schema.Number,
  reason: Schema.String,
  runId: RunId
})
/**
 * A task was completed, failed or was skipped.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TaskFinished = event("TaskFinished", { task: Schema.String, result: TaskResult })
/**
 * The crew is done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CrewFinished = event("CrewFinished", { result: CrewResult })

/**
 * Any event of a crew, including those of its own run and its agents' runs.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CrewEvent = Schema.Union(CrewStarted, TaskStarted, TaskRetried, TaskFinished, CrewFinished, AgentEvent)
/**
 * @since 0.1.0
 * @category models
 */
export type CrewEvent = typeof CrewEvent.Type
