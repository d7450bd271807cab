/**
 * Runs one consolidation for one owner.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { ConsolidationError, type MemoryError } from "../entry/MemoryError.js"
import * as MemoryMetrics from "../entry/MemoryMetrics.js"
import type { MemoryTelemetry } from "../entry/MemoryTelemetry.js"
import * as MemorySummary from "../episodic/MemorySummary.js"
import type * as MemoryStore from "../search/MemoryStore.js"
import type * as SemanticMemory from "../semantic/SemanticMemory.js"
import * as ConsolidationRound from "./ConsolidationRound.js"
import {
  type Batch,
  type ConsolidationResult,
  type ConsolidationStrategy,
  emptyResult,
  type Removal,
  type Service
} from "./MemoryConsolidator.js"
import * as ReadFacts from "./ReadFacts.js"

export interface Setup {
  readonly store: MemoryStore.Service
  readonly semantic: SemanticMemory.Service
  readonly telemetry: MemoryTelemetry
  readonly strategies: ReadonlyArray<ConsolidationStrategy>
  readonly ageThreshold: number
  readonly batchSize: number
  readonly facts: "aged" | "leaving" | "none"
  readonly window: number
}

const builtIn: ReadonlySet<string> = new Set([
  "deduplication",
  "recency_decay",
  "access_frequency",
  "time_decay",
  "summarize"
])

/** Maximum characters of entries in memory at once. */
const windowCharacters = 8_000_000

/** Maximum ids in one request to the store. */
const asked = 500

/** The earliest valid time. */
const beginning = -8.64e15

/** The share of its entries that a pass must remove to be worthwhile. */
const fair = 1 / 16

/**
 * Maximum number of passes that were not worthwhile. Otherwise duplicates in adverse positions could take one pass
 * each.
 */
const patience = 16

/** How often a round is retried after another writer changed its entries. */
const attempts = 3

type Counts = { -readonly [K in keyof ConsolidationResult]: ConsolidationResult[K] }

interface Context extends Setup {
  readonly ownerId: string
  readonly dryRun: boolean
  readonly now: number
  readonly agedBefore: number
  readonly counts: Counts
  readonly onRemoval: ((removal: Removal) => Effect.Effect<void>) | undefined
  /** Entries of this window whose facts were extracted in this run. */
  readonly read: Set<EntryId>
  /** Summaries of this run. A later page that contains them brings no new entries. */
  readonly made: Set<EntryId>
}

const ingest = (context: Context, entries: ReadonlyArray<MemoryEntry>): Effect.Effect<void, MemoryError> =>
  entries.length === 0
    ? Effect.void
    : Effect.map(context.semantic.ingest(entries), (facts) => {
        context.counts.entitiesExtracted += facts.length
        for (const { id } of entries) context.read.add(id)
      })

const batches = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) => items.slice(index * size, (index + 1) * size))

/** The current state of these entries in the store. */
const current = (
  context: Context,
  entries: ReadonlyArray<MemoryEntry>
): Effect.Effect<Map<EntryId, MemoryEntry>, MemoryError> =>
  Effect.map(
    Effect.forEach(batches(entries, asked), (batch) =>
      context.store.getMany(
        context.ownerId,
        batch.map(({ id }) => id)
      )
    ),
    (found) => new Map(found.flat().map((entry) => [entry.id, entry]))
  )

const saysTheSame = (entry: MemoryEntry, now: MemoryEntry | undefined): now is MemoryEntry =>
  now !== undefined && now.content === entry.content && now.expiresAt === entry.expiresAt

const countsTheSame = (entry: MemoryEntry, now: MemoryEntry | undefined): now is MemoryEntry =>
  saysTheSame(entry, now) &&
  now.importance === entry.importance &&
  now.accessCount === entry.accessCount &&
  now.lastAccessedAt === entry.lastAccessedAt

const isTheSame = (entry: MemoryEntry, now: MemoryEntry | undefined): boolean =>
  countsTheSame(entry, now) && CanonicalJson.stringify(now.metadata) === CanonicalJson.stringify(entry.metadata)

const propose = Effect.fnUntraced(function* (context: Context, entries: ReadonlyArray<MemoryEntry>) {
  const { agedBefore, batchSize, dryRun, now, ownerId } = context
  const round = ConsolidationRound.begin(ownerId, entries)
  for (const strategy of context.strategies) {
    const left = round.entries()
    if (left.length === 0) break
    const batch: Batch = { ownerId, entries: left, now, agedBefore, batchSize, dryRun }
    const refused = round.accept(strategy, yield* strategy.propose(batch))
    if (refused !== undefined) return yield* refused
  }
  return round
})

/** The ids that a summary replaces. */
const idsOf = (entry: MemoryEntry): ReadonlyArray<EntryId> => {
  const ids = MemorySummary.isSummary(entry) ? entry.metadata["compressedIds"] : undefined
  return Array.isArray(ids) ? ids : []
}

/** Marks a summary whose entries were all read: it has no further facts. */
const inheriting = (context: Context, replaced: ReadonlyArray<MemoryEntry>) => {
  const read = new Set(
    replaced.filter((entry) => ReadFacts.isRead(entry) || context.read.has(entry.id)).map(({ id }) => id)
  )
  return (entry: MemoryEntry): MemoryEntry => {
    const ids = idsOf(entry)
    return ids.length > 0 && ids.every((id) => read.has(id)) ? ReadFacts.mark(entry) : entry
  }
}

/** The current state of the entries that a round changes. */
interface Standing {
  readonly found: ReadonlyArray<MemoryEntry>
  /** Summaries that exist already. */
  readonly taken: number
}

/**
 * Applies a round in one step and returns the remaining entries. Does nothing and returns `undefined` if an affected
 * entry has changed in the meantime.
 */
const commit = Effect.fnUntraced(function* (context: Context, round: ConsolidationRound.Round) {
  const { counts, telemetry, ownerId, store } = context
  const { pruned, replaced } = round.leaving()
  const changing = round.changing()
  const change = round.change()
  if (change.delete.length === 0 && change.store.length === 0) return round.entries()
  const added = round.added()
  const touched = [...pruned, ...replaced, ...changing, ...added]
  const known = Effect.flatMap(
    current(context, touched),
    (found): Effect.Effect<Standing | undefined, ConsolidationError> => {
      const isCurrent =
        pruned.every((entry) => countsTheSame(entry, found.get(entry.id))) &&
        replaced.every((entry) => saysTheSame(entry, found.get(entry.id))) &&
        changing.every((entry) => isTheSame(entry, found.get(entry.id)))
      if (!isCurrent) return Effect.succeed(undefined)
      const taken = added.flatMap((summary) => {
        const entry = found.get(summary.id)
        return entry === undefined ? [] : [{ entry, summary }]
      })
      // Entries that were stored again after they were summarized get the same summary.
      return taken.every(({ entry, summary }) => ConsolidationRound.standsFor(entry, idsOf(summary)))
        ? Effect.succeed({ taken: taken.length, found: Array.from(found.values()) })
        : new ConsolidationError({ message: "A summary has the id of an entry that is too young to change" })
    }
  )
  // Strategies and fact extraction take time. Entries that were forgotten meanwhile are neither read nor summarized.
  let there = yield* known
  if (there === undefined) return undefined
  const reading =
    context.facts === "none" ? [] : ReadFacts.unread([...pruned, ...replaced]).filter(({ id }) => !context.read.has(id))
  for (const batch of batches(reading, context.batchSize)) yield* ingest(context, batch)
  if (reading.length > 0) there = yield* known
  if (there === undefined) return undefined

  const inherit = inheriting(context, replaced)
  const done = yield* store.applyIf(ownerId, there.found, {
    delete: change.delete,
    store: change.store.map(inherit)
  })
  if (Option.isNone(done)) return undefined
  counts.entriesPruned += pruned.length
  counts.entriesConsolidated += replaced.length
  counts.summariesStored += added.length - there.taken
  for (const { id } of added) context.made.add(id)
  for (const deed of round.deeds) {
    MemoryMetrics.tidied(
      builtIn.has(deed.strategy) ? deed.strategy : "other",
      deed.pruned.length + deed.replaced.length
    )
    yield* telemetry.consolidated({ ownerId, ...deed })
  }
  yield* telemetry.written({ tier: "episodic", backend: store.name, ownerId, ids: added.map(({ id }) => id) })
  return round.entries().map(inherit)
})

/** Counts what would have been done. */
const pretend = (context: Context, round: ConsolidationRound.Round): void => {
  const { pruned, replaced } = round.leaving()
  context.counts.entriesPruned += pruned.length
  context.counts.entriesConsolidated += replaced.length
  context.counts.summariesStored += round.added().length
}

/** Tells of the entries that left, by the strategies that removed them. */
const tell = ({ onRemoval }: Context, round: ConsolidationRound.Round): Effect.Effect<void> => {
  if (onRemoval === undefined || round.deeds.length === 0) return Effect.void
  const { pruned, replaced } = round.leaving()
  const known = new Map([...pruned, ...replaced].map((entry) => [entry.id, entry]))
  const entriesOf = (ids: ReadonlyArray<EntryId>) => ids.flatMap((id) => known.get(id) ?? [])
  return Effect.forEach(
    round.deeds,
    (deed) =>
      onRemoval({ strategy: deed.strategy, pruned: entriesOf(deed.pruned), replaced: entriesOf(deed.replaced) }),
    { discard: true }
  )
}

/** Extracts facts from the remaining entries, once. */
const readFacts = Effect.fnUntraced(function* (context: Context, entries: ReadonlyArray<MemoryEntry>) {
  for (const batch of batches(ReadFacts.unread(entries), context.batchSize)) {
    const same = (found: Map<EntryId, MemoryEntry>): ReadonlyArray<MemoryEntry> =>
      batch.flatMap((entry) => {
        const now = found.get(entry.id)
        return saysTheSame(entry, now) ? [now] : []
      })
    yield* ingest(context, same(yield* current(context, batch)))
    for (let attempt = 0; attempt < attempts; attempt++) {
      const found = same(yield* current(context, batch))
      if (found.length === 0) break
      if (Option.isSome(yield* context.store.applyIf(context.ownerId, found, { store: found.map(ReadFacts.mark) })))
        break
    }
  }
})

/** Calls the strategies for these entries until none removes anything more. Returns whether anything was removed. */
const settle = Effect.fnUntraced(function* (context: Context, window: ReadonlyArray<MemoryEntry>) {
  let entries = window
  let shrank = false
  let failures = 0
  while (entries.length > 0) {
    const round = yield* propose(context, entries)
    if (context.dryRun) pretend(context, round)
    const left = context.dryRun ? round.entries() : yield* commit(context, round)
    if (left === undefined) {
      failures++
      if (failures === attempts) {
        return yield* new ConsolidationError({
          message: "The entries kept changing while they were consolidated",
          hint: "Consolidate again when the owner is less busy"
        })
      }
      const found = yield* current(context, entries)
      entries = entries.flatMap((entry) => found.get(entry.id) ?? [])
      continue
    }
    yield* tell(context, round)
    entries = left
    if (round.deeds.length === 0) break
    shrank = true
  }
  if (!context.dryRun && context.facts === "aged") yield* readFacts(context, entries)
  return shrank
})

interface Pass {
  /** Another pass could find more. */
  readonly isOpen: boolean
  /** It removed a fair share of what it examined. */
  readonly isFruitful: boolean
}

/** Processes all aged entries, window by window. */
const pass = Effect.fnUntraced(function* (context: Context, isFirst: boolean): Effect.fn.Return<Pass, MemoryError> {
  const { counts } = context
  const gone = () => counts.entriesPruned + counts.entriesConsolidated - counts.summariesStored
  const before = gone()
  let looked = 0
  let window: Array<MemoryEntry> = []
  let characters = 0
  let windows = 0
  let shrank = false
  const flush = Effect.suspend(() => {
    const entries = window
    window = []
    characters = 0
    context.read.clear()
    if (entries.length === 0) return Effect.void
    windows++
    looked += entries.length
    if (isFirst) context.counts.entriesProcessed += entries.length
    return Effect.map(settle(context, entries), (more) => {
      shrank = shrank || more
    })
  })
  const earlier = new Set(context.made)
  const selection = { timeRange: { start: beginning, end: context.agedBefore } }
  yield* Stream.runForEachChunk(context.store.stream(context.ownerId, selection), (chunk) =>
    Effect.forEach(
      chunk,
      (entry) => {
        // A summary that this pass made and that is read again after its entries.
        if (context.made.has(entry.id) && !earlier.has(entry.id)) return Effect.void
        window.push(entry)
        characters += entry.content.length
        return window.length >= context.window || characters >= windowCharacters ? flush : Effect.void
      },
      { discard: true }
    )
  )
  yield* flush
  return { isOpen: shrank && windows > 1, isFruitful: gone() - before >= looked * fair }
})

export const run = (
  setup: Setup,
  { dryRun = false, onRemoval, ownerId }: Parameters<Service["consolidate"]>[0]
): Effect.Effect<ConsolidationResult, MemoryError> =>
  Effect.clockWith((clock) =>
    Effect.gen(function* () {
      const startedAt = clock.unsafeCurrentTimeNanos()
      const now = clock.unsafeCurrentTimeMillis()
      const counts: Counts = { ...emptyResult, dryRun }
      const agedBefore = Math.floor(now - setup.ageThreshold)
      const made = new Set<EntryId>()
      const context: Context = { ...setup, ownerId, dryRun, onRemoval, now, agedBefore, counts, read: new Set(), made }
      let last = yield* pass(context, true)
      for (let left = patience; last.isOpen && !dryRun && left > 0; ) {
        if (!last.isFruitful) left--
        last = yield* pass(context, false)
      }
      return { ...counts, durationMs: Number(clock.unsafeCurrentTimeNanos() - startedAt) / 1e6 }
    })
  )
