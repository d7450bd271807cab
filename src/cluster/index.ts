/**
 * Health of a process of a cluster, and the pages by which an orchestrator asks for it.
 *
 * @since 0.1.0
 */
export * as ClusterHealth from "./ClusterHealth.js"

/**
 * Durable runs on many machines: a cluster of `@effect/cluster` over the Postgres database in context. Runs are spread
 * over the processes, and those of a process that ended, hangs or was cut off go on in others.
 *
 * @since 0.1.0
 */
export * as DurableCluster from "./DurableCluster.js"
