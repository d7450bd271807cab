/**
 * Hook points of memory.
 *
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import * as Hooks from "../../observability/Hooks.js"

/**
 * The tiers of memory.
 *
 * @since 0.1.0
 * @category models
 */
export type Tier = "working" | "episodic" | "semantic" | "procedural"

/**
 * Called after entries, facts (`semantic`) or procedures (`procedural`) with these ids were stored.
 *
 * @since 0.1.0
 * @category hooks
 */
export const MemoryWrittenHook: Hooks.Action<{
  readonly tier: Tier
  /** The store: `in_memory`, `cache`, `sqlite`, … */
  readonly backend: string
  readonly ownerId: string
  readonly ids: ReadonlyArray<string>
}> = Hooks.action("MemoryWrittenHook")

/**
 * Called after a query of memory was answered.
 *
 * @since 0.1.0
 * @category hooks
 */
export const MemoryRetrievedHook: Hooks.Action<{
  readonly tier: Tier
  readonly ownerId: string
  readonly resultCount: number
}> = Hooks.action("MemoryRetrievedHook")

/**
 * Called after the proposal of a consolidation strategy was applied. Not called for dry runs or empty proposals.
 *
 * @since 0.1.0
 * @category hooks
 */
export const MemoryConsolidatedHook: Hooks.Action<{
  readonly strategy: string
  readonly ownerId: string
  readonly pruned: ReadonlyArray<EntryId>
  readonly replaced: ReadonlyArray<EntryId>
}> = Hooks.action("MemoryConsolidatedHook")
