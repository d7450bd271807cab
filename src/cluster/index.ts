/**
 * Sessions as entities of a cluster: each has one process at a time, which answers its messages one after another.
 *
 * @since 0.1.0
 */
export * as AgentEntity from "./entity/AgentEntity.js"

/**
 * Failures of sessions that are entities of a cluster.
 *
 * @since 0.1.0
 */
export * as AgentEntityError from "./entity/AgentEntityError.js"

/**
 * Health of a process of a cluster, and the pages by which an orchestrator asks for it.
 *
 * @since 0.1.0
 */
export * as ClusterHealth from "./ClusterHealth.js"

/**
 * Sessions as entities of a cluster of `DurableCluster`.
 *
 * @since 0.1.0
 */
export * as ClusterSessions from "./entity/ClusterSessions.js"

/**
 * Durable runs on many machines: a cluster of `@effect/cluster` over the Postgres database in context. Runs are spread
 * over the processes, and those of a process that ended, hangs or was cut off go on in others.
 *
 * @since 0.1.0
 */
export * as DurableCluster from "./DurableCluster.js"
