/**
 * A fact backend in this process.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { MemoryCapacityError } from "../entry/MemoryError.js"
import * as LexicalIndex from "../text/LexicalIndex.js"
import * as TextAnalyzer from "../text/TextAnalyzer.js"
import type { FactId } from "./Fact.js"
import {
  byPosition,
  type FactBackend,
  type FactChange,
  type FactPosition,
  type FactRow,
  predicate,
  type RowSelection,
  sourcesOf
} from "./FactBackend.js"

/**
 * @category models
 */
export interface Options {
  /** Maximum facts of all owners, closed ones included. Exceeding it is a `MemoryCapacityError`. Default 100,000. */
  readonly capacity?: number | undefined
  /** Turns facts and queries into terms. Default `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

const maxQueryTerms = 64

interface Indexed extends LexicalIndex.Indexed {
  readonly row: FactRow
  readonly sources: ReadonlyArray<string>
}

interface Subject {
  readonly rows: Map<FactId, FactRow>
  open: number
}

/** The index of a key in a sorted list, or where it would be inserted. */
const placeOf = (keys: ReadonlyArray<string>, key: string): number => {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

const insertKey = (keys: Array<string>, key: string): void => void keys.splice(placeOf(keys, key), 0, key)

const removeKey = (keys: Array<string>, key: string): void => {
  const place = placeOf(keys, key)
  if (keys[place] === key) keys.splice(place, 1)
}

const addTo = <K, V>(map: Map<K, Set<V>>, key: K, value: V): void => {
  const values = map.get(key)
  if (values === undefined) map.set(key, new Set([value]))
  else values.add(value)
}

const removeFrom = <K, V>(map: Map<K, Set<V>>, key: K, value: V): void => {
  const values = map.get(key)
  if (values?.delete(value) && values.size === 0) map.delete(key)
}

const wordsOf = (row: FactRow): ReadonlySet<string> =>
  new Set(`${row.subjectWords}${row.objectWords}`.split(" ").filter((word) => word !== ""))

const slotOf = (row: { readonly subjectKey: string; readonly predicateKey: string }): string =>
  `${row.subjectKey}\n${row.predicateKey}`

const isOpen = (row: FactRow): boolean => row.validTo === undefined
const isClosed = (row: FactRow): boolean => row.validTo !== undefined

/** The row that ended last comes first. */
const byEnd = (a: FactRow, b: FactRow): number => (b.validTo ?? 0) - (a.validTo ?? 0) || byPosition(a, b)

/** The last rows in an order. Usually there is one, which a scan finds. */
const lastOf = (
  rows: Iterable<FactRow>,
  wanted: (row: FactRow) => boolean,
  count: number,
  order: (a: FactRow, b: FactRow) => number
): ReadonlyArray<FactRow> => {
  if (count > 1) return Array.from(rows).filter(wanted).sort(order).slice(-count)
  let last: FactRow | undefined
  for (const row of rows) if (wanted(row) && (last === undefined || order(row, last) > 0)) last = row
  return last === undefined ? [] : [last]
}

/** The rows of one owner and their indexes. */
class Owned {
  readonly rows = new Map<FactId, Indexed>()
  readonly subjects = new Map<string, Subject>()
  readonly subjectKeys: Array<string> = []
  readonly #slots = new Map<string, Set<FactId>>()
  readonly #words = new Map<string, Set<FactId>>()
  readonly #sources = new Map<string, Set<FactId>>()
  readonly #index: LexicalIndex.LexicalIndex<Indexed>
  readonly #analyzer: TextAnalyzer.TextAnalyzer
  revision = 0

  constructor(analyzer: TextAnalyzer.TextAnalyzer, room: LexicalIndex.Scratch) {
    this.#analyzer = analyzer
    this.#index = new LexicalIndex.LexicalIndex(room, (one, other) => byPosition(one.row, other.row))
  }

  remove(id: FactId): boolean {
    const found = this.rows.get(id)
    if (found === undefined) return false
    const { row } = found
    this.rows.delete(id)
    this.#index.remove(found)
    const subject = this.subjects.get(row.subjectKey)
    if (subject !== undefined) {
      subject.rows.delete(id)
      if (isOpen(row)) subject.open--
      if (subject.rows.size === 0) {
        this.subjects.delete(row.subjectKey)
        removeKey(this.subjectKeys, row.subjectKey)
      }
    }
    removeFrom(this.#slots, slotOf(row), id)
    for (const word of wordsOf(row)) removeFrom(this.#words, word, id)
    for (const source of found.sources) removeFrom(this.#sources, source, id)
    return true
  }

  put(row: FactRow): void {
    this.remove(row.id)
    const indexed = { row, slot: -1, sources: sourcesOf(row) }
    this.rows.set(row.id, indexed)
    this.#index.add(indexed, this.#analyzer.analyze(row.text))
    let subject = this.subjects.get(row.subjectKey)
    if (subject === undefined) {
      subject = { rows: new Map(), open: 0 }
      this.subjects.set(row.subjectKey, subject)
      insertKey(this.subjectKeys, row.subjectKey)
    }
    subject.rows.set(row.id, row)
    if (isOpen(row)) subject.open++
    addTo(this.#slots, slotOf(row), row.id)
    for (const word of wordsOf(row)) addTo(this.#words, word, row.id)
    for (const source of indexed.sources) addTo(this.#sources, source, row.id)
  }

  trim(subjectKey: string, maxOpen: number, maxClosed: number): ReadonlyArray<FactId> {
    const subject = this.subjects.get(subjectKey)
    if (subject === undefined) return []
    const { open, rows } = subject
    const closed = rows.size - open
    const surplus: Array<FactRow> = []
    if (open > maxOpen) surplus.push(...lastOf(rows.values(), isOpen, open - maxOpen, byPosition))
    if (closed > maxClosed) surplus.push(...lastOf(rows.values(), isClosed, closed - maxClosed, byEnd))
    for (const row of surplus) this.remove(row.id)
    return surplus.map(({ id }) => id)
  }

  slot(subjectKey: string, predicateKey: string): ReadonlyArray<FactRow> {
    return this.#rowsOf(this.#slots.get(slotOf({ subjectKey, predicateKey })))
  }

  readFrom(sources: ReadonlyArray<string>): ReadonlyArray<FactRow> {
    return this.#rowsOf(new Set(sources.flatMap((source) => [...(this.#sources.get(source) ?? [])])))
  }

  /** A superset of the selected rows. */
  candidates(selection: RowSelection): Iterable<FactRow> {
    const { predicateKey, subjectPrefix, subjects, words } = selection
    if (subjects !== undefined) {
      return predicateKey === undefined
        ? this.#ofSubjects(new Set(subjects))
        : [...new Set(subjects)].flatMap((key) => this.slot(key, predicateKey))
    }
    if (words !== undefined) return this.#rowsOf(this.#rarest(words))
    if (subjectPrefix !== undefined && subjectPrefix !== "") return this.#ofSubjects(this.#beginning(subjectPrefix))
    return this.#ofSubjects(this.subjectKeys)
  }

  lexical(text: string, selection: RowSelection, limit: number) {
    const selected = predicate(selection)
    const terms = [...new Set(TextAnalyzer.queryTerms(this.#analyzer, text))].slice(0, maxQueryTerms)
    return this.#index.search(terms, limit, ({ row }) => selected(row)).hits
  }

  #rowsOf(ids: Iterable<FactId> | undefined): ReadonlyArray<FactRow> {
    const rows: Array<FactRow> = []
    for (const id of ids ?? []) rows.push(this.rows.get(id)!.row)
    return rows
  }

  *#ofSubjects(keys: Iterable<string>): Iterable<FactRow> {
    for (const key of keys) yield* this.subjects.get(key)?.rows.values() ?? []
  }

  *#beginning(prefix: string): Iterable<string> {
    for (let place = placeOf(this.subjectKeys, prefix); place < this.subjectKeys.length; place++) {
      const key = this.subjectKeys[place]!
      if (!key.startsWith(prefix)) return
      yield key
    }
  }

  #rarest(words: string): ReadonlySet<FactId> {
    let rarest: ReadonlySet<FactId> | undefined
    for (const word of words.split(" ")) {
      if (word === "") continue
      const ids = this.#words.get(word)
      if (ids === undefined) return new Set()
      if (rarest === undefined || ids.size < rarest.size) rarest = ids
    }
    return rarest ?? new Set()
  }
}

/** Implements `FactBackend.near`. */
const nearIn = (rows: ReadonlyArray<FactRow>, objectKey: string, at: number): ReadonlyArray<FactRow> => {
  const found: Array<FactRow> = []
  let same: FactRow | undefined
  let other: FactRow | undefined
  for (const row of rows) {
    if (row.validFrom <= at && (row.validTo === undefined || row.validTo >= at)) {
      found.push(row)
    } else if (row.objectKey === objectKey) {
      if (row.validFrom > at && (same === undefined || row.validFrom < same.validFrom)) same = row
    } else if (
      row.replacesFrom !== undefined &&
      row.replacesFrom > at &&
      (other?.replacesFrom === undefined || row.replacesFrom < other.replacesFrom)
    ) {
      other = row
    }
  }
  if (same !== undefined) found.push(same)
  if (other !== undefined) found.push(other)
  return found
}

const page = (rows: Iterable<FactRow>, selection: RowSelection, limit: number, after: FactPosition | undefined) => {
  const selected = predicate(selection)
  const found: Array<FactRow> = []
  for (const row of rows) if (selected(row) && (after === undefined || byPosition(row, after) > 0)) found.push(row)
  return found.sort(byPosition).slice(0, limit)
}

/**
 * A fact backend in this process.
 *
 * @category constructors
 */
export const make = (options?: Options | undefined): FactBackend => {
  const analyzer = options?.analyzer ?? TextAnalyzer.english
  const capacity = options?.capacity ?? 100_000
  const owners = new Map<string, Owned>()
  const room = LexicalIndex.scratch()
  const names: Array<string> = []
  let size = 0
  // One counter for all owners: an owner that returns after being cleared must not see an earlier revision.
  let revisions = 0

  const drop = (ownerId: string): void => {
    owners.delete(ownerId)
    removeKey(names, ownerId)
  }

  const apply = (ownerId: string, revision: number, change: FactChange) => {
    const known = owners.get(ownerId)
    if ((known?.revision ?? 0) !== revision) return Effect.succeedNone
    const owned = known ?? new Owned(analyzer, room)
    const removed = new Set((change.delete ?? []).filter((id) => owned.rows.has(id)))
    const added = (change.put ?? []).filter(({ id }) => !owned.rows.has(id) || removed.has(id)).length
    if (added > removed.size && size + added - removed.size > capacity) {
      return Effect.fail(
        new MemoryCapacityError({
          message: `The fact store is full: it holds at most ${capacity} facts`,
          hint: "Clear owners that are gone, raise the capacity, or store facts in a database",
          capacity
        })
      )
    }
    const before = owned.rows.size
    for (const id of removed) owned.remove(id)
    for (const row of change.put ?? []) owned.put(row)
    const trimmed = (change.trim ?? []).flatMap((key) => owned.trim(key, change.maxOpen, change.maxClosed))
    size += owned.rows.size - before
    owned.revision = ++revisions
    if (owned.rows.size === 0) drop(ownerId)
    else if (known === undefined) {
      owners.set(ownerId, owned)
      insertKey(names, ownerId)
    }
    return Effect.succeedSome(trimmed)
  }

  return {
    name: "in_memory",
    revision: (ownerId) => Effect.sync(() => owners.get(ownerId)?.revision ?? 0),
    apply: (ownerId, revision, change) => Effect.suspend(() => apply(ownerId, revision, change)),
    get: (ownerId, ids) =>
      Effect.sync(() => {
        const rows = owners.get(ownerId)?.rows
        return ids.flatMap((id) => rows?.get(id)?.row ?? [])
      }),
    near: (ownerId, { at, objectKey, predicateKey, subjectKey }) =>
      Effect.sync(() => nearIn(owners.get(ownerId)?.slot(subjectKey, predicateKey) ?? [], objectKey, at)),
    find: (ownerId, { after, limit, selection, sources }) =>
      Effect.sync(() => {
        const owned = owners.get(ownerId)
        const rows = sources === undefined ? owned?.candidates(selection) : owned?.readFrom(sources)
        return page(rows ?? [], selection, limit, after)
      }),
    lexical: (ownerId, { limit, selection, text }) =>
      Effect.sync(
        () =>
          owners
            .get(ownerId)
            ?.lexical(text, selection, limit)
            .map(({ item, score }) => ({ row: item.row, score })) ?? []
      ),
    count: (ownerId, selection) =>
      Effect.sync(() => {
        const selected = predicate(selection)
        let count = 0
        for (const row of owners.get(ownerId)?.candidates(selection) ?? []) if (selected(row)) count++
        return count
      }),
    subjects: (ownerId, { after, limit }) =>
      Effect.sync(() => {
        const owned = owners.get(ownerId)
        if (owned === undefined) return []
        let from = after === undefined ? 0 : placeOf(owned.subjectKeys, after)
        if (after !== undefined && owned.subjectKeys[from] === after) from++
        return owned.subjectKeys.slice(from, from + limit).map((subjectKey) => {
          const { open, rows } = owned.subjects.get(subjectKey)!
          let subject: string | undefined
          for (const row of rows.values()) if (subject === undefined || row.subject < subject) subject = row.subject
          return { subjectKey, subject: subject ?? subjectKey, open, closed: rows.size - open }
        })
      }),
    known: (ownerId, keys) =>
      Effect.sync(() => {
        const subjects = owners.get(ownerId)?.subjects
        return keys.filter((key) => subjects?.has(key) === true)
      }),
    owners: ({ after, limit }) =>
      Effect.sync(() => {
        let from = after === undefined ? 0 : placeOf(names, after)
        if (after !== undefined && names[from] === after) from++
        return names.slice(from, from + limit)
      }),
    clear: (ownerId) =>
      Effect.sync(() => {
        const count = owners.get(ownerId)?.rows.size ?? 0
        size -= count
        drop(ownerId)
        return count
      }),
    health: Effect.void
  }
}
