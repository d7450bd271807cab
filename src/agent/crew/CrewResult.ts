/**
 * What a crew's work comes to, and what happens on the way.
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
 * How the tasks of a crew are worked on.
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
 * One task as it ended. `output` is empty unless it was completed; `value` is the output in encoded form where its task
 * or agent has a schema. Usage and cost are those of all attempts and of their reviews; `costUsd` is absent unless
 * every price is known. A task that was skipped has no agent where it was never given to one, and no attempts.
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
 * `tasks` stand in the order of the crew. `finalOutput` is the manager's answer in a hierarchical crew, else the output
 * of the last task; absent when that was not completed. Usage and cost are those of everybody, managers included.
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
 * The crew began. `runId` is that of its own run: the one above those of its agents.
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
 * A task began. `runId` is the run its agent works in.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TaskStarted = event("TaskStarted", { task: Schema.String, agent: Schema.String, runId: RunId })
/**
 * An output was not accepted, and the task begins again: the `attempt`-th time, in another run.
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
 * A task ended, whether well or not; or was skipped.
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
 * Any event of a crew, those of its own run and of its agents' runs included.
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
