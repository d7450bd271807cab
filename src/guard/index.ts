/**
 * A guard looks at text on its way into or out of a run and passes it, warns, redacts or blocks.
 *
 * @since 0.1.0
 */
export * as Guard from "./Guard.js"

/**
 * How guards stop a run.
 *
 * @since 0.1.0
 */
export * as GuardError from "./GuardError.js"

/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
export * as GuardPipeline from "./GuardPipeline.js"
