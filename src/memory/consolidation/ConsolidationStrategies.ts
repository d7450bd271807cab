/**
 * The consolidation strategies: remove duplicates, faded and unimportant entries, and fade importance.
 *
 * No strategy here changes entries of the role `system`. Tool calls and their results (`ToolPairs`) go together or not
 * at all.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as SameText from "../entry/SameText.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type { ConsolidationStrategy } from "./MemoryConsolidator.js"

const share = (given: number | undefined, otherwise: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.min(1, Math.max(0, given))

const millis = (given: Duration.DurationInput | undefined, otherwise: Duration.DurationInput): number =>
  Math.max(1, Duration.toMillis(given ?? otherwise))

/** What remains of a value that halves every `halfLife`: 1 at first, 0.5 after one half-life, 0.25 after two. */
const remaining = (age: number, halfLife: number): number => Math.exp((-Math.LN2 * Math.max(0, age)) / halfLife)

/** When an entry was created or last recalled, whichever is later. */
const lastUse = (entry: MemoryEntry): number =>
  Math.max(entry.timestamp, entry.lastAccessedAt ?? Number.NEGATIVE_INFINITY)

const pruning =
  (goes: (entry: MemoryEntry, now: number) => boolean): ConsolidationStrategy["propose"] =>
  ({ agedBefore, entries, now }) =>
    Effect.sync(() => {
      const prune: Array<EntryId> = []
      for (const unit of EntryGroups.units(entries, agedBefore)) {
        if (unit.every((entry) => entry.role !== "system" && goes(entry, now))) prune.push(...unit.map(({ id }) => id))
      }
      return { prune }
    })

const field = (entry: MemoryEntry, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/** The metadata key for the time of the earliest duplicate: an entry does not move in time. */
const FIRST_SAID = "firstSaidAt"

const firstSaid = (entry: MemoryEntry): number => {
  const first = field(entry, FIRST_SAID)
  return typeof first === "number" ? Math.min(first, entry.timestamp) : entry.timestamp
}

/** Maximum values of one joined list. */
const maxJoined = 64

/**
 * Joins the lists of both entries (entities, links) without duplicates. Everything else comes from the entry that
 * stays.
 */
const joinedLists = (entry: MemoryEntry, double: MemoryEntry): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(double.metadata).flatMap(([key, theirs]) => {
    const own = field(entry, key)
    if (!Array.isArray(theirs) || !(own === undefined || Array.isArray(own))) return []
    const all = [...new Set<unknown>([...(own ?? []), ...theirs])].slice(0, maxJoined)
    return all.length === (own?.length ?? 0) ? [] : [[key, all] as const]
  })

/**
 * The remaining entry is worth as much as its duplicate, so that nothing is lost that would have survived the other
 * strategies.
 */
const takingOver = (entry: MemoryEntry, double: MemoryEntry): MemoryEntry => {
  const accessCount = Math.max(entry.accessCount ?? 0, double.accessCount ?? 0)
  const used = Math.max(lastUse(entry), lastUse(double))
  const first = Math.min(firstSaid(entry), firstSaid(double))
  const lists = joinedLists(entry, double)
  const { expiresAt, ...lasting } = entry
  const end =
    expiresAt === undefined || double.expiresAt === undefined ? undefined : Math.max(expiresAt, double.expiresAt)
  return {
    ...lasting,
    ...(end === undefined ? {} : { expiresAt: end }),
    importance: Math.max(entry.importance, double.importance),
    ...(accessCount === 0 ? {} : { accessCount }),
    ...(used === lastUse(entry) ? {} : { lastAccessedAt: used }),
    metadata: {
      ...entry.metadata,
      ...Object.fromEntries(lists),
      ...(first < entry.timestamp ? { [FIRST_SAID]: first } : {})
    }
  }
}

/** Number of texts between two yields. */
const turn = 512

/**
 * Of entries that say the same, the newest stays. It inherits the highest importance and number of recalls of its
 * duplicates, the values of their metadata lists (`entities`), the latest expiry, and the time of the earliest
 * (`metadata.firstSaidAt`). Duplicates may differ in white space, sentence punctuation, case and immediately repeated
 * words. Entries that differ in a digit, a sign, a name, a negation or any other word may be corrections, and stay.
 *
 * Entries of different roles, sessions or kinds (`metadata.type`) are not duplicates: a session would lose what another
 * one keeps. Neither are entries from before and after a session was rewound to an earlier turn. In a session that may
 * have branches, only an immediate repetition is a duplicate, and the first one stays, because branches share what
 * precedes them. Summaries, tool calls and their results are never duplicates.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deduplication = (options?: {
  /**
   * Also compares entries of different sessions. A branch then no longer recalls what was removed from its sessions.
   * Default false.
   */
  readonly acrossSessions?: boolean | undefined
}): ConsolidationStrategy => {
  const across = options?.acrossSessions === true
  const wayOf = (entry: MemoryEntry): string => JSON.stringify(across ? null : EntryGroups.way(entry))
  return {
    name: "deduplication",
    propose: Effect.fnUntraced(function* ({ agedBefore, entries }) {
      const prune: Array<EntryId> = []
      /** By content and place: the entry that stays so far. */
      const staying = new Map<string, MemoryEntry>()
      const changed = new Map<EntryId, MemoryEntry>()
      /** By lineage: the key of the previous entry. */
      const last = new Map<string, string>()
      let read = 0
      for (const unit of EntryGroups.units(entries, agedBefore)) {
        const entry = unit[0]
        const way = wayOf(entry)
        const before = last.get(way)
        last.delete(way)
        if (unit.length > 1 || entry.role === "system" || MemorySummary.isSummary(entry)) continue
        if (read++ % turn === turn - 1) yield* Effect.yieldNow()
        const text = SameText.key(entry.content)
        if (text === "") continue
        const key = JSON.stringify([entry.role, way, EntryGroups.kind(entry), text])
        last.set(way, key)
        const double = staying.get(key)
        const branches = !across && EntryGroups.tree(entry) !== null
        if (double === undefined || (branches && before !== key)) {
          staying.set(key, entry)
          continue
        }
        const [kept, gone] = branches ? [double, entry] : [entry, double]
        prune.push(gone.id)
        changed.delete(gone.id)
        const heir = takingOver(kept, gone)
        changed.set(kept.id, heir)
        staying.set(key, heir)
      }
      return { prune, update: Array.from(changed.values()) }
    })
  }
}

/**
 * Removes faded entries: those of which less than `threshold` remains, exp(-ln 2 · age / half-life). Age counts from
 * the creation or the last recall. With the defaults that is after 130 days.
 *
 * @since 0.1.0
 * @category constructors
 */
export const recencyDecay = (options?: {
  /** Default 30 days. */
  readonly halfLife?: Duration.DurationInput | undefined
  /** Default 0.05. */
  readonly threshold?: number | undefined
  /** Entries of at least this importance stay, however old. By default recency alone decides. */
  readonly spareImportance?: number | undefined
}): ConsolidationStrategy => {
  const halfLife = millis(options?.halfLife, "30 days")
  const threshold = share(options?.threshold, 0.05)
  const spared = options?.spareImportance ?? Number.POSITIVE_INFINITY
  return {
    name: "recency_decay",
    propose: pruning(
      (entry, now) => !(entry.importance >= spared) && remaining(now - lastUse(entry), halfLife) < threshold
    )
  }
}

/**
 * Removes entries below an importance, unless they were recalled often enough to show that they matter.
 *
 * @since 0.1.0
 * @category constructors
 */
export const accessFrequency = (options?: {
  /** Default 0.1. */
  readonly importanceThreshold?: number | undefined
  /** Number of recalls that keep an unimportant entry. Default 3. */
  readonly minAccesses?: number | undefined
}): ConsolidationStrategy => {
  const threshold = share(options?.importanceThreshold, 0.1)
  const minAccesses = Count.count(options?.minAccesses, 3, 0)
  return {
    name: "access_frequency",
    propose: pruning((entry) => entry.importance < threshold && (entry.accessCount ?? 0) < minAccesses)
  }
}

/** The metadata key for the importance of an entry before it faded. */
const BASE = "baseImportance"

const baseOf = (entry: MemoryEntry): number => {
  const base = Object.hasOwn(entry.metadata, BASE) ? entry.metadata[BASE] : undefined
  return typeof base === "number" && base >= 0 && base <= 1 ? base : entry.importance
}

/** Smaller changes are not worth a write. */
const step = 0.01

/**
 * Fades importance: the original importance (kept in the metadata as `baseImportance`) halves every half-life since the
 * creation or last recall, and is restored by a recall. Removes nothing itself. Put it before `accessFrequency`, which
 * then does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeDecay = (options?: {
  /** Default 168 hours. */
  readonly halfLife?: Duration.DurationInput | undefined
  /** Importance does not fall below this. Default 0.01. */
  readonly minImportance?: number | undefined
}): ConsolidationStrategy => {
  const halfLife = millis(options?.halfLife, "168 hours")
  const floor = share(options?.minImportance, 0.01)
  return {
    name: "time_decay",
    propose: ({ entries, now }) =>
      Effect.sync(() => {
        const update: Array<MemoryEntry> = []
        for (const entry of entries) {
          if (entry.role === "system") continue
          const base = baseOf(entry)
          const importance = Math.min(base, Math.max(floor, base * remaining(now - lastUse(entry), halfLife)))
          if (Math.abs(importance - entry.importance) < step) continue
          update.push({ ...entry, importance, metadata: { ...entry.metadata, [BASE]: base } })
        }
        return { update }
      })
  }
}

/**
 * The default strategies of a consolidator: `deduplication`, `recencyDecay`, `accessFrequency`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const standard = (options?: {
  /** Of `recencyDecay`. */
  readonly halfLife?: Duration.DurationInput | undefined
  /** Of `accessFrequency`. */
  readonly importanceThreshold?: number | undefined
}): ReadonlyArray<ConsolidationStrategy> => [
  deduplication(),
  recencyDecay({ halfLife: options?.halfLife }),
  accessFrequency({ importanceThreshold: options?.importanceThreshold })
]
