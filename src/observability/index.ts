/**
 * The domain events of runs: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
export * as AgentDomainEvents from "./AgentDomainEvents.js"

/**
 * The places of a run where handlers may wait, and where values may be changed.
 *
 * @since 0.1.0
 */
export * as AgentHooks from "./AgentHooks.js"

/**
 * Metrics of runs and tool calls, on Effect's `Metric`.
 *
 * @since 0.1.0
 */
export * as AgentMetrics from "./AgentMetrics.js"

/**
 * What happened, as other parts of an application are told of it after the fact.
 *
 * @since 0.1.0
 */
export * as DomainEvent from "./DomainEvent.js"

/**
 * The event bus port: publishes domain events to other parts of an application. A publishing run does not wait: a slow
 * or failing listener never delays it. `LocalEventBus` is the bus of one process.
 *
 * @since 0.1.0
 */
export * as EventBus from "./EventBus.js"

/**
 * How the parts of a system are, asked one by one and summed.
 *
 * @since 0.1.0
 */
export * as Health from "./Health.js"

/**
 * Places in a run where an application may look in or change a value, while the run waits for it.
 *
 * @since 0.1.0
 */
export * as Hooks from "./Hooks.js"

/**
 * The event bus of one process: an inbox, a fiber that empties it, and a queue for each listener.
 *
 * @since 0.1.0
 */
export * as LocalEventBus from "./LocalEventBus.js"

/**
 * Metrics of model calls, by OpenTelemetry's semantic conventions for generative AI: tokens and seconds a call.
 *
 * @since 0.1.0
 */
export * as ModelMetrics from "./ModelMetrics.js"

/**
 * The current run: where strategies, tools and stages emit what happens.
 *
 * @since 0.1.0
 */
export * as Run from "./Run.js"

/**
 * Keeps the events of runs.
 *
 * @since 0.1.0
 */
export * as RunLog from "./RunLog.js"

/**
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by where
 * it stands in the run, the same on every replay. Without a durable layer a step is the effect itself and costs one
 * look-up.
 *
 * @since 0.1.0
 */
export * as Step from "./Step.js"

/**
 * Names and attributes of spans: those of the original library beside OpenTelemetry's semantic conventions for
 * generative AI.
 *
 * @since 0.1.0
 */
export * as Telemetry from "./Telemetry.js"
