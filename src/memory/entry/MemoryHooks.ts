/**
 * The places of memory where handlers may wait.
 *
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import * as Hooks from "../../observability/Hooks.js"

/**
 * The kinds of memory.
 *
 * @since 0.1.0
 * @category models
 */
export type Tier = "working" | "episodic" | "semantic" | "procedural"

/**
 * Something was remembered: entries, facts (`semantic`) or procedures (`procedural`), whose ids are given.
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
 * Memory was asked and answered.
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
 * A strategy of consolidation proposed something, and it was done. Not called for a dry run, nor for a strategy that
 * proposed nothing.
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
