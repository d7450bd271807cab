/**
 * Turns asserted facts into the rows that change.
 *
 * @private
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as JsonCopy from "../entry/JsonCopy.js"
import { OwnerId } from "../entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import { FactId, NewFact } from "./Fact.js"
import type { FactBackend, FactRow } from "./FactBackend.js"
import type { Cardinality } from "./FactCardinality.js"
import * as FactText from "./FactText.js"
import * as FactTimeline from "./FactTimeline.js"

const isOwner = Schema.is(OwnerId)

/**
 * @category models
 */
export type Owned = <A, E>(ownerId: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E | MemoryStoreError>

/**
 * Rejects an invalid owner name.
 *
 * @category combinators
 */
export const owned =
  (store: string): Owned =>
  (ownerId, effect) =>
    isOwner(ownerId)
      ? effect
      : Effect.fail(new MemoryStoreError({ message: "An owner must have 1 to 256 characters", store }))

/**
 * A page of names and where the next one begins.
 *
 * @category conversions
 */
export const page =
  (size: number) =>
  (names: ReadonlyArray<string>): [Chunk.Chunk<string>, Option.Option<string | undefined>] => [
    Chunk.fromIterable(names),
    names.length < size ? Option.none() : Option.fromNullable(names.at(-1))
  ]

/**
 * An asserted fact, validated and with its keys.
 *
 * @category models
 */
export interface Said {
  readonly fact: NewFact
  readonly metadata: { readonly [key: string]: unknown }
  readonly subjectKey: string
  readonly predicateKey: string
  readonly objectKey: string
}

const decode = Schema.decodeUnknownEither(NewFact)

const refused = (store: string, what: string): MemoryStoreError =>
  new MemoryStoreError({ message: `A fact cannot be stored: ${what}`, store })

/** Frozen, and as a round trip through JSON returns it, so that it is the same in every backend. */
const plainMetadata = (store: string, given: NewFact["metadata"]) => {
  const metadata = JsonCopy.copy(given ?? {})
  if (metadata === undefined) return Effect.fail(refused(store, "its metadata is not plain data"))
  return JSON.stringify(metadata).length > FactTimeline.maxMetadata
    ? Effect.fail(refused(store, `its metadata has more than ${FactTimeline.maxMetadata} characters as JSON`))
    : Effect.succeed(metadata)
}

const readOne = Effect.fnUntraced(function* (store: string, { metadata: attributes, ...given }: NewFact) {
  const decoded = decode(given)
  if (decoded._tag === "Left") {
    // Only the path: the value may be private.
    const [issue] = ParseResult.ArrayFormatter.formatErrorSync(decoded.left)
    return yield* refused(store, `its field "${String(issue?.path[0] ?? "")}" is missing or out of bounds`)
  }
  const fact = decoded.right
  const metadata = yield* plainMetadata(store, attributes)
  const said: Said = {
    fact,
    metadata,
    subjectKey: FactText.key(fact.subject),
    predicateKey: FactText.key(fact.predicate),
    objectKey: FactText.key(fact.object)
  }
  if (fact.validTo !== undefined) {
    if (fact.retracted === true) return yield* refused(store, "what is taken back has no end of its own")
    if (fact.validTo <= (fact.validFrom ?? (yield* Clock.currentTimeMillis))) {
      return yield* refused(store, "it ends before it begins")
    }
  }
  if (said.subjectKey === "" || said.predicateKey === "" || said.objectKey === "") {
    return yield* refused(store, "its subject, predicate or object has nothing to read")
  }
  return said
})

/**
 * @category conversions
 */
export const read = (
  store: string,
  facts: ReadonlyArray<NewFact>
): Effect.Effect<ReadonlyArray<Said>, MemoryStoreError> => Effect.forEach(facts, (fact) => readOne(store, fact))

/** A triple that is stated or retracted at a time. */
interface Told {
  readonly said: Said
  readonly at: number
  readonly replaces: boolean
  readonly retracted: boolean
}

/** A fact with an end is stated, and retracted at its end. */
const toldOf = (said: Said, replaces: boolean, now: number): ReadonlyArray<Told> => {
  const { retracted = false, validFrom = now, validTo } = said.fact
  const told = { said, at: validFrom, replaces: said.fact.replaces === true || (replaces && validTo === undefined) }
  return validTo === undefined
    ? [{ ...told, retracted }]
    : [
        { ...told, retracted: false },
        { ...told, at: validTo, retracted: true }
      ]
}

const toldRecord = (
  ownerId: string,
  { at, replaces, said }: Told,
  now: number,
  id: FactId
): FactTimeline.FactRecord => {
  const { fact, metadata, objectKey, predicateKey, subjectKey } = said
  return {
    subject: fact.subject,
    predicate: fact.predicate,
    object: fact.object,
    mentions: FactTimeline.withMention([], {
      at,
      confidence: fact.confidence ?? 1,
      sources: [...new Set(fact.sources ?? [])],
      replaces,
      ...(fact.origins === undefined || fact.origins.length === 0 ? {} : { origins: [fact.origins] })
    }),
    recordedAt: now,
    metadata,
    row: {
      id,
      ownerId,
      subject: FactText.plain(fact.subject),
      subjectKey,
      predicateKey,
      objectKey,
      subjectWords: FactText.words(fact.subject),
      objectWords: FactText.words(fact.object),
      text: FactText.plain(`${fact.subject} ${fact.predicate} ${fact.object}`)
    }
  }
}

/**
 * The effect of an assertion.
 *
 * @category models
 */
export interface Plan {
  /** For each asserted fact the record that holds it. */
  readonly kept: ReadonlyArray<FactTimeline.FactRecord>
  readonly put: ReadonlyArray<FactRow>
  readonly subjects: ReadonlyArray<string>
}

const newId = Effect.map(IdGenerator.generate, (id) => FactId.make(id))

/**
 * Each assertion sees the changes of those before it.
 *
 * @category constructors
 */
export const plan = Effect.fnUntraced(function* (
  backend: FactBackend,
  ownerId: string,
  facts: ReadonlyArray<Said>,
  cardinality: (predicate: string) => Cardinality
): Effect.fn.Return<Plan, MemoryStoreFailure> {
  const now = yield* Clock.currentTimeMillis
  const slots = new Map<string, Map<FactId, FactTimeline.FactRecord>>()
  const touched = new Set<FactId>()
  const latest = new Map<FactId, FactTimeline.FactRecord>()
  const ids: Array<FactId> = []
  const tell = Effect.fnUntraced(function* (told: Told) {
    const { objectKey, predicateKey, subjectKey } = told.said
    const slot = `${subjectKey}\n${predicateKey}`
    const known = slots.get(slot) ?? new Map<FactId, FactTimeline.FactRecord>()
    slots.set(slot, known)
    for (const row of yield* backend.near(ownerId, { subjectKey, predicateKey, objectKey, at: told.at })) {
      if (known.has(row.id)) continue
      const record = FactTimeline.fromRow(row)
      if (record === undefined) {
        return yield* new StorageError({ message: `The store "${backend.name}" holds a fact it cannot have written` })
      }
      known.set(row.id, record)
    }
    const near = [...known.values()]
    const record = toldRecord(ownerId, told, now, yield* newId)
    const { changed, kept } = told.retracted
      ? FactTimeline.retract(near, record, yield* newId)
      : FactTimeline.insert(near, record, yield* Effect.replicateEffect(newId, near.length))
    for (const record of changed) {
      known.set(record.row.id, record)
      touched.add(record.row.id)
    }
    for (const record of [...changed, kept]) latest.set(record.row.id, record)
    return kept.row.id
  })
  for (const said of facts) {
    const steps = toldOf(said, cardinality(said.predicateKey) === "one", now)
    const kept = yield* Effect.forEach(steps, tell)
    ids.push(...kept.slice(-1))
  }
  const changed = [...touched].map((id) => latest.get(id)!)
  return {
    kept: ids.map((id) => latest.get(id)!),
    put: changed.map(FactTimeline.toRow),
    subjects: [...new Set(changed.map(({ row }) => row.subjectKey))]
  }
})

const pageSize = 256

/**
 * The facts with the same subject, predicate and object as this one, itself included. Empty if the owner does not have
 * it.
 *
 * @category accessors
 */
export const sameTriple = Effect.fnUntraced(function* (
  backend: FactBackend,
  ownerId: string,
  id: FactId
): Effect.fn.Return<ReadonlyArray<FactId>, MemoryStoreFailure> {
  const [row] = yield* backend.get(ownerId, [id])
  if (row === undefined) return []
  const selection = {
    subjects: [row.subjectKey],
    predicateKey: row.predicateKey,
    objectKey: row.objectKey,
    minConfidence: 0,
    at: Number.MAX_VALUE,
    includeClosed: true
  }
  const ids: Array<FactId> = []
  for (let after: FactRow | undefined; ; ) {
    const rows: ReadonlyArray<FactRow> = yield* backend.find(ownerId, { selection, limit: pageSize, after })
    for (const found of rows) ids.push(found.id)
    after = rows.at(-1)
    if (rows.length < pageSize) return ids
  }
})
