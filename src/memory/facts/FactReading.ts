/**
 * The read operations of a fact store.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Count from "../../internal/Count.js"
import type { MemoryStoreFailure, StorageError } from "../entry/MemoryError.js"
import type { Fact } from "./Fact.js"
import * as FactAssertion from "./FactAssertion.js"
import type * as FactBackend from "./FactBackend.js"
import * as FactLineage from "./FactLineage.js"
import type { Entity, FactSelection, Service } from "./FactStore.js"
import * as FactText from "./FactText.js"
import * as FactTimeline from "./FactTimeline.js"

const pageSize = 256

const factsOf = (
  name: string,
  rows: ReadonlyArray<FactBackend.FactRow>
): Effect.Effect<ReadonlyArray<Fact>, StorageError> =>
  Effect.suspend(() => {
    const facts: Array<Fact> = []
    for (const row of rows) {
      const record = FactTimeline.fromRow(row)
      if (record === undefined) return FactLineage.unreadable(name)
      facts.push(FactTimeline.toFact(record))
    }
    return Effect.succeed(facts)
  })

/** Nothing matches a name without words. */
const rowSelection = (selection: FactSelection | undefined, now: number): FactBackend.RowSelection | undefined => {
  const words = selection?.entity === undefined ? undefined : FactText.words(selection.entity)
  if (words === "") return undefined
  return {
    subjectPrefix: selection?.subject === undefined ? undefined : FactText.prefix(selection.subject),
    subjects: selection?.subjects?.map(FactText.key),
    predicateKey: selection?.predicate === undefined ? undefined : FactText.key(selection.predicate),
    objectKey: selection?.object === undefined ? undefined : FactText.key(selection.object),
    words,
    minConfidence: selection?.minConfidence ?? 0,
    at: selection?.at ?? now,
    includeClosed: selection?.includeClosed ?? false
  }
}

const limitOf = (limit: number | undefined): number => Count.count(limit, 100, 0)

/**
 * The operations that change nothing.
 *
 * @category constructors
 */
export const make = (backend: FactBackend.FactBackend, owned: FactAssertion.Owned) => {
  const selected = <A>(
    ownerId: string,
    selection: FactSelection | undefined,
    nothing: A,
    read: (selection: FactBackend.RowSelection) => Effect.Effect<A, MemoryStoreFailure>
  ): Effect.Effect<A, MemoryStoreFailure> =>
    owned(
      ownerId,
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const rows = rowSelection(selection, now)
        return rows === undefined ? Effect.succeed(nothing) : read(rows)
      })
    )
  const none: ReadonlyArray<Fact> = []
  return {
    get: (ownerId, id) =>
      owned(
        ownerId,
        Effect.flatMap(backend.get(ownerId, [id]), ([row]) =>
          row === undefined
            ? Effect.succeedNone
            : Effect.map(FactLineage.recordOf(backend.name, row), (record) => Option.some(FactTimeline.toFact(record)))
        )
      ),
    query: (ownerId, query) =>
      selected(ownerId, query, none, (selection) => {
        const limit = limitOf(query?.limit)
        const { after, sources } = query ?? {}
        return limit === 0 || sources?.length === 0
          ? Effect.succeed(none)
          : Effect.flatMap(backend.find(ownerId, { selection, limit, after, sources }), (rows) =>
              factsOf(backend.name, rows)
            )
      }),
    search: (ownerId, text, query) =>
      selected(ownerId, query, none, (selection) => {
        const limit = limitOf(query?.limit)
        return limit === 0
          ? Effect.succeed(none)
          : Effect.flatMap(backend.lexical(ownerId, { text, selection, limit }), (hits) =>
              factsOf(
                backend.name,
                hits.map(({ row }) => row)
              )
            )
      }),
    onLineage: (ownerId, facts, way) =>
      owned(
        ownerId,
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          facts.length === 0
            ? Effect.succeed(none)
            : FactLineage.knownFacts(backend, ownerId, facts, { ...way, at: way.at ?? now })
        )
      ),
    count: (ownerId, selection) => selected(ownerId, selection, 0, (rows) => backend.count(ownerId, rows)),
    entities: (ownerId, options) =>
      owned(
        ownerId,
        Effect.map(
          backend.subjects(ownerId, { limit: limitOf(options?.limit), after: options?.after }),
          (subjects): ReadonlyArray<Entity> =>
            subjects.map(({ closed, open, subject, subjectKey }) => ({ key: subjectKey, name: subject, open, closed }))
        )
      ),
    known: (ownerId, names) =>
      owned(
        ownerId,
        Effect.suspend(() => {
          const byKey = new Map<string, string>()
          for (const name of names) {
            const key = FactText.key(name)
            if (key !== "" && !byKey.has(key)) byKey.set(key, name)
          }
          return byKey.size === 0
            ? Effect.succeed([])
            : Effect.map(backend.known(ownerId, [...byKey.keys()]), (keys) =>
                keys.flatMap((key) => byKey.get(key) ?? [])
              )
        })
      ),
    owners: Stream.paginateChunkEffect(undefined as string | undefined, (after) =>
      Effect.map(backend.owners({ limit: pageSize, after }), FactAssertion.page(pageSize))
    ),
    health: backend.health
  } satisfies Partial<Service>
}
