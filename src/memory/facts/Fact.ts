/**
 * Facts: subject, predicate and object, with confidence, sources and validity.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { EntryId, SessionId } from "../../domain/Ids.js"
import { OwnerId } from "../entry/MemoryEntry.js"

const NAME = "effect-lexigram/memory/Fact"

/**
 * @since 0.1.0
 * @category schemas
 */
export const FactId = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(256),
  Schema.brand("FactId"),
  Schema.annotations({ identifier: `${NAME}/FactId` })
)
/**
 * @since 0.1.0
 * @category models
 */
export type FactId = typeof FactId.Type

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000))

/**
 * Subject, predicate and object as they were stated. Comparisons ignore case and surrounding spaces.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Triple = Schema.Struct({
  subject: Name,
  predicate: Name,
  object: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(10_000))
}).annotations({ identifier: `${NAME}/Triple` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Triple extends Schema.Schema.Type<typeof Triple> {}

/**
 * The session and time of the statement that a fact was read from. Determines which branches of a session know the
 * fact.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Origin = Schema.Struct({
  sessionId: Schema.optional(SessionId),
  /** The first session of the session tree. */
  tree: Schema.optional(SessionId),
  /** Milliseconds since the epoch. */
  from: Schema.Finite,
  /** Equal to `from` except for a summary. */
  until: Schema.Finite
}).annotations({ identifier: `${NAME}/Origin` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Origin extends Schema.Schema.Type<typeof Origin> {}

/**
 * A fact to assert, or to retract (`retracted`). Defaults: confidence 1, valid from now on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NewFact = Schema.Struct({
  ...Triple.fields,
  confidence: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
  /** The entries it was read from. */
  sources: Schema.optional(Schema.Array(EntryId)),
  /**
   * The origins of those entries. A branch knows the fact if it recalls all of them. Without origins every branch knows
   * it.
   */
  origins: Schema.optional(Schema.Array(Origin)),
  /** Milliseconds since the epoch. */
  validFrom: Schema.optional(Schema.Finite),
  /**
   * When it ended or will end; after `validFrom`. Such a fact replaces others only if `replaces` is set: they may have
   * held in addition, and hold again after it.
   */
  validTo: Schema.optional(Schema.Finite),
  /**
   * Retracts the fact: it does not hold from `validFrom` on, and nothing replaces it. Earlier statements stay as its
   * history. A later statement makes it hold again. If nothing stated it before, the store records that it had ended by
   * then.
   */
  retracted: Schema.optional(Schema.Boolean),
  /**
   * Replaces every other object of this subject and predicate, whether or not the predicate has one object at a time.
   */
  replaces: Schema.optional(Schema.Boolean),
  metadata: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: `${NAME}/NewFact` })
/**
 * @since 0.1.0
 * @category models
 */
export interface NewFact extends Schema.Schema.Type<typeof NewFact> {}

/**
 * A stored fact. Nothing is overwritten: a fact that a later one contradicts is closed (`validTo`, `closedBy`) and
 * stays.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Fact = Schema.Struct({
  id: FactId,
  ownerId: OwnerId,
  ...Triple.fields,
  /** 0 to 1. */
  confidence: Schema.Number.pipe(Schema.between(0, 1)),
  sources: Schema.Array(EntryId),
  /** Milliseconds since the epoch, inclusive. */
  validFrom: Schema.Finite,
  /** Exclusive. Absent while the fact holds. */
  validTo: Schema.optional(Schema.Finite),
  /** The fact that replaced it. */
  closedBy: Schema.optional(FactId),
  /** When it was recorded. */
  recordedAt: Schema.Finite,
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: `${NAME}/Fact` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Fact extends Schema.Schema.Type<typeof Fact> {}
