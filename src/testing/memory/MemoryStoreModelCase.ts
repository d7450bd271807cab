/**
 * Cases: a store agrees with a simple model after random operations.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { type Condition, type Scalar, type Selection, treeKey } from "../../memory/entry/Selection.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal, sameMembers } from "../suite/SuiteAssert.js"
import {
  type Case,
  entry,
  equalEntries,
  equalEntry,
  found,
  idsOf,
  make,
  query,
  sessionId,
  streamed
} from "./MemoryStoreCase.js"

/** Written from the contract, not from the code under test. */
const scalarFits = (value: unknown, wanted: Scalar): boolean =>
  wanted === null ? (value ?? null) === null : value === wanted

const conditionFits = (value: unknown, condition: Condition): boolean => {
  if (Array.isArray(value) && value.some((one) => !Array.isArray(one) && conditionFits(one, condition))) return true
  if (condition === null || typeof condition !== "object") return scalarFits(value, condition)
  if ("in" in condition) return condition.in.some((wanted) => scalarFits(value, wanted))
  if (typeof value !== "number" && typeof value !== "string") return false
  const { gt, gte, lt, lte } = condition
  const comparable = [gt, gte, lt, lte].every((bound) => bound === undefined || typeof bound === typeof value)
  return (
    comparable &&
    (gt === undefined || value > gt) &&
    (gte === undefined || value >= gte) &&
    (lt === undefined || value < lt) &&
    (lte === undefined || value <= lte)
  )
}

const isOnTheWay = (one: MemoryEntry, lineage: NonNullable<Selection["lineage"]>, tree: Selection["tree"]): boolean => {
  const begins = one.metadata["timeRange"] as { readonly start: number } | undefined
  const stretches = lineage.filter((ancestor) => ancestor.sessionId === one.sessionId)
  const isRestricted =
    tree === undefined
      ? one.sessionId !== undefined
      : stretches.length > 0 || one.sessionId === tree || conditionFits(one.metadata[treeKey], tree)
  return (
    !isRestricted ||
    stretches.some(
      ({ from, until }) =>
        (from === undefined || Math.min(begins?.start ?? one.timestamp, one.timestamp) >= from) &&
        (until === undefined || one.timestamp <= until)
    )
  )
}

const fits = (one: MemoryEntry, selection: Selection): boolean => {
  const { filters, lineage, roles, sessionIds, timeRange, tree } = selection
  if (roles !== undefined && !roles.includes(one.role)) return false
  if (timeRange !== undefined && (one.timestamp < timeRange.start || one.timestamp > timeRange.end)) return false
  if (sessionIds !== undefined && (one.sessionId === undefined || !sessionIds.includes(one.sessionId))) return false
  if (lineage !== undefined && !isOnTheWay(one, lineage, tree)) return false
  return Object.entries(filters ?? {}).every(([key, condition]) => conditionFits(one.metadata[key], condition))
}

type Operation =
  | { readonly do: "store"; readonly entry: MemoryEntry }
  | { readonly do: "storeMany"; readonly entries: ReadonlyArray<MemoryEntry> }
  | { readonly do: "apply"; readonly remove: ReadonlyArray<string>; readonly entries: ReadonlyArray<MemoryEntry> }
  | { readonly do: "delete"; readonly ownerId: string; readonly id: string }
  | { readonly do: "clear"; readonly ownerId: string }
  | { readonly do: "access"; readonly ownerId: string; readonly ids: ReadonlyArray<string> }
  | { readonly do: "wait"; readonly millis: number }
  | { readonly do: "read"; readonly ownerId: string; readonly n: number; readonly selection: Selection }

/** Steps of time in a scenario; entries live from before it until after it. */
const span = 50

const id = FastCheck.constantFrom("a", "b", "c", "d", "e", "f", "a:b", "__proto__")
const owner = FastCheck.constantFrom("one", "two")
const scalar = FastCheck.constantFrom<Scalar>(null, true, false, 0, 1, 2, "", "1", "x")
const value = FastCheck.oneof(scalar, FastCheck.array(scalar, { maxLength: 3 }))
const key = FastCheck.constantFrom("k", "a.b", "type")
const role = FastCheck.constantFrom("system", "user", "assistant", "tool")
const session = FastCheck.constantFrom("s1", "s2")
const instant = FastCheck.integer({ min: 0, max: span })

const metadata = FastCheck.tuple(
  FastCheck.dictionary(key, value, { maxKeys: 3 }),
  FastCheck.record(
    { [treeKey]: FastCheck.oneof(session, FastCheck.array(session, { maxLength: 2 })), begins: instant },
    { requiredKeys: [] }
  )
).map(([metadata, { begins, ...tree }]): MemoryEntry["metadata"] => ({
  ...metadata,
  ...tree,
  ...(begins === undefined ? undefined : { timeRange: { start: begins } })
}))

const entries = FastCheck.record(
  {
    id,
    ownerId: owner,
    content: FastCheck.constantFrom("", "zebra", "zebra lion", "giraffe"),
    role,
    timestamp: instant,
    importance: FastCheck.constantFrom(0, 0.5, 1),
    metadata,
    sessionId: session,
    expiresAt: instant
  },
  { requiredKeys: ["id", "ownerId", "content", "role", "timestamp", "importance", "metadata"] }
)

const bound = FastCheck.constantFrom<string | number>(0, 1, 2, "", "1", "x")

const condition: FastCheck.Arbitrary<Condition> = FastCheck.oneof(
  scalar,
  FastCheck.record({ in: FastCheck.array(scalar, { maxLength: 3 }) }),
  FastCheck.record({ gt: bound, gte: bound, lt: bound, lte: bound }, { requiredKeys: [] })
)

const filters = FastCheck.dictionary(key, condition, { minKeys: 1, maxKeys: 2 })
const timeRange = FastCheck.record({ start: instant, end: instant })
const roles = FastCheck.array(role, { maxLength: 3 })
const sessionIds = FastCheck.array(session, { maxLength: 2 })
const lineage = FastCheck.array(
  FastCheck.record({ sessionId: session, from: instant, until: instant }, { requiredKeys: ["sessionId"] }),
  { maxLength: 3 }
)

/** Mostly single restrictions, because all of them together select nothing. */
const selection = FastCheck.oneof(
  FastCheck.record({ filters }),
  FastCheck.record({ timeRange }),
  FastCheck.record({ roles }),
  FastCheck.record({ sessionIds }),
  FastCheck.record({ lineage }),
  FastCheck.record({ lineage, tree: session }),
  FastCheck.record({ filters, timeRange, roles, sessionIds, lineage, tree: session }, { requiredKeys: [] })
)

/** Times are steps from the beginning of the scenario; owners are prefixed by its name. */
const operation = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.record({ do: FastCheck.constant("store"), entry: entries }) },
  {
    weight: 3,
    arbitrary: FastCheck.record({
      do: FastCheck.constant("storeMany"),
      entries: FastCheck.array(entries, { maxLength: 8, size: "max" })
    })
  },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      do: FastCheck.constant("apply"),
      remove: FastCheck.uniqueArray(id, { maxLength: 3 }),
      entries: FastCheck.array(entries, { maxLength: 3 })
    })
  },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("delete"), ownerId: owner, id }) },
  { weight: 1, arbitrary: FastCheck.record({ do: FastCheck.constant("clear"), ownerId: owner }) },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      do: FastCheck.constant("access"),
      ownerId: owner,
      ids: FastCheck.uniqueArray(id, { maxLength: 4 })
    })
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({ do: FastCheck.constant("wait"), millis: FastCheck.integer({ min: 1, max: 10 }) })
  },
  {
    weight: 6,
    arbitrary: FastCheck.record({
      do: FastCheck.constant("read"),
      ownerId: owner,
      n: FastCheck.integer({ min: 0, max: 6 }),
      selection
    })
  }
) as FastCheck.Arbitrary<Operation>

const byPosition = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

/** Entries by owner and id in plain maps. */
class Model {
  private readonly owners = new Map<string, Map<string, MemoryEntry>>()

  private of(ownerId: string, now: number): Map<string, MemoryEntry> {
    const own = this.owners.get(ownerId) ?? new Map<string, MemoryEntry>()
    this.owners.set(ownerId, own)
    for (const one of own.values()) if (one.expiresAt !== undefined && one.expiresAt <= now) own.delete(one.id)
    return own
  }

  store(one: MemoryEntry, now: number): void {
    const own = this.of(one.ownerId, now)
    const previous = own.get(one.id)
    own.set(one.id, {
      ...one,
      accessCount: previous?.accessCount ?? one.accessCount,
      lastAccessedAt: previous?.lastAccessedAt ?? one.lastAccessedAt
    })
  }

  remove(ownerId: string, id: string, now: number): boolean {
    return this.of(ownerId, now).delete(id)
  }

  clear(ownerId: string, now: number): number {
    const { size } = this.of(ownerId, now)
    this.owners.delete(ownerId)
    return size
  }

  access(ownerId: string, id: string, now: number): void {
    const own = this.of(ownerId, now)
    const one = own.get(id)
    if (one !== undefined) own.set(id, { ...one, accessCount: (one.accessCount ?? 0) + 1, lastAccessedAt: now })
  }

  /** Oldest first. */
  all(ownerId: string, now: number): ReadonlyArray<MemoryEntry> {
    return [...this.of(ownerId, now).values()].sort(byPosition)
  }
}

/** In one call, the last of several entries with one id wins. */
const lastOfEach = (entries: ReadonlyArray<MemoryEntry>): Iterable<MemoryEntry> =>
  new Map(entries.map((one) => [JSON.stringify([one.ownerId, one.id]), one])).values()

/** Moves the entries and selections of operations to the names and the time of one scenario. */
const makePlacement = (name: string, begin: number) => {
  const named = (ownerId: string) => `${name} ${ownerId}`
  const placed = (one: MemoryEntry, ownerId = one.ownerId): MemoryEntry => {
    const range = one.metadata["timeRange"] as { readonly start: number } | undefined
    return entry(one.id, {
      ...one,
      ...(range === undefined
        ? undefined
        : { metadata: { ...one.metadata, timeRange: { start: begin + range.start } } }),
      ownerId: named(ownerId),
      timestamp: begin + one.timestamp,
      ...(one.expiresAt === undefined ? undefined : { expiresAt: begin + one.expiresAt })
    })
  }
  const placedIn = (given: Selection): Selection => ({
    ...given,
    ...(given.timeRange === undefined
      ? undefined
      : { timeRange: { start: begin + given.timeRange.start, end: begin + given.timeRange.end } }),
    ...(given.lineage === undefined
      ? undefined
      : {
          lineage: given.lineage.map(({ from, sessionId: inSession, until }) => ({
            sessionId: sessionId(inSession),
            ...(from === undefined ? undefined : { from: begin + from }),
            ...(until === undefined ? undefined : { until: begin + until })
          }))
        })
  })
  return { named, placed, placedIn }
}

/** A store, and the model that it must agree with. */
interface Subject {
  readonly store: MemoryStore.Service
  readonly model: Model
  readonly placement: ReturnType<typeof makePlacement>
}

const perform = Effect.fnUntraced(function* (
  { model, placement: { named, placed, placedIn }, store }: Subject,
  one: Operation,
  what: string
) {
  const now = yield* TestClock.currentTimeMillis
  switch (one.do) {
    case "store": {
      yield* store.store(placed(one.entry))
      model.store(placed(one.entry), now)
      break
    }
    case "storeMany": {
      const many = one.entries.map((each) => placed(each))
      yield* store.storeMany(many)
      for (const each of lastOfEach(many)) model.store(each, now)
      break
    }
    case "apply": {
      const many = one.entries.map((each) => placed(each, "one"))
      const removed = yield* store.apply(named("one"), {
        delete: one.remove.map((each) => EntryId.make(each)),
        store: many
      })
      equal(removed, one.remove.filter((each) => model.remove(named("one"), each, now)).length, `${what}: deletions`)
      for (const each of lastOfEach(many)) model.store(each, now)
      break
    }
    case "delete": {
      const existed = yield* store.delete(named(one.ownerId), EntryId.make(one.id))
      equal(existed, model.remove(named(one.ownerId), one.id, now), what)
      break
    }
    case "clear": {
      equal(yield* store.clear(named(one.ownerId)), model.clear(named(one.ownerId), now), what)
      break
    }
    case "access": {
      yield* store.recordAccess(
        named(one.ownerId),
        one.ids.map((each) => EntryId.make(each))
      )
      for (const each of one.ids) model.access(named(one.ownerId), each, now)
      break
    }
    case "wait": {
      yield* TestClock.adjust(one.millis)
      break
    }
    case "read": {
      const ownerId = named(one.ownerId)
      const selection = placedIn(one.selection)
      const expected = model.all(ownerId, now).filter((each) => fits(each, selection))
      equalEntries(yield* streamed(store, ownerId, selection), expected, `${what}: stream`)
      equal(yield* store.count(ownerId, selection), expected.length, `${what}: count`)
      const newest = [...expected].reverse().slice(0, one.n)
      equalEntries(yield* store.getRecent({ ownerId, n: one.n, selection }), newest, `${what}: getRecent`)
      const results = yield* store.retrieve(query("", { ...selection, ownerId }))
      sameMembers(found(results), idsOf(expected), `${what}: retrieve`)
      break
    }
  }
})

const agreeAtEnd = Effect.fnUntraced(function* ({ model, placement: { named }, store }: Subject) {
  const now = yield* TestClock.currentTimeMillis
  for (const ownerId of [named("one"), named("two")]) {
    const expected = model.all(ownerId, now)
    equalEntries(yield* streamed(store, ownerId), expected, `entries of ${ownerId} at the end`)
    const zebras = expected.filter((one) => one.content.includes("zebra"))
    const results = yield* store.retrieve(query("zebra", { ownerId, minRelevance: 1e-6 }))
    sameMembers(found(results), idsOf(zebras), `results of ${ownerId} at the end`)
    for (const one of expected) {
      equalEntry(Option.getOrUndefined(yield* store.get(ownerId, one.id)), one, `the entry ${one.id} at the end`)
    }
  }
})

const scenario = Effect.fnUntraced(function* (
  store: MemoryStore.Service,
  name: string,
  operations: ReadonlyArray<Operation>
) {
  const placement = makePlacement(name, yield* TestClock.currentTimeMillis)
  const subject: Subject = { store, model: new Model(), placement }
  for (const [at, one] of operations.entries()) yield* perform(subject, one, `operation ${at} (${one.do})`)
  yield* agreeAtEnd(subject)
})

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("agrees with a simple model after any sequence of operations", function* (store) {
    const runtime = yield* Effect.runtime<never>()
    const seed = yield* Random.nextIntBetween(0, 2 ** 31 - 1)
    let scenarios = 0
    // A failure names the seed and the shortest failing sequence of operations.
    yield* Effect.promise((signal) =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(operation, { minLength: 10, maxLength: 40, size: "max" }),
          (operations) =>
            Runtime.runPromise(runtime)(scenario(store, `scenario ${scenarios++}`, operations), { signal })
        ),
        { seed, numRuns: 12 }
      )
    )
  })
]
