/**
 * An agent: who it is, what it can do and how it reasons. An immutable value; running it is `AgentExecutor`'s work.
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
 * How an agent can fail besides its model, its tools and its reasoning.
 *
 * @since 0.1.0
 */
export * as AgentError from "./definition/AgentError.js"

/**
 * The executor of agents as a service: what a run is given, and how it is run or streamed.
 *
 * @since 0.1.0
 */
export * as AgentExecutor from "./AgentExecutor.js"

/**
 * An agent in a group.
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
 * Ready compositions of the executor.
 *
 * @since 0.1.0
 */
export * as Agents from "./Agents.js"

/**
 * The conversation a run is about, as tools may see it that ask other agents.
 *
 * @since 0.1.0
 */
export * as Conversation from "./definition/Conversation.js"

/**
 * Closes the books of a run, whether it succeeded or not.
 *
 * @since 0.1.0
 */
export * as CostStage from "./stage/CostStage.js"

/**
 * Agents that share out tasks: in order, side by side, or under a manager.
 *
 * @since 0.1.0
 */
export * as Crew from "./crew/Crew.js"

/**
 * What a crew's work comes to, and what happens on the way.
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
 * Outermost: the run's first event, its message and its end, and who else is told of them.
 *
 * @since 0.1.0
 */
export * as EventsStage from "./stage/EventsStage.js"

/**
 * Asks whether the run may begin at all.
 *
 * @since 0.1.0
 */
export * as GovernanceStage from "./stage/GovernanceStage.js"

/**
 * What the guard stages share: asking the agent's guards and the executor's, one after the other, and saying what they
 * did.
 *
 * @since 0.1.0
 */
export * as GuardChecks from "./stage/GuardChecks.js"

/**
 * Passing a conversation to another agent, which answers in place of the one that had it.
 *
 * @since 0.1.0
 */
export * as Handoff from "./Handoff.js"

/**
 * Guards see the user's message before the model does.
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
 * Keeps what was said, in the session and in memory.
 *
 * @since 0.1.0
 */
export * as MemorySaveStage from "./stage/MemorySaveStage.js"

/**
 * Brings what is remembered into the context.
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
 * Guards see the answer before anybody else does.
 *
 * @since 0.1.0
 */
export * as OutputGuardStage from "./stage/OutputGuardStage.js"

/**
 * The stages of every run in their order, and the failures that they add.
 *
 * @since 0.1.0
 */
export * as RunStages from "./RunStages.js"

/**
 * Finds the conversation the run belongs to.
 *
 * @since 0.1.0
 */
export * as SessionStage from "./stage/SessionStage.js"

/**
 * Puts skills beside the agent's tools.
 *
 * @since 0.1.0
 */
export * as SkillStage from "./stage/SkillStage.js"

/**
 * A stage of a run: a wrapper around everything further in. The list of stages is the order of the run and the type of
 * its failures.
 *
 * @since 0.1.0
 */
export * as Stage from "./definition/Stage.js"

/**
 * Messages for runs that are going on, and the order of runs that share a session.
 *
 * @since 0.1.0
 */
export * as Steering from "./definition/Steering.js"

/**
 * Lets a run be reached while it goes on, and makes runs of one session follow one another.
 *
 * @since 0.1.0
 */
export * as SteeringStage from "./stage/SteeringStage.js"

/**
 * Puts the tools of a registry beside the agent's own.
 *
 * @since 0.1.0
 */
export * as ToolStage from "./stage/ToolStage.js"
