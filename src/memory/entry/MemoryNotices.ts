/**
 * Publishes the operations of all memory tiers to spans, metrics, hooks and domain events.
 *
 * @internal
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { EntryId } from "../../domain/Ids.js"
import * as Announcer from "../../observability/Announcer.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import { MemoryRetrievedEvent, MemoryStoredEvent } from "./MemoryEvents.js"
import { MemoryConsolidatedHook, MemoryRetrievedHook, MemoryWrittenHook, type Tier } from "./MemoryHooks.js"
import * as MemoryMetrics from "./MemoryMetrics.js"

/**
 * @category models
 */
export interface Notices {
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
export const make: Effect.Effect<Notices> = Effect.gen(function* () {
  const told = yield* Announcer.make
  return {
    written: ({ backend, ids, ownerId, tier }) =>
      ids.length === 0
        ? Effect.void
        : told((hooks, announce) => {
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
      told((hooks, announce) => {
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
      told((hooks) =>
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
    Effect.flatMap(Effect.clock, (clock) => {
      const startedAt = clock.unsafeCurrentTimeNanos()
      return effect.pipe(
        Effect.onExit((exit) =>
          Effect.sync(() =>
            MemoryMetrics.operated(
              tier,
              operation,
              Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failed",
              Number(clock.unsafeCurrentTimeNanos() - startedAt) / 1e6
            )
          )
        ),
        Effect.withSpan(MemoryMetrics.SPAN_MEMORY + operation, {
          captureStackTrace: false,
          attributes: { [MemoryMetrics.attribute.tier]: tier }
        })
      )
    })
