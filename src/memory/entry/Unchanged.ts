/**
 * Checks whether entries are still as they were read.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { MemoryEntry } from "./MemoryEntry.js"

const textOf = ({ accessCount: _, lastAccessedAt: __, ...entry }: MemoryEntry): string => CanonicalJson.stringify(entry)

const isSame = (read: MemoryEntry, now: MemoryEntry | undefined): boolean =>
  now !== undefined && (now === read || (now.content === read.content && textOf(now) === textOf(read)))

/**
 * Returns whether each entry still exists as it was read. Access counts and times are not compared.
 *
 * @since 0.1.0
 * @category guards
 */
export const holds = (
  unchanged: ReadonlyArray<MemoryEntry> | undefined,
  get: (id: EntryId) => MemoryEntry | undefined
): boolean => unchanged === undefined || unchanged.every((entry) => isSame(entry, get(entry.id)))
