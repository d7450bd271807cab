/**
 * Marks entries whose facts were extracted, so that nothing reads them again.
 *
 * @private
 * @since 0.1.0
 */
import type { MemoryEntry } from "../entry/MemoryEntry.js"

/**
 * The key of the mark in the metadata.
 *
 * @category constants
 */
export const factsRead = "factsRead"

/**
 * @category guards
 */
export const isRead = (entry: MemoryEntry): boolean =>
  Object.hasOwn(entry.metadata, factsRead) && entry.metadata[factsRead] === true

/**
 * @category conversions
 */
export const mark = (entry: MemoryEntry): MemoryEntry => ({
  ...entry,
  metadata: { ...entry.metadata, [factsRead]: true }
})

/**
 * Entries whose facts are still to be extracted. System entries are instructions, not findings.
 *
 * @category combinators
 */
export const unread = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<MemoryEntry> =>
  entries.filter((entry) => entry.role !== "system" && !isRead(entry))
