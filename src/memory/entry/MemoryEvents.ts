/**
 * Domain events published by the memory subsystem.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

/**
 * An entry, fact or procedure was stored. The aggregate is the owner's memory. `memoryType` is the tier: `episodic`,
 * `semantic`, `procedural`, `working`.
 *
 * @since 0.1.0
 * @category events
 */
export const MemoryStoredEvent = DomainEvent.define("MemoryStoredEvent", {
  aggregateType: "Memory",
  fields: { memoryId: Schema.String, memoryType: Schema.String }
})

/**
 * A query of memory was answered.
 *
 * @since 0.1.0
 * @category events
 */
export const MemoryRetrievedEvent = DomainEvent.define("MemoryRetrievedEvent", {
  aggregateType: "Memory",
  fields: { queryId: Schema.String, memoryType: Schema.String, resultsCount: Schema.Number }
})
