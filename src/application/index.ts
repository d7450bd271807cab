/**
 * A whole application as one layer: agents and their runs, with sessions, memory and governance on one backend. What
 * servers and the command line need.
 *
 * @since 0.1.0
 */
export * as Application from "./Application.js"
