/**
 * An agent: its prompt, tools, strategy and limits as an immutable value. `AgentExecutor` runs it.
 *
 * @since 0.1.0
 */
export * as Agent from "./definition/Agent.js"

/**
 * Defaults of all agents of an executor, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as AgentConfig from "./definition/AgentConfig.js"

/**
 * Failures of an agent besides those of its model, its tools and its reasoning.
 *
 * @since 0.1.0
 */
export * as AgentError from "./definition/AgentError.js"

/**
 * The executor of agents as a service: the request of a run, and how to run or stream it.
 *
 * @since 0.1.0
 */
export * as AgentExecutor from "./AgentExecutor.js"

/**
 * An agent as a participant of a group.
 *
 * @since 0.1.0
 */
export * as AgentParticipant from "./AgentParticipant.js"

/**
 * An agent as a tool of another one.
 *
 * @since 0.1.0
 */
export * as AgentTool from "./AgentTool.js"

/**
 * Ready-made compositions of the executor.
 *
 * @since 0.1.0
 */
export * as Agents from "./Agents.js"

/**
 * Shows memory blocks in every run of an agent.
 *
 * @since 0.1.0
 */
export * as BlockStage from "./definition/BlockStage.js"

/**
 * The conversation of a run, for tools that ask other agents.
 *
 * @since 0.1.0
 */
export * as Conversation from "./definition/Conversation.js"

/**
 * Audits a finished run and releases its budget, whether it succeeded or not.
 *
 * @since 0.1.0
 */
export * as CostStage from "./stage/CostStage.js"

/**
 * Agents that share tasks: in order, in parallel, or under a manager.
 *
 * @since 0.1.0
 */
export * as Crew from "./crew/Crew.js"

/**
 * Result and events of a crew run.
 *
 * @since 0.1.0
 */
export * as CrewResult from "./crew/CrewResult.js"

/**
 * A task of a crew.
 *
 * @since 0.1.0
 */
export * as CrewTask from "./crew/CrewTask.js"

/**
 * Outermost stage: emits the first event, the message and the last event of a run, and publishes its domain events.
 *
 * @since 0.1.0
 */
export * as EventsStage from "./stage/EventsStage.js"

/**
 * Checks whether the run may begin.
 *
 * @since 0.1.0
 */
export * as GovernanceStage from "./stage/GovernanceStage.js"

/**
 * Runs the agent's guards and then the executor's, and emits their actions. Shared by the guard stages.
 *
 * @since 0.1.0
 */
export * as GuardChecks from "./stage/GuardChecks.js"

/**
 * Hands a conversation to another agent, which answers in place of the first one.
 *
 * @since 0.1.0
 */
export * as Handoff from "./Handoff.js"

/**
 * Judges the importance of what a run saves in memory.
 *
 * @since 0.1.0
 */
export * as ImportanceStage from "./definition/ImportanceStage.js"

/**
 * Keeps a queue of runs in memory.
 *
 * @since 0.1.0
 */
export * as InMemoryQueueStore from "./record/InMemoryQueueStore.js"

/**
 * Keeps the records of runs in memory.
 *
 * @since 0.1.0
 */
export * as InMemoryRunStore from "./record/InMemoryRunStore.js"

/**
 * Keeps schedules of runs in memory.
 *
 * @since 0.1.0
 */
export * as InMemoryScheduleStore from "./record/InMemoryScheduleStore.js"

/**
 * Guards the user's message before the model sees it.
 *
 * @since 0.1.0
 */
export * as InputGuardStage from "./stage/InputGuardStage.js"

/**
 * The executor that runs agents in this process.
 *
 * @since 0.1.0
 */
export * as LocalExecutor from "./LocalExecutor.js"

/**
 * Runs in the process that started them. Their records and events are where the `RunStore` and the `RunLog` keep them.
 *
 * @since 0.1.0
 */
export * as LocalRuns from "./runs/LocalRuns.js"

/**
 * Saves the turns of a run in the session and in memory.
 *
 * @since 0.1.0
 */
export * as MemorySaveStage from "./stage/MemorySaveStage.js"

/**
 * Adds recalled memory to the history.
 *
 * @since 0.1.0
 */
export * as MemoryStage from "./stage/MemoryStage.js"

/**
 * Counts runs, their duration, tokens, steps, tool calls and failures.
 *
 * @since 0.1.0
 */
export * as MetricsStage from "./stage/MetricsStage.js"

/**
 * Lets the memory of a run inherit from shared namespaces of its user.
 *
 * @since 0.1.0
 */
export * as NamespaceStage from "./definition/NamespaceStage.js"

/**
 * Guards the answer before it is shown.
 *
 * @since 0.1.0
 */
export * as OutputGuardStage from "./stage/OutputGuardStage.js"

/**
 * The output of an agent while it is written: objects whose members appear and whose texts grow.
 *
 * @since 0.1.0
 */
export * as PartialOutput from "./PartialOutput.js"

/**
 * The person for whom a run works, as a participant of a group.
 *
 * @since 0.1.0
 */
export * as PersonParticipant from "./PersonParticipant.js"

/**
 * A queue of runs that takes no more.
 *
 * @since 0.1.0
 */
export * as QueueFullError from "./record/QueueFullError.js"

/**
 * Starts queued runs by the `Runs` in context.
 *
 * @since 0.1.0
 */
export * as QueueRunner from "./dispatch/QueueRunner.js"

/**
 * The port that keeps a queue of runs.
 *
 * @since 0.1.0
 */
export * as QueueStore from "./record/QueueStore.js"

/**
 * A run that waits in a queue, or that a queue has started.
 *
 * @since 0.1.0
 */
export * as QueuedRun from "./record/QueuedRun.js"

/**
 * What an agent does with memory besides recalling it: notes and memory blocks of its user, and memory that teams
 * share.
 *
 * @since 0.1.0
 */
export * as Remembering from "./definition/Remembering.js"

/**
 * An agent that works elsewhere: a stand-in whose runs are started by `Runs`, by the name of the agent.
 *
 * @since 0.1.0
 */
export * as RemoteAgent from "./runs/RemoteAgent.js"

/**
 * What a request says of its answer: the form that it has, and the tools that must be called for it.
 *
 * @since 0.1.0
 */
export * as RequestedAnswer from "./record/RequestedAnswer.js"

/**
 * Errors of runs that are started, found and steered by their ids.
 *
 * @since 0.1.0
 */
export * as RunError from "./record/RunError.js"

/**
 * Limits, retries, fallbacks, the model and the strategy of one run, as plain data: they are kept with the run, and
 * hold in whichever process it goes on.
 *
 * @since 0.1.0
 */
export * as RunPolicy from "./record/RunPolicy.js"

/**
 * A queue in front of runs: they wait for their turn, by owner, agent and priority.
 *
 * @since 0.1.0
 */
export * as RunQueue from "./dispatch/RunQueue.js"

/**
 * The record of a run: who started which agent, and how far the run got. Its events are in the `RunLog`.
 *
 * @since 0.1.0
 */
export * as RunRecord from "./record/RunRecord.js"

/**
 * A schedule of runs: whose run of which agent starts at which times, and how far the schedule got.
 *
 * @since 0.1.0
 */
export * as RunSchedule from "./record/RunSchedule.js"

/**
 * Schedules of runs: runs that start again and again, by a cron expression or at a fixed distance.
 *
 * @since 0.1.0
 */
export * as RunSchedules from "./dispatch/RunSchedules.js"

/**
 * The stages of every run in their order, and the failures that they add.
 *
 * @since 0.1.0
 */
export * as RunStages from "./RunStages.js"

/**
 * The port that keeps the records of runs.
 *
 * @since 0.1.0
 */
export * as RunStore from "./record/RunStore.js"

/**
 * Runs by their ids: started, followed, steered, answered and listed by callers that do not keep their fibers, such as
 * servers and command lines.
 *
 * @since 0.1.0
 */
export * as Runs from "./runs/Runs.js"

/**
 * Errors of schedules of runs.
 *
 * @since 0.1.0
 */
export * as ScheduleError from "./record/ScheduleError.js"

/**
 * The port that keeps schedules of runs.
 *
 * @since 0.1.0
 */
export * as ScheduleStore from "./record/ScheduleStore.js"

/**
 * Fires schedules of runs by the `Runs` in context.
 *
 * @since 0.1.0
 */
export * as Scheduler from "./dispatch/Scheduler.js"

/**
 * Loads or creates the session of a run.
 *
 * @since 0.1.0
 */
export * as SessionStage from "./stage/SessionStage.js"

/**
 * Adds skills to the agent's tools.
 *
 * @since 0.1.0
 */
export * as SkillStage from "./stage/SkillStage.js"

/**
 * A stage of a run: a wrapper around all inner stages and the reasoning. The list of stages determines the order of the
 * run and the type of its failures.
 *
 * @since 0.1.0
 */
export * as Stage from "./definition/Stage.js"

/**
 * Sends messages to running runs, and serializes the runs of a session.
 *
 * @since 0.1.0
 */
export * as Steering from "./record/Steering.js"

/**
 * Makes a run reachable while it goes on, and serializes the runs of one session.
 *
 * @since 0.1.0
 */
export * as SteeringStage from "./stage/SteeringStage.js"

/**
 * Adds the tools of a registry to those of the agent.
 *
 * @since 0.1.0
 */
export * as ToolStage from "./stage/ToolStage.js"
