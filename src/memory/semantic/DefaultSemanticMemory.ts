/**
 * Semantic memory over a fact store and an entity extractor.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Count from "../../internal/Count.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryCapacityError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import * as MemoryTelemetry from "../entry/MemoryTelemetry.js"
import type { Fact, FactId, NewFact } from "../facts/Fact.js"
import * as FactLineage from "../facts/FactLineage.js"
import * as FactStore from "../facts/FactStore.js"
import * as EntityAliases from "./EntityAliases.js"
import * as EntityExtractor from "./EntityExtractor.js"
import * as EntityMatcher from "./EntityMatcher.js"
import * as EntityMatching from "./EntityMatching.js"
import * as FactRecall from "./FactRecall.js"
import { type FactOptions, SemanticMemory, type Service } from "./SemanticMemory.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Facts with a lower confidence are stored, but omitted from results unless a query sets another bound. Default 0.5.
   */
  readonly minConfidence?: number | undefined
  /** Maximum open facts of one subject, and default number of facts in a result. Default 100. */
  readonly maxFactsPerEntity?: number | undefined
  /** Confidence of facts for which the extractor states none. Default 0.8. */
  readonly ingestConfidence?: number | undefined
  /** The subject that `I` refers to in a query: the speaker of the heuristic extractor. Default `user`. */
  readonly speaker?: string | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  minConfidence: 0.5,
  maxFactsPerEntity: 100,
  ingestConfidence: 0.8,
  speaker: "user"
} as const

const observed = (operation: Parameters<typeof MemoryTelemetry.observed>[1]) =>
  MemoryTelemetry.observed("semantic", operation)

const eachOnce = (facts: Iterable<Fact>): ReadonlyArray<Fact> => {
  const known = new Map<FactId, Fact>()
  for (const fact of facts) known.set(fact.id, fact)
  return [...known.values()]
}

/**
 * Semantic memory over the fact store and entity extractor in context. An `EntityMatcher` in context decides which
 * known names new ones mean where the rules are undecided. What it decides is kept as aliases, which `deleteFact`
 * undoes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<Service, never, FactStore.FactStore | EntityExtractor.EntityExtractor> =>
  Effect.gen(function* () {
    const store = yield* FactStore.FactStore
    const extractor = yield* EntityExtractor.EntityExtractor
    const telemetry = yield* MemoryTelemetry.make
    const minConfidence = options?.minConfidence ?? defaults.minConfidence
    const maxFactsPerEntity = Count.count(options?.maxFactsPerEntity, defaults.maxFactsPerEntity, 1)
    const confidence = options?.ingestConfidence ?? defaults.ingestConfidence
    const speaker = options?.speaker ?? defaults.speaker

    const limitOf = (asked: FactOptions | undefined) => Count.count(asked?.limit, maxFactsPerEntity, 0)
    const queryOf = (asked: FactOptions | undefined) => ({
      // Other branches may have as many facts.
      limit: (asked?.lineage === undefined ? 1 : 2) * limitOf(asked),
      minConfidence: asked?.minConfidence ?? minConfidence,
      at: asked?.at,
      includeClosed: asked?.includeClosed
    })
    const written = (ownerId: string, facts: ReadonlyArray<Fact>) =>
      telemetry.written({ tier: "semantic", backend: store.name, ownerId, ids: facts.map(({ id }) => id) })
    const told = <E>(
      ownerId: string,
      asked: FactOptions | undefined,
      facts: Effect.Effect<ReadonlyArray<Fact>, E>
    ): Effect.Effect<ReadonlyArray<Fact>, E | MemoryStoreFailure> => {
      const lineage = asked?.lineage
      const { at, minConfidence } = queryOf(asked)
      return Effect.tap(
        lineage === undefined
          ? facts
          : Effect.map(
              Effect.flatMap(facts, (found) =>
                store.onLineage(ownerId, found, { lineage, tree: asked?.tree, at, minConfidence })
              ),
              (known) => known.slice(0, limitOf(asked))
            ),
        ({ length }) => telemetry.retrieved({ tier: "semantic", ownerId, count: length })
      )
    }

    const matcher = yield* Effect.serviceOption(EntityMatcher.EntityMatcher)
    const matching = Option.map(matcher, (matcher) => EntityMatching.make(store, matcher))

    /** Names that the rules leave undecided stay apart if the matcher fails. */
    const matched = (ownerId: string, names: Iterable<string>, entries: ReadonlyArray<MemoryEntry>) =>
      Option.match(matching, {
        onNone: () => Effect.succeed([]),
        onSome: ({ aliases }) =>
          Effect.catchTag(aliases(ownerId, names, entries), "FactExtractionError", ({ message }) =>
            Effect.as(
              Effect.annotateLogs(Effect.logWarning(message), { module: "EntityMatcher" }),
              [] as ReadonlyArray<NewFact>
            )
          )
      })

    const keep = (ownerId: string, facts: ReadonlyArray<NewFact>) =>
      Effect.map(store.assert(ownerId, facts, { maxFactsPerEntity }), (kept) => eachOnce(kept.flatMap(Option.toArray)))

    const ingest = (ownerId: string, entries: ReadonlyArray<MemoryEntry>) =>
      Effect.gen(function* () {
        const extracted = yield* extractor.extract(entries)
        const facts = [...extracted.facts, ...EntityAliases.factsIn(entries, speaker)]
        if (facts.length === 0) return []
        const byId = new Map(entries.map((entry) => [entry.id, entry]))
        const placed = ({ origins, sources = [], ...fact }: NewFact): NewFact => {
          const read = sources.flatMap((id) => byId.get(id) ?? [])
          return {
            ...fact,
            sources,
            confidence: fact.confidence ?? confidence,
            // A fact without sources may come from any of the entries.
            origins: origins ?? FactLineage.originsOf(read.length === 0 ? entries : read)
          }
        }
        const kept = yield* keep(ownerId, facts.map(placed))
        const names = [...facts.map(({ subject }) => subject).filter((name) => name !== speaker), ...extracted.entities]
        const aliases = yield* matched(ownerId, new Set(names), entries)
        const all = aliases.length === 0 ? kept : eachOnce([...kept, ...(yield* keep(ownerId, aliases.map(placed)))])
        yield* written(ownerId, all)
        return all
      })

    return {
      storeFact: (ownerId, fact) =>
        Effect.gen(function* () {
          const [kept] = yield* keep(ownerId, [fact])
          if (kept === undefined) {
            return yield* new MemoryCapacityError({
              message: `The subject has ${maxFactsPerEntity} facts, all of higher confidence than this one`,
              capacity: maxFactsPerEntity
            })
          }
          yield* written(ownerId, [kept])
          return kept
        }).pipe(observed("store_fact")),
      queryFacts: (ownerId, subject, asked) =>
        observed("query_facts")(told(ownerId, asked, store.query(ownerId, { ...queryOf(asked), subject }))),
      getEntityFacts: (ownerId, entity, asked) =>
        observed("query_facts")(told(ownerId, asked, store.query(ownerId, { ...queryOf(asked), entity }))),
      recall: (ownerId, query, asked) =>
        observed("recall")(
          told(ownerId, asked, FactRecall.recall(store, { ownerId, query, speaker, ...queryOf(asked) }))
        ),
      updateFact: (ownerId, id, confidence) =>
        store.updateConfidence(ownerId, id, confidence).pipe(
          Effect.tap((fact) => written(ownerId, [fact])),
          observed("update_fact")
        ),
      deleteFact: (ownerId, id) => observed("forget")(store.delete(ownerId, id)),
      ingest: (entries) =>
        Effect.forEach(
          EntryGroups.groupBy(entries, ({ ownerId }) => ownerId),
          ([ownerId, group]) => ingest(ownerId, group)
        ).pipe(
          Effect.map((kept) => kept.flat()),
          observed("ingest")
        ),
      clear: (ownerId) => observed("forget")(store.clear(ownerId)),
      health: store.health
    }
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import {
 *   DefaultEntityExtractor,
 *   DefaultSemanticMemory,
 *   InMemoryFactStore,
 *   SemanticMemory
 * } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const memory = yield* SemanticMemory.SemanticMemory
 *   yield* memory.storeFact("ada", { subject: "Tom", predicate: "lives in", object: "Ghent", confidence: 0.9 })
 *   return yield* memory.recall("ada", "Where does Tom live?")
 * }).pipe(
 *   Effect.provide(DefaultSemanticMemory.layer({ minConfidence: 0.7 })),
 *   Effect.provide([InMemoryFactStore.layer(), DefaultEntityExtractor.layerHeuristic()])
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SemanticMemory, never, FactStore.FactStore | EntityExtractor.EntityExtractor> =>
  Layer.effect(SemanticMemory, make(options))
