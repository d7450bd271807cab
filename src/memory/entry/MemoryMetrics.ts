/**
 * Metrics and span names of memory. All labels (tiers, operations, outcomes) come from fixed lists, except store names.
 *
 * @since 0.1.0
 */

import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Observed from "../../observability/Observed.js"
import type { Tier } from "./MemoryHooks.js"

/**
 * Prefix of span names: `memory.<operation>`, such as `memory.recall`.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_MEMORY = "memory."

/**
 * Attribute names of the spans, in addition to `error.type`. No span carries an owner, a query or content.
 *
 * @since 0.1.0
 * @category constants
 */
export const attribute = { tier: "memory.tier", results: "memory.results" } as const

/**
 * Number of operations, by `tier`, `operation` and `outcome`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_OPERATIONS_TOTAL = "memory.operations.total"
/**
 * Duration of operations in milliseconds, by `tier` and `operation`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_OPERATION_DURATION_MS = "memory.operation.duration_ms"
/**
 * Retrievals that found something, by `tier`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_HITS = "memory.hits"
/**
 * Retrievals that found nothing, by `tier`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_MISSES = "memory.misses"
/**
 * Entries that a store of this process holds for all owners, by `store`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_ENTRIES = "memory.entries"
/**
 * Consolidation runs, by `outcome`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_CONSOLIDATIONS_TOTAL = "memory.consolidations.total"
/**
 * Entries that consolidation pruned or replaced, by `strategy` (built-in strategies by name, others as `other`).
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_MEMORY_CONSOLIDATED_ENTRIES = "memory.consolidated.entries"

/**
 * @since 0.1.0
 * @category models
 */
export type Operation =
  | "record"
  | "recall"
  | "record_access"
  | "recent"
  | "forget"
  | "compress"
  | "assemble"
  | "flush"
  | "store_fact"
  | "query_facts"
  | "update_fact"
  | "ingest"
  | "learn"
  | "consolidate"

/**
 * @since 0.1.0
 * @category models
 */
export type Outcome = Observed.Outcome

const milliseconds = MetricBoundaries.exponential({ start: 0.5, factor: 2, count: 18 })

const operations = Observed.each((tier: Tier, operation: Operation, outcome: Outcome) =>
  Observed.counter(METRIC_MEMORY_OPERATIONS_TOTAL, { tier, operation, outcome })
)
const durations = Observed.each((tier: Tier, operation: Operation) =>
  Observed.histogram(METRIC_MEMORY_OPERATION_DURATION_MS, milliseconds, { tier, operation })
)
const hits = Observed.each((tier: Tier) => Observed.counter(METRIC_MEMORY_HITS, { tier }))
const misses = Observed.each((tier: Tier) => Observed.counter(METRIC_MEMORY_MISSES, { tier }))
const entries = Observed.each((store: string) => Observed.gauge(METRIC_MEMORY_ENTRIES, { store }))
const consolidations = Observed.each((outcome: Outcome) =>
  Observed.counter(METRIC_MEMORY_CONSOLIDATIONS_TOTAL, { outcome })
)
const consolidatedEntries = Observed.each((strategy: string) =>
  Observed.counter(METRIC_MEMORY_CONSOLIDATED_ENTRIES, { strategy })
)

/**
 * @since 0.1.0
 * @category metrics
 */
export const operated = (tier: Tier, operation: Operation, outcome: Outcome, durationMs: number): void => {
  operations(tier, operation, outcome)()
  durations(tier, operation)(durationMs)
}

/**
 * @since 0.1.0
 * @category metrics
 */
export const retrieved = (tier: Tier, count: number): void => (count > 0 ? hits : misses)(tier)()

/**
 * Sets how many entries a store holds now.
 *
 * @since 0.1.0
 * @category metrics
 */
export const held = (store: string, count: number): void => entries(store)(count)

/**
 * @since 0.1.0
 * @category metrics
 */
export const consolidated = (outcome: Outcome): void => consolidations(outcome)()

/**
 * @since 0.1.0
 * @category metrics
 */
export const tidied = (strategy: string, count: number): void => consolidatedEntries(strategy)(count)
