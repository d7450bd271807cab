/**
 * The HTTP API of agents: one definition for the server, the OpenAPI page and the typed client.
 *
 * @since 0.1.0
 */
export * as AgentApi from "../api/AgentApi.js"

/**
 * A client of `AgentApi` for browsers and servers, typed by the same definition. It follows runs across broken
 * connections.
 *
 * @since 0.1.0
 */
export * as AgentClient from "../api/AgentClient.js"

/**
 * Failures of requests over HTTP, as problem details (RFC 9457).
 *
 * @since 0.1.0
 */
export * as ApiError from "../api/ApiError.js"

/**
 * What leaves a server: runs, answers, agents and requests that wait for a person, in their public view.
 *
 * @since 0.1.0
 */
export * as ApiModels from "../api/ApiModels.js"
