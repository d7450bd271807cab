/**
 * Restricts fact queries to the lineage of a session branch.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SessionId } from "../../domain/Ids.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import * as Selection from "../entry/Selection.js"
import type { Fact, FactId, Origin } from "./Fact.js"
import type { FactBackend, FactRow } from "./FactBackend.js"
import type { Lineage } from "./FactStore.js"
import * as FactTimeline from "./FactTimeline.js"

/** Maximum number of rows examined for one subject and predicate, and of such examinations. */
const maxSlot = 256
const maxSlots = 32

/** Maximum length of a chain of facts that replaced each other. */
const maxClosers = 64

/** Maximum number of separate origins of one fact. Above it, the origins of a session are joined. */
const maxOrigins = 8

const isId = Schema.is(SessionId)

/**
 * @category constructors
 */
export const unreadable = (name: string): StorageError =>
  new StorageError({ message: `The store "${name}" holds a fact that it cannot have written` })

/**
 * @category conversions
 */
export const recordOf = (name: string, row: FactRow): Effect.Effect<FactTimeline.FactRecord, StorageError> => {
  const record = FactTimeline.fromRow(row)
  return record === undefined ? Effect.fail(unreadable(name)) : Effect.succeed(record)
}

/**
 * The origins of entries, as far as they restrict which branches know a fact.
 *
 * @category getters
 */
export const originsOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<Origin> => {
  const origins: Array<Origin> = []
  for (const entry of entries) {
    const tree = EntryGroups.tree(entry)
    // An invalid id names no tree.
    const named = isId(tree) ? { tree } : {}
    if (entry.sessionId === undefined && !("tree" in named)) continue
    origins.push({
      ...(entry.sessionId === undefined ? {} : { sessionId: entry.sessionId }),
      ...named,
      from: Selection.beginning(entry),
      until: entry.timestamp
    })
  }
  if (origins.length <= maxOrigins) return origins
  const joined = EntryGroups.groupBy(origins, ({ sessionId, tree }) => JSON.stringify([sessionId, tree]))
  return Array.from(joined.values(), (group) => ({
    ...group[0],
    from: Math.min(...group.map(({ from }) => from)),
    until: Math.max(...group.map(({ until }) => until))
  }))
}

type IsSaid = (mention: FactTimeline.Mention) => boolean

const saidOn = ({ lineage, tree }: Lineage): IsSaid => {
  const selects = Selection.predicate({ lineage, tree }) ?? (() => true)
  const isOn = ({ from, sessionId, tree, until }: Origin): boolean =>
    selects({
      role: "user",
      timestamp: until,
      metadata: { timeRange: { start: from }, ...(tree === undefined ? {} : { [Selection.treeKey]: tree }) },
      sessionId
    })
  return ({ origins }) => origins === undefined || origins.some((together) => together.every(isOn))
}

/** The part of a record that was stated on the lineage by then. */
const partOf = (record: FactTimeline.FactRecord, isSaid: IsSaid, at: number): FactTimeline.FactRecord | undefined => {
  const [first, ...rest] = FactTimeline.affirming(record.mentions).filter(isSaid)
  return first === undefined || first.at > at ? undefined : { ...record, mentions: [first, ...rest] }
}

const isSure = (fact: Fact, { minConfidence = 0 }: Lineage): boolean => fact.confidence >= minConfidence

/**
 * Implements `FactStore.onLineage`.
 *
 * @category accessors
 */
export const knownFacts = Effect.fnUntraced(function* (
  backend: FactBackend,
  ownerId: string,
  facts: ReadonlyArray<Fact>,
  way: Lineage & { readonly at: number }
): Effect.fn.Return<ReadonlyArray<Fact>, MemoryStoreFailure> {
  const { at } = way
  const isSaid = saidOn(way)
  const records = new Map<FactId, FactTimeline.FactRecord>()
  const read = Effect.fnUntraced(function* (rows: ReadonlyArray<FactRow>) {
    for (const row of rows) if (!records.has(row.id)) records.set(row.id, yield* recordOf(backend.name, row))
  })
  const load = Effect.fnUntraced(function* (ids: ReadonlyArray<FactId>) {
    const missing = ids.filter((id) => !records.has(id))
    if (missing.length > 0) yield* read(yield* backend.get(ownerId, missing))
  })

  /**
   * A closing fact that was not stated on the lineage closes nothing. The fact that closed it may have closed this one.
   */
  const endOf = Effect.fnUntraced(function* (
    record: FactTimeline.FactRecord
  ): Effect.fn.Return<Pick<FactTimeline.FactRecord, "validTo" | "closedBy">, MemoryStoreFailure> {
    const given = { validTo: record.validTo, closedBy: record.closedBy }
    let { closedBy, validTo } = given
    for (let step = 0; closedBy !== undefined && step < maxClosers; step++) {
      yield* load([closedBy])
      const closer = records.get(closedBy)
      if (closer === undefined) return given
      const since = validTo ?? Number.NEGATIVE_INFINITY
      const mention = closer.mentions.find((one) => one.replaces && one.at >= since && isSaid(one))
      if (mention !== undefined) return { validTo: mention.at, closedBy: closer.row.id }
      if (closer.closedBy === undefined) return { validTo: undefined, closedBy: undefined }
      closedBy = closer.closedBy
      validTo = closer.validTo
    }
    return given
  })
  const factOf = Effect.fnUntraced(function* (record: FactTimeline.FactRecord) {
    const part = partOf(record, isSaid, at)
    return part === undefined ? undefined : FactTimeline.toFact({ ...part, ...(yield* endOf(record)) })
  })

  yield* load(facts.map(({ id }) => id))
  const found = new Map<FactId, Fact>()
  const slots = new Set<string>()
  for (const { id } of facts) {
    const record = records.get(id)
    if (record === undefined || found.has(id)) continue
    const fact = yield* factOf(record)
    if (fact !== undefined) {
      if (isSure(fact, way)) found.set(id, fact)
      continue
    }
    const { predicateKey, subjectKey } = record.row
    const slot = `${subjectKey}\n${predicateKey}`
    if (slots.has(slot) || slots.size >= maxSlots || !record.mentions.some(({ replaces }) => replaces)) continue
    slots.add(slot)
    const selection = { subjects: [subjectKey], predicateKey, minConfidence: 0, at, includeClosed: true }
    const rows = yield* backend.find(ownerId, { selection, limit: maxSlot })
    yield* read(rows)
    for (const row of rows) {
      const earlier = records.get(row.id)
      if (earlier === undefined || row.validTo === undefined || row.validTo > at || found.has(row.id)) continue
      const before = yield* factOf(earlier)
      if (before !== undefined && isSure(before, way) && (before.validTo === undefined || before.validTo > at)) {
        found.set(row.id, before)
      }
    }
  }
  return [...found.values()]
})
