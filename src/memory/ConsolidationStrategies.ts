/**
 * What goes when memory is consolidated: doubles, what has faded, what never mattered; and what is put in the place of much that is old.
 *
 * No strategy here touches entries of the role `system`. Calls of tools and their results (`ToolPairs`) go together or not at all.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { EntryId } from "../domain/Ids.js"
import * as Count from "../internal/Count.js"
import * as EntryGroups from "./EntryGroups.js"
import type { ConsolidationStrategy } from "./MemoryConsolidator.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import * as MemorySummary from "./MemorySummary.js"
import * as WordSets from "./WordSets.js"

const share = (given: number | undefined, otherwise: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.min(1, Math.max(0, given))

const millis = (given: Duration.DurationInput | undefined, otherwise: Duration.DurationInput): number =>
  Math.max(1, Duration.toMillis(given ?? otherwise))

/** The loss of what halves in `halfLife` each: 1 at once, 0.5 after one of them, 0.25 after two. */
const remaining = (age: number, halfLife: number): number => Math.exp((-Math.LN2 * Math.max(0, age)) / halfLife)

/** When an entry was said or recalled last, whichever is later. */
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

const expiry = (entry: MemoryEntry): number => entry.expiresAt ?? Number.MAX_VALUE

/** Which of two doubles stays: what lasts longer, matters more, was recalled more often, was said first. */
const better = (a: MemoryEntry, b: MemoryEntry): number =>
  expiry(b) - expiry(a) ||
  b.importance - a.importance ||
  (b.accessCount ?? 0) - (a.accessCount ?? 0) ||
  EntryGroups.order(a, b)

/** The same where sessions may have branches: one has what was said before it left, and would lose it. */
const earlier = (a: MemoryEntry, b: MemoryEntry): number => expiry(b) - expiry(a) || EntryGroups.order(a, b)

/** What stays is worth what its double was: nothing that would have outlived another strategy goes by way of it. */
const takingOver = (entry: MemoryEntry, double: MemoryEntry): MemoryEntry => {
  const accessCount = Math.max(entry.accessCount ?? 0, double.accessCount ?? 0)
  const used = Math.max(lastUse(entry), lastUse(double))
  const same =
    double.importance <= entry.importance && accessCount === (entry.accessCount ?? 0) && used === lastUse(entry)
  return same
    ? entry
    : {
        ...entry,
        importance: Math.max(entry.importance, double.importance),
        ...(accessCount === 0 ? {} : { accessCount }),
        ...(used === lastUse(entry) ? {} : { lastAccessedAt: used })
      }
}

/** Texts between two yields. */
const turn = 512

/**
 * Of entries that say the same in nearly the same words, one stays: the one that expires last, of these the most important one, of these
 * the one that was recalled most often, of these the oldest. It takes over the highest importance and number of recalls of its doubles, and counts as recalled when the
 * last of them was said. Two entries are doubles when the words of one (what stands between white space, whatever the case) are at least
 * `threshold` of the words of both together (Jaccard). Every entry that goes is a double of one that stays; what stays has no double.
 *
 * Entries of different roles, sessions or kinds (`metadata.type`) are no doubles: a session would lose what another one keeps. Nor is what
 * a session said before and since it was taken back to an earlier turn; and of a session that may have branches the oldest of those that
 * expire last stays, for branches have what was said before them. Neither are summaries, nor calls of tools and their results.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deduplication = (options?: {
  /** 0.85 unless set; above 0. */
  readonly threshold?: number | undefined
  /** Compares entries of different sessions, too. What goes is then missing where a branch recalls its own sessions. Default false. */
  readonly acrossSessions?: boolean | undefined
}): ConsolidationStrategy => {
  const threshold = Math.max(0.01, share(options?.threshold, 0.85))
  const bucketOf = (entry: MemoryEntry): string =>
    JSON.stringify([
      entry.role,
      options?.acrossSessions === true ? null : EntryGroups.way(entry),
      EntryGroups.kind(entry)
    ])
  return {
    name: "deduplication",
    lossless: true,
    propose: Effect.fnUntraced(function* ({ agedBefore, entries }) {
      const buckets = new Map<string, Array<MemoryEntry>>()
      for (const unit of EntryGroups.units(entries, agedBefore)) {
        const entry = unit[0]
        if (unit.length > 1 || entry.role === "system" || MemorySummary.isSummary(entry)) continue
        const key = bucketOf(entry)
        const bucket = buckets.get(key)
        if (bucket === undefined) buckets.set(key, [entry])
        else bucket.push(entry)
      }
      const prune: Array<EntryId> = []
      const changed = new Map<EntryId, MemoryEntry>()
      for (const bucket of buckets.values()) {
        if (bucket.length < 2) continue
        const branches = options?.acrossSessions !== true && bucket.some((entry) => EntryGroups.tree(entry) !== null)
        bucket.sort(branches ? earlier : better)
        const doubleOf = WordSets.make(
          bucket.map(({ content }) => content),
          threshold
        )
        for (let index = 0; index < bucket.length; index++) {
          if (index % turn === turn - 1) yield* Effect.yieldNow()
          const kept = bucket[doubleOf(index)]
          const entry = bucket[index] as MemoryEntry
          if (kept === undefined) continue
          prune.push(entry.id)
          const before = changed.get(kept.id) ?? kept
          const after = takingOver(before, entry)
          if (after !== before) changed.set(kept.id, after)
        }
      }
      return { prune, update: Array.from(changed.values()) }
    })
  }
}

/**
 * What nobody needed for long goes: entries of which less than `threshold` remains, exp(-ln 2 · age / half-life). The age counts from when
 * an entry was said or recalled last. With the defaults that is after 130 days.
 *
 * @since 0.1.0
 * @category constructors
 */
export const recencyDecay = (options?: {
  /** 30 days unless set. */
  readonly halfLife?: Duration.DurationInput | undefined
  /** 0.05 unless set. */
  readonly threshold?: number | undefined
  /** Entries at least so important stay, however old. Recency alone decides unless set. */
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
 * What does not matter goes: entries below an importance, unless they were recalled often enough to show that they do.
 *
 * @since 0.1.0
 * @category constructors
 */
export const accessFrequency = (options?: {
  /** 0.1 unless set. */
  readonly importanceThreshold?: number | undefined
  /** Recalls that keep an unimportant entry; 3 unless set. */
  readonly minAccesses?: number | undefined
}): ConsolidationStrategy => {
  const threshold = share(options?.importanceThreshold, 0.1)
  const minAccesses = Count.count(options?.minAccesses, 3, 0)
  return {
    name: "access_frequency",
    propose: pruning((entry) => entry.importance < threshold && (entry.accessCount ?? 0) < minAccesses)
  }
}

/** The importance an entry had before it was weighed anew. */
const BASE = "baseImportance"

const baseOf = (entry: MemoryEntry): number => {
  const base = Object.hasOwn(entry.metadata, BASE) ? entry.metadata[BASE] : undefined
  return typeof base === "number" && base >= 0 && base <= 1 ? base : entry.importance
}

/** Smaller changes are not worth a write. */
const step = 0.01

/**
 * Lets importance fade: what an entry had (kept in its metadata as `baseImportance`) halves in every half-life since it was said or recalled
 * last, and comes back when it is recalled. Removes nothing by itself; put it before `accessFrequency`, which then does.
 *
 * @since 0.1.0
 * @category constructors
 */
export const timeDecay = (options?: {
  /** 168 hours unless set. */
  readonly halfLife?: Duration.DurationInput | undefined
  /** No importance falls below it; 0.01 unless set. */
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
 * The strategies of a consolidator that is told nothing else: `deduplication`, `recencyDecay`, `accessFrequency`.
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
