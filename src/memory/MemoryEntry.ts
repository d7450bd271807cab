/**
 * What is remembered, how it is asked for and what is found. Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { EntryId, RunId, SessionId, TurnId } from "../domain/Ids.js"

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
 * @since 0.1.0
 * @category schemas
 */
export const MemoryRole = Schema.Literal("system", "user", "assistant", "tool")
/**
 * @since 0.1.0
 * @category models
 */
export type MemoryRole = typeof MemoryRole.Type

/**
 * One thing remembered. `importance` is 0 to 1; session, run and turn say where it came from, so that a branch of a session recalls
 * its own lineage only.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryEntry = Schema.Struct({
  id: EntryId,
  ownerId: OwnerId,
  content: Schema.String,
  role: MemoryRole,
  /** When it was said, in milliseconds since the epoch. */
  timestamp: Schema.Finite,
  importance: Schema.optionalWith(Unit, { default: () => 0.5 }),
  metadata: Schema.optionalWith(Attributes, { default: () => ({}) }),
  embedding: Schema.optional(Schema.Array(Schema.Finite)),
  sessionId: Schema.optional(SessionId),
  runId: Schema.optional(RunId),
  turnId: Schema.optional(TurnId)
}).annotations({ identifier: `${NAME}/MemoryEntry` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryEntry extends Schema.Schema.Type<typeof MemoryEntry> {}

/**
 * Both ends belong to the range.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TimeRange = Schema.Struct({ start: Schema.Finite, end: Schema.Finite }).annotations({
  identifier: `${NAME}/TimeRange`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface TimeRange extends Schema.Schema.Type<typeof TimeRange> {}

/**
 * What is looked for. The number of results and the weights that a query leaves out come from the configuration of the store it is put
 * to, and where that says nothing from `queryDefaults`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryQuery = Schema.Struct({
  ownerId: OwnerId,
  query: Schema.String,
  /** At most so many results. */
  topK: Schema.optional(Schema.NonNegativeInt),
  /** Results of a lower relevance are left out; 0 to 1. */
  minRelevance: Schema.optionalWith(Unit, { default: () => 0 }),
  recencyWeight: Schema.optional(Unit),
  importanceWeight: Schema.optional(Unit),
  relevanceWeight: Schema.optional(Unit),
  /** Entries whose metadata has all of these values. */
  filters: Schema.optionalWith(Attributes, { default: () => ({}) }),
  timeRange: Schema.optional(TimeRange)
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
  recencyWeight: 0.3,
  importanceWeight: 0.3,
  relevanceWeight: 0.4
} as const

/**
 * An entry that was found, its score (0 to 1 times the sum of the weights) and the store it came from.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemorySearchResult = Schema.Struct({
  entry: MemoryEntry,
  score: Schema.Number,
  source: Schema.String
}).annotations({ identifier: `${NAME}/MemorySearchResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemorySearchResult extends Schema.Schema.Type<typeof MemorySearchResult> {}
