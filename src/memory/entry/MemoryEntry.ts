/**
 * What is remembered, how it is asked for and what is found. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { EntryId, RunId, SessionId, TurnId } from "../../domain/Ids.js"
import * as Selection from "./Selection.js"

const NAME = "effect-lexigram/memory/MemoryEntry"

/** A share or a weight. */
const Unit = Schema.Number.pipe(Schema.between(0, 1))

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/**
 * Whose memory it is: a user, an agent, a team. Never empty; no call crosses owners.
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
 * Characters of one entry at most.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxContent = 1_000_000

/**
 * One thing remembered. `importance` is 0 to 1; session, run and turn say where it came from, so that a branch of a
 * session recalls its own lineage only. `metadata.type` says what it is: `turn` for what was said, `summary` for what
 * stands for several entries; `metadata.sessionTree` (`Selection.treeKey`) of which tree of sessions it is.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryEntry = Schema.Struct({
  id: EntryId,
  ownerId: OwnerId,
  content: Schema.String.pipe(Schema.maxLength(maxContent)),
  role: Selection.MemoryRole,
  /** When it was said, in milliseconds since the epoch. */
  timestamp: Schema.Finite,
  importance: Schema.optionalWith(Unit, { default: () => 0.5 }),
  metadata: Schema.optionalWith(Attributes, { default: () => ({}) }),
  embedding: Schema.optional(Schema.Array(Schema.Finite)),
  sessionId: Schema.optional(SessionId),
  runId: Schema.optional(RunId),
  turnId: Schema.optional(TurnId),
  /** From then on it is gone, whatever the store keeps otherwise. */
  expiresAt: Schema.optional(Schema.Finite),
  /**
   * How often it was recalled; absent while it never was. Kept by the store; of an entry that is stored again the
   * higher count stays.
   */
  accessCount: Schema.optional(Schema.NonNegativeInt),
  /** When it was recalled last; kept by the store. */
  lastAccessedAt: Schema.optional(Schema.Finite)
}).annotations({ identifier: `${NAME}/MemoryEntry` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryEntry extends Schema.Schema.Type<typeof MemoryEntry> {}

/**
 * Makes an entry with the defaults of the fields that are left out; a value out of bounds throws.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: (fields: Schema.Struct.Constructor<typeof MemoryEntry.fields>) => MemoryEntry = (fields) =>
  MemoryEntry.make(fields)

/**
 * How much each part of a score counts. Only their ratio matters: they are normalised to a sum of 1.
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
 * What is looked for. What a query leaves out comes from the configuration of the store it is put to, and where that
 * says nothing from `queryDefaults`. An empty `query` looks for nothing in particular: every entry is equally relevant
 * (0), and recency and importance decide.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryQuery = Schema.Struct({
  ownerId: OwnerId,
  query: Schema.String,
  /** At most so many results; 10 unless set. */
  topK: Schema.optional(Schema.NonNegativeInt),
  /** So many of the best results are passed over, for the next page; 0 unless set. */
  offset: Schema.optional(Schema.NonNegativeInt),
  /** Results of a lower relevance are left out; 0 to 1, 0 unless set. */
  minRelevance: Schema.optional(Unit),
  ...weightFields,
  ...Selection.fields,
  /**
   * How much results shall differ from one another: 0 (unless set) takes the best ones, 1 the most different ones.
   * Maximal marginal relevance (Carbonell and Goldstein 1998) with lambda = 1 - diversity.
   */
  diversity: Schema.optional(Unit),
  /**
   * Of results that say the same and whose words agree at least so far (Jaccard, 0 to 1), only the best stays. They may
   * differ in case, in marks and in small words (`the`, `very`, `please`); what differs in a number, a date, a denial,
   * a name or any other word is no double, whatever is set. Off unless set.
   */
  suppressDuplicates: Schema.optional(Unit),
  /**
   * So many entries before and after each result, of the same session, come with it. 0 unless set; they do not count
   * for `topK`.
   */
  neighbours: Schema.optional(Schema.NonNegativeInt),
  /** Results say how their scores came about. */
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
 * How a score came about: `score = recency·weights.recency + importance·weights.importance +
 * relevance·weights.relevance`, where the weights sum up to 1. What found the entry stands beside: its rank (from 1) in
 * each index that did.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Explanation = Schema.Struct({
  recency: Unit,
  importance: Unit,
  relevance: Unit,
  weights: Schema.Struct({ recency: Unit, importance: Unit, relevance: Unit }),
  /** Of the words of the query, 0 to 1; absent when no index of words found it. */
  lexical: Schema.optional(Unit),
  /** Similarity of the vectors, 0 to 1; absent when no index of vectors found it. */
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
 * An entry that was found, its score (0 to 1), how relevant it is to the query by itself (0 to 1), and the store it
 * came from.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemorySearchResult = Schema.Struct({
  entry: MemoryEntry,
  score: Schema.Number,
  relevance: Schema.Number,
  source: Schema.String,
  /** It was not found itself: it stands beside this result in the same session. Its score is that of the result. */
  neighbourOf: Schema.optional(EntryId),
  explanation: Schema.optional(Explanation)
}).annotations({ identifier: `${NAME}/MemorySearchResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemorySearchResult extends Schema.Schema.Type<typeof MemorySearchResult> {}
