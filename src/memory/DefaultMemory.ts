/**
 * The memory subsystem as one layer, built from a configuration: stores, tiers, working memory and consolidation.
 *
 * @since 0.1.0
 */
import type * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as CacheBackend from "../llm/CacheBackend.js"
import type * as Embedder from "../llm/embedding/Embedder.js"
import * as HashingEmbedder from "../llm/embedding/HashingEmbedder.js"
import * as TokenCounter from "../llm/model/TokenCounter.js"
import * as Health from "../observability/Health.js"
import * as CacheMemoryStore from "./cache/CacheMemoryStore.js"
import * as ConsolidationStrategies from "./consolidation/ConsolidationStrategies.js"
import * as DefaultConsolidationScheduler from "./consolidation/DefaultConsolidationScheduler.js"
import * as DefaultMemoryConsolidator from "./consolidation/DefaultMemoryConsolidator.js"
import * as LastConsolidation from "./consolidation/LastConsolidation.js"
import type * as MemoryConsolidator from "./consolidation/MemoryConsolidator.js"
import * as SummarizeStrategy from "./consolidation/SummarizeStrategy.js"
import { MemorySystemError } from "./entry/MemoryError.js"
import * as OwnerNamespace from "./entry/OwnerNamespace.js"
import * as DefaultEpisodicCompressor from "./episodic/DefaultEpisodicCompressor.js"
import * as DefaultEpisodicMemory from "./episodic/DefaultEpisodicMemory.js"
import type * as EpisodicCompressor from "./episodic/EpisodicCompressor.js"
import * as FactSources from "./facts/FactSources.js"
import * as FactStore from "./facts/FactStore.js"
import { layerDisabled, Memory, type Out } from "./Memory.js"
import * as MemoryConfig from "./MemoryConfig.js"
import * as DefaultProceduralMemory from "./procedural/DefaultProceduralMemory.js"
import * as ProceduralMemory from "./procedural/ProceduralMemory.js"
import type * as DefaultMemoryStore from "./search/DefaultMemoryStore.js"
import * as InMemoryMemoryStore from "./search/InMemoryMemoryStore.js"
import * as MemoryStore from "./search/MemoryStore.js"
import * as VectorIndex from "./search/VectorIndex.js"
import * as DefaultEntityExtractor from "./semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "./semantic/DefaultSemanticMemory.js"
import type * as EntityExtractor from "./semantic/EntityExtractor.js"
import type * as EntityMatcher from "./semantic/EntityMatcher.js"
import * as FactVectors from "./semantic/FactVectors.js"
import * as DefaultWorkingMemory from "./working/DefaultWorkingMemory.js"
import * as FactExtraction from "./working/FactExtraction.js"

type Of<Out> = Layer.Layer<Out, any, any>

/**
 * Collaborators of the configured memory.
 *
 * @since 0.1.0
 * @category models
 */
export interface Collaborators {
  /**
   * The store of entries, instead of `defaultBackend`. Required for `database`. A function receives the configured
   * options of stores.
   */
  readonly store?:
    | Of<MemoryStore.MemoryStore>
    | ((options: DefaultMemoryStore.Options) => Of<MemoryStore.MemoryStore>)
    | undefined
  /** The cache for `defaultBackend: "cache"`. */
  readonly cache?: Of<CacheBackend.CacheBackend> | undefined
  /**
   * Finds entries by meaning with `defaultBackend: "vector"`. Default: `HashingEmbedder` and an index in this process.
   * With any backend, facts in this process are found by meaning with these, else with the `Embedder` in context.
   */
  readonly vectors?: Of<Embedder.Embedder | VectorIndex.VectorIndex> | undefined
  /** The store of facts. Default: in this process. */
  readonly facts?: Of<FactStore.FactStore> | undefined
  /** Extracts facts. Default: from plain sentences, without a model. */
  readonly extractor?: Of<EntityExtractor.EntityExtractor> | undefined
  /** Decides which known people new names mean, as `ModelEntityMatcher.layer()`. Default: rules alone. */
  readonly matcher?: Of<EntityMatcher.EntityMatcher> | undefined
  /** Writes summaries. With it, aged entries are summarized after the other strategies; without it, none are. */
  readonly compressor?: Of<EpisodicCompressor.EpisodicCompressor> | undefined
  /** Counts the tokens of a context. Default: an estimate. */
  readonly tokens?: Of<TokenCounter.TokenCounter> | undefined
  /** Stores when memory was last consolidated. Default: for the life of this process. */
  readonly lastConsolidation?: Of<LastConsolidation.LastConsolidation> | undefined
  /** The consolidation strategies, in this order, instead of the default ones. */
  readonly strategies?: ReadonlyArray<MemoryConsolidator.ConsolidationStrategy<any>> | undefined
  /** The owners whose memory is consolidated automatically. Default all. */
  readonly owners?: DefaultConsolidationScheduler.Options["owners"] | undefined
}

type Layers<L> = {
  [K in keyof L]: K extends "store"
    ? Extract<L[K], (...args: any) => unknown> extends (...args: any) => infer Made
      ? Made | Extract<L[K], Of<any>>
      : L[K]
    : L[K]
}[keyof L]

type Given<L> = Extract<Layers<L>, Of<any>>
type StrategiesIn<L> = Extract<
  L[Extract<keyof L, "strategies">],
  ReadonlyArray<MemoryConsolidator.ConsolidationStrategy<any>>
>[number]
type ServicesOf<S> = S extends MemoryConsolidator.ConsolidationStrategy<infer R> ? R : never

/**
 * The errors of these collaborators.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Collaborators> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * The requirements of these collaborators.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Collaborators> =
  | ([Given<L>] extends [never] ? never : Exclude<Layer.Layer.Context<Given<L>>, Inside>)
  | Exclude<ServicesOf<StrategiesIn<L>>, Inside>

/** Provided to collaborators. */
type Inside = TokenCounter.TokenCounter

/** Rejects misspelled names, which would be ignored otherwise. */
type NothingElse<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Collaborators | Known>]: never
}

const missing = (message: string, hint: string): Of<MemoryStore.MemoryStore> =>
  Layer.effect(MemoryStore.MemoryStore, new MemorySystemError({ message: `Memory cannot be built: ${message}`, hint }))

/** How recalls renew entries, if they do. */
const renewalOf = (config: MemoryConfig.MemoryConfig): DefaultMemoryStore.Options["renewal"] =>
  config.renewOnRecall ? { maxAge: Duration.seconds(config.maxAgeSeconds) } : undefined

const factsOf = (given: Collaborators): Of<FactStore.FactStore> => {
  if (given.facts !== undefined) return given.facts
  const facts = FactVectors.layerMemory()
  return given.vectors === undefined ? facts : Layer.provide(facts, given.vectors)
}

/** Never substitutes another backend for the named one. */
const storeOf = (config: MemoryConfig.MemoryConfig, given: Collaborators): Of<MemoryStore.MemoryStore> => {
  const { episodic } = config
  const options: DefaultMemoryStore.Options = {
    ttl: Duration.seconds(config.ttlSeconds),
    topK: episodic.defaultTopK,
    weights: {
      recency: episodic.recencyWeight,
      importance: episodic.importanceWeight,
      relevance: episodic.relevanceWeight
    },
    recencyHalfLife: Duration.hours(episodic.recencyHalfLifeHours),
    vectorWeight: episodic.vectorWeight,
    ...(config.renewOnRecall ? { renewal: renewalOf(config) } : {})
  }
  if (given.store !== undefined) return typeof given.store === "function" ? given.store(options) : given.store
  switch (config.defaultBackend) {
    case "in_memory":
      return InMemoryMemoryStore.layer(options)
    case "cache":
      return given.cache === undefined
        ? missing('defaultBackend is "cache", and there is none', "Give `DefaultMemory.layer` a `cache`")
        : Layer.provide(CacheMemoryStore.layer(options), given.cache)
    case "vector":
      return Layer.provide(
        InMemoryMemoryStore.layerVectors(options),
        given.vectors ?? Layer.provideMerge(VectorIndex.layerMemory(), HashingEmbedder.layer())
      )
    case "database":
      return missing(
        'defaultBackend is "database", and there is none',
        "Give `DefaultMemory.layer` a `store`, as `SqlMemoryStore.layer` of effect-lexigram/persistence; `Lexigram.layerSqlite` there has all of it"
      )
  }
}

const strategiesOf = (
  { consolidation }: MemoryConfig.MemoryConfig,
  given: Collaborators
): ReadonlyArray<MemoryConsolidator.ConsolidationStrategy<any>> => [
  ...ConsolidationStrategies.standard({
    halfLife: Duration.hours(consolidation.halfLifeHours),
    importanceThreshold: consolidation.importancePruneThreshold
  }),
  ...(given.compressor === undefined ? [] : [SummarizeStrategy.make({ batchSize: consolidation.batchSize })])
]

const memory = (config: MemoryConfig.MemoryConfig) =>
  Layer.effect(
    Memory,
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      const facts = yield* FactStore.FactStore
      const procedural = yield* ProceduralMemory.ProceduralMemory
      return {
        config,
        forget: (ownerId) =>
          Effect.gen(function* () {
            const procedures = yield* procedural.clear(ownerId)
            const blocks = yield* store.clear(OwnerNamespace.blocks(ownerId))
            yield* store.delete(OwnerNamespace.unread, OwnerNamespace.unreadOf(ownerId))
            return { entries: blocks + (yield* store.clear(ownerId)), facts: yield* facts.clear(ownerId), procedures }
          }),
        forgetEntries: (ownerId, ids) =>
          Effect.gen(function* () {
            // Facts first: a second call still knows of which entries.
            const gone = yield* FactSources.forget(facts, ownerId, ids)
            const there = yield* Effect.filter(new Set(ids), (id) => store.delete(ownerId, id))
            return { entries: there.length, facts: gone, procedures: 0 }
          }),
        health: Health.sum([
          { name: "entries", check: store.health },
          { name: "facts", check: facts.health }
        ])
      }
    })
  )

const enabled = (config: MemoryConfig.MemoryConfig, given: Collaborators): Of<Out> => {
  const { consolidation, episodic, semantic, working } = config
  const tokens = given.tokens ?? TokenCounter.layerApproximate()
  const compressor = given.compressor ?? DefaultEpisodicCompressor.layerExtractive
  const stores = Layer.merge(storeOf(config, given), factsOf(given))
  const tiers = Layer.mergeAll(
    DefaultEpisodicMemory.layer({
      defaultTopK: episodic.defaultTopK,
      recencyWeight: episodic.recencyWeight,
      importanceWeight: episodic.importanceWeight,
      relevanceWeight: episodic.relevanceWeight,
      ttl: Duration.seconds(episodic.ttlSeconds),
      renewal: renewalOf(config)
    }),
    DefaultSemanticMemory.layer({
      minConfidence: semantic.minConfidence,
      maxFactsPerEntity: semantic.maxFactsPerEntity
    }),
    DefaultProceduralMemory.layer()
  )
  const consolidator = DefaultMemoryConsolidator.layer({
    strategies: given.strategies ?? strategiesOf(config, given),
    ageThreshold: Duration.hours(consolidation.ageThresholdHours),
    batchSize: consolidation.batchSize
  })
  const scheduler = Layer.provide(
    consolidation.enabled
      ? DefaultConsolidationScheduler.layer({
          interval: Duration.seconds(consolidation.intervalSeconds),
          owners: given.owners
        })
      : DefaultConsolidationScheduler.layerManual({ owners: given.owners }),
    given.lastConsolidation ?? LastConsolidation.layerMemory
  )
  // Unless the configuration says otherwise, a larger budget has room for more.
  const isDefault = episodic.defaultTopK === MemoryConfig.defaults.episodic.defaultTopK
  const context = DefaultWorkingMemory.layer({
    ...working,
    ...(isDefault ? {} : { maxRecalled: episodic.defaultTopK })
  })
  const remembered =
    semantic.extractAfterSeconds === 0
      ? context
      : Layer.provide(
          FactExtraction.layer({
            quiet: Duration.seconds(semantic.extractAfterSeconds),
            maxWait: Duration.seconds(semantic.extractMaxWaitSeconds)
          }),
          context
        )
  return Layer.merge(memory(config), remembered).pipe(
    Layer.merge(scheduler),
    Layer.provideMerge(consolidator),
    Layer.provideMerge(tiers),
    Layer.provideMerge(stores),
    Layer.provide(Layer.merge(compressor, given.extractor ?? DefaultEntityExtractor.layerHeuristic())),
    given.matcher === undefined ? identity : Layer.provide(given.matcher),
    Layer.provide(tokens)
  )
}

const compose = (config: Effect.Effect<MemoryConfig.MemoryConfig, any>, given: Collaborators): Of<Out> =>
  Layer.unwrapEffect(Effect.map(config, (config) => (config.enabled ? enabled(config, given) : layerDisabled(config))))

/**
 * The memory subsystem with the defaults of `MemoryConfig` and some fields replaced.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { DefaultMemory } from "effect-lexigram/memory"
 *
 * const memory = DefaultMemory.layer({ config: { working: { maxRecentTurns: 10 } } })
 *
 * const agents = Agents.layerWith({ memory })
 * ```
 */
export const layer = <const L extends Collaborators & { readonly config?: MemoryConfig.Options | undefined } = {}>(
  options?:
    | (L & Collaborators & { readonly config?: MemoryConfig.Options | undefined } & NothingElse<L, "config">)
    | undefined
): Layer.Layer<Out, MemorySystemError | ErrorOf<L>, ContextOf<L>> =>
  compose(
    Effect.suspend(() => MemoryConfig.make(options?.config)),
    options ?? {}
  )

/**
 * The memory subsystem configured from the environment (`LEX_AI_MEMORY__*`).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Collaborators = {}>(
  options?: (L & Collaborators & NothingElse<L>) | undefined
): Layer.Layer<Out, MemorySystemError | ConfigError.ConfigError | ErrorOf<L>, ContextOf<L>> =>
  compose(MemoryConfig.config, options ?? {})
