/**
 * Publishes the operations of all memory tiers to spans, metrics, hooks and domain events.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as Announcer from "../../observability/Announcer.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Observed from "../../observability/Observed.js"
import { MemoryRetrievedEvent, MemoryStoredEvent } from "./MemoryEvents.js"
import { MemoryConsolidatedHook, MemoryRetrievedHook, MemoryWrittenHook, type Tier } from "./MemoryHooks.js"
import * as MemoryMetrics from "./MemoryMetrics.js"

/**
 * @category models
 */
export interface MemoryTelemetry {
  /** Entries were stored. */
  readonly written: (written: {
    readonly tier: Tier
    readonly backend: string
    readonly ownerId: string
    readonly ids: ReadonlyArray<string>
  }) => Effect.Effect<void>
  /** A query was answered. */
  readonly retrieved: (retrieved: {
    readonly tier: Tier
    readonly ownerId: string
    readonly count: number
  }) => Effect.Effect<void>
  /** A strategy's proposal was applied. */
  readonly consolidated: (consolidated: {
    readonly strategy: string
    readonly ownerId: string
    readonly pruned: ReadonlyArray<EntryId>
    readonly replaced: ReadonlyArray<EntryId>
  }) => Effect.Effect<void>
}

let queries = 0

/**
 * Within a run it uses the run's hooks and bus, otherwise those of the context it was built in.
 *
 * @category constructors
 */
export const make: Effect.Effect<MemoryTelemetry> = Effect.gen(function* () {
  const announcer = yield* Announcer.make
  return {
    written: ({ backend, ids, ownerId, tier }) =>
      ids.length === 0
        ? Effect.void
        : announcer((hooks, announce) => {
            for (const memoryId of ids) {
              announce(() =>
                DomainEvent.make(MemoryStoredEvent, { aggregateId: ownerId, fields: { memoryId, memoryType: tier } })
              )
            }
            return hooks.has(MemoryWrittenHook)
              ? hooks.call(MemoryWrittenHook, { tier, backend, ownerId, ids })
              : Effect.void
          }),
    retrieved: ({ count, ownerId, tier }) =>
      announcer((hooks, announce) => {
        MemoryMetrics.retrieved(tier, count)
        announce(() =>
          DomainEvent.make(MemoryRetrievedEvent, {
            aggregateId: ownerId,
            fields: { queryId: String(++queries), memoryType: tier, resultsCount: count }
          })
        )
        return hooks.has(MemoryRetrievedHook)
          ? hooks.call(MemoryRetrievedHook, { tier, ownerId, resultCount: count })
          : Effect.void
      }),
    consolidated: ({ ownerId, pruned, replaced, strategy }) =>
      announcer((hooks) =>
        hooks.has(MemoryConsolidatedHook)
          ? hooks.call(MemoryConsolidatedHook, { strategy, ownerId, pruned, replaced })
          : Effect.void
      )
  }
})

/**
 * Wraps an operation of memory in its span and metrics.
 *
 * @category combinators
 */
export const observed =
  (tier: Tier, operation: MemoryMetrics.Operation) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Observed.timed(
      (ended) =>
        Spanned.run(
          MemoryMetrics.SPAN_MEMORY + operation,
          { attributes: { [MemoryMetrics.attribute.tier]: tier } },
          effect,
          ended
        ),
      (outcome, durationMs) => MemoryMetrics.operated(tier, operation, outcome, durationMs)
    )
