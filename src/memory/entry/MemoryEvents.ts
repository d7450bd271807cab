/**
 * The domain events of memory: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

/**
 * Something was remembered. The aggregate is the memory of the owner; `memoryType` is the kind: `episodic`, `semantic`,
 * `procedural`, `working`.
 *
 * @since 0.1.0
 * @category events
 */
export const MemoryStoredEvent = DomainEvent.define("MemoryStoredEvent", {
  aggregateType: "Memory",
  fields: { memoryId: Schema.String, memoryType: Schema.String }
})

/**
 * Memory was asked and answered.
 *
 * @since 0.1.0
 * @category events
 */
export const MemoryRetrievedEvent = DomainEvent.define("MemoryRetrievedEvent", {
  aggregateType: "Memory",
  fields: { queryId: Schema.String, memoryType: Schema.String, resultsCount: Schema.Number }
})
