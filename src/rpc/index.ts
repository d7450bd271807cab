/**
 * Agents for Effect applications in other processes: procedures with typed errors and streams of events, over whatever
 * `@effect/rpc` speaks.
 *
 * @since 0.1.0
 */
export * as AgentRpc from "./AgentRpc.js"

/**
 * Serves `AgentRpc` over the port `Runs`.
 *
 * @since 0.1.0
 */
export * as AgentRpcServer from "./AgentRpcServer.js"
