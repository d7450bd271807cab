/**
 * Memory entries, queries and search results. Times are in milliseconds since the epoch.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { EntryId, RunId, SessionId, TurnId } from "../../domain/Ids.js"
import * as Selection from "./Selection.js"

const NAME = "effect-lexigram/memory/MemoryEntry"

/** A fraction or a weight. */
const Unit = Schema.Number.pipe(Schema.between(0, 1))

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * The owner of a memory: a user, an agent, a team. Never empty. No call crosses owners.
 *
 * @since 0.1.0
 * @category schemas
 */
export const OwnerId = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(256),
  Schema.annotations({ identifier: `${NAME}/OwnerId` })
)

/**
 * Maximum length of one entry, in characters.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxContent = 1_000_000

/**
 * One remembered item. `importance` is 0 to 1. The session, run and turn record where it came from, so that a branch of
 * a session recalls only its own lineage. `metadata.type` states the kind: `turn` for a turn, `summary` for a summary
 * of several entries. `metadata.sessionTree` (`Selection.treeKey`) names its session tree.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryEntry = Schema.Struct({
  id: EntryId,
  ownerId: OwnerId,
  content: Schema.String.pipe(Schema.maxLength(maxContent)),
  role: Selection.MemoryRole,
  /** The time of the entry, in milliseconds since the epoch. */
  timestamp: Schema.Finite,
  importance: Schema.optionalWith(Unit, { default: () => 0.5 }),
  metadata: Schema.optionalWith(Attributes, { default: () => ({}) }),
  embedding: Schema.optional(Schema.Array(Schema.Finite)),
  sessionId: Schema.optional(SessionId),
  runId: Schema.optional(RunId),
  turnId: Schema.optional(TurnId),
  /** The entry is gone from this time on, whatever the retention of the store. */
  expiresAt: Schema.optional(Schema.Finite),
  /**
   * How often the entry was recalled; absent until the first recall. Maintained by the store. When an entry is stored
   * again, the higher count stays.
   */
  accessCount: Schema.optional(Schema.NonNegativeInt),
  /** The time of the last recall. Maintained by the store. */
  lastAccessedAt: Schema.optional(Schema.Finite)
}).annotations({ identifier: `${NAME}/MemoryEntry` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryEntry extends Schema.Schema.Type<typeof MemoryEntry> {}

/**
 * Makes an entry. Omitted fields get their defaults. Throws if a value is out of bounds.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { MemoryEntry, MemoryStore } from "effect-lexigram/memory"
 * import * as Clock from "effect/Clock"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* MemoryStore.MemoryStore
 *   const timestamp = yield* Clock.currentTimeMillis
 *   const note = { ownerId: "ada", role: "user", content: "I am allergic to nuts.", importance: 0.9 } as const
 *   yield* store.store(MemoryEntry.make({ ...note, id: Ids.EntryId.make("allergy"), timestamp }))
 * })
 * ```
 */
export const make: (fields: Schema.Struct.Constructor<typeof MemoryEntry.fields>) => MemoryEntry = (fields) =>
  MemoryEntry.make(fields)

/**
 * How much each part of a score counts. Only their ratio matters: they are normalized to a sum of 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const weightFields = {
  recencyWeight: Schema.optional(Unit),
  importanceWeight: Schema.optional(Unit),
  relevanceWeight: Schema.optional(Unit)
} as const

/**
 * A search. Fields that a query omits come from the configuration of the store, then from `queryDefaults`. An empty
 * `query` matches nothing in particular: every entry has relevance 0, and recency and importance decide.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryQuery = Schema.Struct({
  ownerId: OwnerId,
  query: Schema.String,
  /** Maximum number of results. Default 10. */
  topK: Schema.optional(Schema.NonNegativeInt),
  /** Number of best results to skip, for the next page. Default 0. */
  offset: Schema.optional(Schema.NonNegativeInt),
  /** Omits results of a lower relevance, 0 to 1. Default 0. */
  minRelevance: Schema.optional(Unit),
  ...weightFields,
  ...Selection.fields,
  /**
   * How much results should differ from one another: 0 takes the best, 1 the most different. Default 0. Maximal
   * marginal relevance (Carbonell and Goldstein 1998) with lambda = 1 - diversity.
   */
  diversity: Schema.optional(Unit),
  /**
   * Of results that say the same and whose words agree at least this much (Jaccard, 0 to 1), only the best stays. They
   * may differ in case, punctuation and small words (`the`, `very`, `please`). Results that differ in a number, a date,
   * a negation, a name or any other word are never duplicates. Off by default.
   */
  suppressDuplicates: Schema.optional(Unit),
  /**
   * Number of entries of the same session to return before and after each result. They do not count toward `topK`.
   * Default 0.
   */
  neighbours: Schema.optional(Schema.NonNegativeInt),
  /** Adds to each result how its score was computed. */
  explain: Schema.optional(Schema.Boolean)
}).annotations({ identifier: `${NAME}/MemoryQuery` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryQuery extends Schema.Schema.Type<typeof MemoryQuery> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const queryDefaults = {
  topK: 10,
  offset: 0,
  minRelevance: 0,
  recencyWeight: 0.3,
  importanceWeight: 0.3,
  relevanceWeight: 0.4
} as const

/**
 * How a score was computed: `score = recency·weights.recency + importance·weights.importance +
 * relevance·weights.relevance`, where the weights sum to 1. Also the rank of the entry (from 1) in each index that
 * found it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Explanation = Schema.Struct({
  recency: Unit,
  importance: Unit,
  relevance: Unit,
  weights: Schema.Struct({ recency: Unit, importance: Unit, relevance: Unit }),
  /** Relevance by the words of the query, 0 to 1. Absent if no word index found the entry. */
  lexical: Schema.optional(Unit),
  /** Vector similarity, 0 to 1. Absent if no vector index found the entry. */
  vector: Schema.optional(Unit),
  ranks: Schema.Record({ key: Schema.String, value: Schema.Number }),
  /** Reciprocal rank fusion of these ranks. */
  fused: Schema.Number
}).annotations({ identifier: `${NAME}/Explanation` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Explanation extends Schema.Schema.Type<typeof Explanation> {}

/**
 * An entry that was found, with its score (0 to 1), its relevance to the query alone (0 to 1), and the store it came
 * from.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemorySearchResult = Schema.Struct({
  entry: MemoryEntry,
  score: Schema.Number,
  relevance: Schema.Number,
  source: Schema.String,
  /**
   * Set if the query did not find the entry itself: it is a neighbor of this result in the same session, and has its
   * score.
   */
  neighbourOf: Schema.optional(EntryId),
  explanation: Schema.optional(Explanation)
}).annotations({ identifier: `${NAME}/MemorySearchResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemorySearchResult extends Schema.Schema.Type<typeof MemorySearchResult> {}
