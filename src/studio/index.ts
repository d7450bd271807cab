/**
 * A page for developers on a server of agents: their runs, sessions, memory, budgets, evals and prompts. The server has
 * it at `/studio/`, and the API behind it at `/studio/api`.
 *
 * @since 0.1.0
 */
export * as Studio from "./Studio.js"

/**
 * The privileged API of the studio: what developers see of their agents beyond the HTTP API of all callers. What
 * belongs to a user is that of the caller alone; definitions, budgets, experiments and prompts are those of the server.
 *
 * @since 0.1.0
 */
export * as StudioApi from "./api/StudioApi.js"
