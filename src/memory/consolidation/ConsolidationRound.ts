/**
 * Validates the proposals of one round's strategies and combines them into one change.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { EntryId } from "../../domain/Ids.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { Change } from "../entry/MemoryBackend.js"
import { MemoryEntry } from "../entry/MemoryEntry.js"
import { ConsolidationError } from "../entry/MemoryError.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type { ConsolidationStrategy, Proposal } from "./MemoryConsolidator.js"

/** What one strategy did to the entries it named. */
export interface Deed {
  readonly strategy: string
  readonly pruned: ReadonlyArray<EntryId>
  readonly replaced: ReadonlyArray<EntryId>
}

export interface Round {
  /** The remaining entries, oldest first. */
  readonly entries: () => ReadonlyArray<MemoryEntry>
  /** Accepts a proposal, or returns why it is rejected. */
  readonly accept: (
    strategy: Pick<ConsolidationStrategy<unknown>, "name">,
    proposal: Proposal
  ) => ConsolidationError | undefined
  /** The deletions and the entries to store. */
  readonly change: () => { readonly [K in keyof Required<Change>]: NonNullable<Change[K]> }
  readonly deeds: ReadonlyArray<Deed>
  /** Entries that existed before and are removed, in their original state. */
  readonly leaving: () => { readonly pruned: ReadonlyArray<MemoryEntry>; readonly replaced: ReadonlyArray<MemoryEntry> }
  /** Entries that stay and change, in their original state. */
  readonly changing: () => ReadonlyArray<MemoryEntry>
  /** Entries that did not exist before. */
  readonly added: () => ReadonlyArray<MemoryEntry>
}

const isEntry = Schema.is(MemoryEntry)

/** Whether the entry is already a summary of these entries. */
export const standsFor = (entry: MemoryEntry, ids: ReadonlyArray<EntryId>): boolean => {
  const named = new Set(ids)
  const own = MemorySummary.isSummary(entry) ? entry.metadata["compressedIds"] : undefined
  return Array.isArray(own) && own.length === named.size && own.every((id) => named.has(id))
}

export const begin = (ownerId: string, entries: ReadonlyArray<MemoryEntry>): Round => {
  const before = new Map(entries.map((entry) => [entry.id, entry]))
  const left = new Map(before)
  const pruned = new Map<EntryId, MemoryEntry>()
  const replaced = new Map<EntryId, MemoryEntry>()
  const deeds: Array<Deed> = []
  const refuse = (strategy: string, why: string) =>
    new ConsolidationError({
      message: `What the strategy ${JSON.stringify(strategy.slice(0, 64))} proposed is invalid: ${why}`,
      hint: "A strategy may name each entry of its batch once"
    })

  /** Why a proposal is invalid. Checked before any of it is accepted. */
  const fault = ({ prune = [], replace = [], update = [] }: Proposal): string | undefined => {
    const named = new Set<EntryId>()
    for (const id of [...prune, ...replace.flatMap(({ ids }) => ids), ...update.map(({ id }) => id)]) {
      if (!left.has(id)) return "it names an entry that is not in the batch"
      if (named.has(id)) return "it names an entry twice"
      named.add(id)
    }
    const summaries = new Set<EntryId>()
    for (const { ids, summary } of replace) {
      if (ids.length < 2) return "a summary covers fewer than two entries"
      if (!isEntry(summary)) return "a summary is not a valid entry"
      if (summary.ownerId !== ownerId) return "a summary belongs to another owner"
      const known = left.get(summary.id) ?? before.get(summary.id)
      if (summaries.has(summary.id) || (known !== undefined && !standsFor(known, ids))) {
        return "a summary has the id of another entry"
      }
      summaries.add(summary.id)
    }
    for (const entry of update) {
      if (!isEntry(entry)) return "a changed entry is not valid"
      if (entry.ownerId !== ownerId) return "it gives an entry to another owner"
      if (entry.timestamp !== left.get(entry.id)?.timestamp) return "it moves an entry in time"
    }
    return undefined
  }

  const remove = (ids: ReadonlyArray<EntryId>, into: Map<EntryId, MemoryEntry>): void => {
    for (const id of ids) {
      left.delete(id)
      const entry = before.get(id)
      if (entry !== undefined) into.set(id, entry)
    }
  }

  return {
    deeds,
    entries: () => Array.from(left.values()).sort(EntryGroups.order),
    accept: (strategy, proposal) => {
      const why = fault(proposal)
      if (why !== undefined) return refuse(strategy.name, why)
      const { prune = [], replace = [], update = [] } = proposal
      const ids = replace.flatMap(({ ids }) => ids)
      remove(prune, pruned)
      remove(ids, replaced)
      for (const { summary } of replace) left.set(summary.id, summary)
      for (const entry of update) left.set(entry.id, entry)
      if (prune.length + ids.length > 0) deeds.push({ strategy: strategy.name, pruned: prune, replaced: ids })
      return undefined
    },
    change: () => ({
      delete: Array.from(before.keys()).filter((id) => !left.has(id)),
      store: Array.from(left.values()).filter((entry) => before.get(entry.id) !== entry)
    }),
    leaving: () => ({ pruned: Array.from(pruned.values()), replaced: Array.from(replaced.values()) }),
    changing: () => Array.from(before.values()).filter(({ id }) => left.has(id) && left.get(id) !== before.get(id)),
    added: () => Array.from(left.values()).filter(({ id }) => !before.has(id))
  }
}
