/**
 * The agents of durable runs by their names and versions.
 *
 * @since 0.1.0
 */
export * as AgentVersions from "./AgentVersions.js"

/**
 * Runs of agents as workflows of `@effect/workflow`: every step is recorded, and a run goes on where it stopped.
 *
 * @since 0.1.0
 */
export * as AgentWorkflow from "./AgentWorkflow.js"

/**
 * Work that becomes durable together with the result of an activity.
 *
 * @since 0.1.0
 */
export * as BeforeCommit from "./engine/BeforeCommit.js"

/**
 * What durable runs are kept on: in memory, in a SQLite file, or in a database of the application.
 *
 * @since 0.1.0
 */
export * as Durable from "./Durable.js"

/**
 * Runs that survive their process: each is a workflow whose steps are recorded, and goes on where it stopped.
 *
 * @since 0.1.0
 */
export * as DurableRuns from "./DurableRuns.js"

/**
 * Failures of durable runs.
 *
 * @since 0.1.0
 */
export * as ReplayError from "./ReplayError.js"

/**
 * A `WorkflowEngine` of `@effect/workflow` on SQLite or Postgres. Workflows go on after the end of their process, in
 * the same or another one, and finished activities do not run again.
 *
 * @since 0.1.0
 */
export * as SqlWorkflowEngine from "./engine/SqlWorkflowEngine.js"

/**
 * Runs that are taken as values while they wait for people: for places without a process that stays, such as functions
 * that are started for each request.
 *
 * @since 0.1.0
 */
export * as SuspendedRun from "./SuspendedRun.js"

/**
 * The journal of durable workflows: what it holds of an execution, and its removal.
 *
 * @since 0.1.0
 */
export * as WorkflowJournal from "./engine/WorkflowJournal.js"

/**
 * The failure of the store of durable workflows.
 *
 * @since 0.1.0
 */
export * as WorkflowStorageError from "./engine/WorkflowStorageError.js"
