/**
 * Work that becomes durable together with the result of an activity.
 *
 * @since 0.1.0
 */
export * as BeforeCommit from "./engine/BeforeCommit.js"

/**
 * A `WorkflowEngine` of `@effect/workflow` on SQLite or Postgres. Workflows go on after the end of their process, in
 * the same or another one, and finished activities do not run again.
 *
 * @since 0.1.0
 */
export * as SqlWorkflowEngine from "./engine/SqlWorkflowEngine.js"

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
