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
 * Where guards can be watched: places for hooks, and what is told on the event bus. Nothing here holds checked text.
 *
 * @since 0.1.0
 */
export * as GuardEvents from "./GuardEvents.js"

/**
 * Metrics of guards, on Effect's `Metric`, with the labels `guard`, `stage` and `action`.
 *
 * @since 0.1.0
 */
export * as GuardMetrics from "./GuardMetrics.js"

/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
 *
 * @since 0.1.0
 */
export * as GuardPipeline from "./GuardPipeline.js"
