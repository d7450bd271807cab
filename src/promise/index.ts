/**
 * The error of runs of an agent that was closed.
 *
 * @since 0.1.0
 */
export * from "./AgentClosedError.js"

/**
 * Agents as plain promises and async iterables, for programs that are not written in Effect.
 *
 * @since 0.1.0
 */
export * from "./PromiseAgent.js"

/**
 * Decides tool calls that need approval by a function.
 *
 * @since 0.1.0
 */
export * from "./PromiseApproval.js"

/**
 * Answers questions of tools by a function.
 *
 * @since 0.1.0
 */
export * from "./PromiseElicitation.js"

/**
 * Inputs of runs: text, and files beside it.
 *
 * @since 0.1.0
 */
export * from "./PromiseInput.js"

/**
 * Models as plain values: a provider by its name, a model of the AI SDK, or any Layer.
 *
 * @since 0.1.0
 */
export * from "./PromiseModel.js"

/**
 * What agents share: a model, sessions, memory and other services, built once and closed once.
 *
 * @since 0.1.0
 */
export * from "./PromiseRuntime.js"

/**
 * Tools that are plain functions.
 *
 * @since 0.1.0
 */
export * from "./PromiseTool.js"
