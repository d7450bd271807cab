/**
 * Domain events published by runs.
 *
 * @since 0.1.0
 */
export * as AgentDomainEvents from "./AgentDomainEvents.js"

/**
 * Hook points of a run: actions that the run waits for, and filters that change a value.
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
 * Shows what runs emit to readers in other processes before it is in the log.
 *
 * @since 0.1.0
 */
export * as DeltaFeed from "./log/DeltaFeed.js"

/**
 * Domain events: facts that other parts of an application learn after they happened.
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
 * Checks the health of each part of a system and sums the results.
 *
 * @since 0.1.0
 */
export * as Health from "./Health.js"

/**
 * Hook points of a run: an application observes or changes a value there while the run waits.
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
 * Metrics of model calls, by OpenTelemetry's semantic conventions for generative AI: tokens and seconds per call.
 *
 * @since 0.1.0
 */
export * as ModelMetrics from "./ModelMetrics.js"

/**
 * The current run: strategies, tools and stages emit their events through it.
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
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by its
 * position in the run, which is the same on every replay. Without a durable layer a step is the effect itself and costs
 * one look-up.
 *
 * @since 0.1.0
 */
export * as Step from "./Step.js"

/**
 * The failure of a durable run that cannot keep a value.
 *
 * @since 0.1.0
 */
export * as StepTooLargeError from "./journal/StepTooLargeError.js"

/**
 * Names and attributes of spans: those of the original library and those of OpenTelemetry's semantic conventions for
 * generative AI.
 *
 * @since 0.1.0
 */
export * as Telemetry from "./Telemetry.js"
