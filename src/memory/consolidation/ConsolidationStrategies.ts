/**
 * What goes when memory is consolidated: doubles, what has faded, what never mattered; and what is put in the place of
 * much that is old.
 *
 * No strategy here touches entries of the role `system`. Calls of tools and their results (`ToolPairs`) go together or
 * not at all.
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

const field = (entry: MemoryEntry, key: string): unknown =>
  Object.hasOwn(entry.metadata, key) ? entry.metadata[key] : undefined

/** When the first of its doubles was said: kept in the metadata, for an entry does not move in time. */
const FIRST_SAID = "firstSaidAt"

const firstSaid = (entry: MemoryEntry): number => {
  const first = field(entry, FIRST_SAID)
  return typeof first === "number" ? Math.min(first, entry.timestamp) : entry.timestamp
}

/** Values of one list at most. */
const maxJoined = 64

/** The lists of both (entities, links), each value once; all else is of the one that stays. */
const joinedLists = (entry: MemoryEntry, double: MemoryEntry): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(double.metadata).flatMap(([key, theirs]) => {
    const own = field(entry, key)
    if (!Array.isArray(theirs) || !(own === undefined || Array.isArray(own))) return []
    const all = [...new Set<unknown>([...(own ?? []), ...theirs])].slice(0, maxJoined)
    return all.length === (own?.length ?? 0) ? [] : [[key, all] as const]
  })

/** What stays is worth what its double was: nothing that would have outlived another strategy goes by way of it. */
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

/** Texts between two yields. */
const turn = 512

/**
 * Of entries that say the same the newest one stays. It takes over the highest importance and number of recalls of its
 * doubles, what their lists of metadata name (`entities`), how long they last, and when the first was said
 * (`metadata.firstSaidAt`). Doubles differ in white space, in marks that part sentences, in case, or in words said
 * twice in a row, and in nothing else: what differs in a figure, a sign, a name, a denial or in any other word may be a
 * correction, and stays.
 *
 * Entries of different roles, sessions or kinds (`metadata.type`) are no doubles: a session would lose what another one
 * keeps. Nor is what a session said before and since it was taken back to an earlier turn. Of a session that may have
 * branches only what was said again at once is a double, and the first of it stays, for branches have what was said
 * before them. Neither are summaries, nor calls of tools and their results.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deduplication = (options?: {
  /**
   * Compares entries of different sessions, too. What goes is then missing where a branch recalls its own sessions.
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
      /** By what it says and where: the one that stays so far. */
      const staying = new Map<string, MemoryEntry>()
      const changed = new Map<EntryId, MemoryEntry>()
      /** By way: what was said last. */
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
 * What nobody needed for long goes: entries of which less than `threshold` remains, exp(-ln 2 · age / half-life). The
 * age counts from when an entry was said or recalled last. With the defaults that is after 130 days.
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
 * Lets importance fade: what an entry had (kept in its metadata as `baseImportance`) halves in every half-life since it
 * was said or recalled last, and comes back when it is recalled. Removes nothing by itself; put it before
 * `accessFrequency`, which then does.
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
