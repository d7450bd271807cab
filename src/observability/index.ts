/**
 * Metrics of runs and tool calls, on Effect's `Metric`.
 *
 * @since 0.1.0
 */
export * as AgentMetrics from "./AgentMetrics.js"

/**
 * How the parts of a system are, asked one by one and summed.
 *
 * @since 0.1.0
 */
export * as Health from "./Health.js"

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
 * The seam for durability. Everything whose outcome must survive a crash goes through `Step`; `Place` names it by where it stands in
 * the run, the same on every replay. Without a durable layer a step is the effect itself and costs one look-up.
 *
 * @since 0.1.0
 */
export * as Step from "./Step.js"

/**
 * Names and attributes of spans: those of the original library beside OpenTelemetry's semantic conventions for generative AI.
 *
 * @since 0.1.0
 */
export * as Telemetry from "./Telemetry.js"
