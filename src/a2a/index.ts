/**
 * Agents elsewhere as tools, by the Agent2Agent protocol 1.0.
 *
 * @since 0.1.0
 */
export * as A2aAgent from "./A2aAgent.js"

/**
 * Failures of agents elsewhere.
 *
 * @since 0.1.0
 */
export * as A2aError from "./A2aError.js"

/**
 * The objects of the Agent2Agent protocol 1.0 in its JSON form, as far as agents use them.
 *
 * @since 0.1.0
 */
export * as A2aModels from "./A2aModels.js"

/**
 * Notifies callers of their tasks: the port.
 *
 * @since 0.1.0
 */
export * as A2aPush from "./A2aPush.js"

/**
 * Serves agents to other agents by the Agent2Agent protocol 1.0.
 *
 * @since 0.1.0
 */
export * as A2aServer from "./A2aServer.js"
