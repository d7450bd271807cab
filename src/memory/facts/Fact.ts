/**
 * What is known: subject, predicate, object, how sure it is, where it comes from and from when until when it held.
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
 * Who or what, does or is, whom or what. Texts as they were said; comparisons ignore case and spaces around.
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
 * Where and when something was said that a fact was read from: what decides which branches of a session know the fact.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Origin = Schema.Struct({
  sessionId: Schema.optional(SessionId),
  /** The first session of the tree of sessions. */
  tree: Schema.optional(SessionId),
  /** Milliseconds since the epoch. */
  from: Schema.Finite,
  /** The same moment, unless it is a summary. */
  until: Schema.Finite
}).annotations({ identifier: `${NAME}/Origin` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Origin extends Schema.Schema.Type<typeof Origin> {}

/**
 * A fact that is asserted, or taken back (`retracted`). Left out: sure (1), valid from now on.
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
   * Where they belong to: a branch knows that this was said if it recalls all of them. Left out, every branch knows it.
   */
  origins: Schema.optional(Schema.Array(Origin)),
  /** Milliseconds since the epoch. */
  validFrom: Schema.optional(Schema.Finite),
  /**
   * Until when it held, or will hold; behind `validFrom`. Such a fact takes the place of others only where `replaces`
   * says so: they may have held besides, and hold again after it.
   */
  validTo: Schema.optional(Schema.Finite),
  /**
   * It is taken back: it no longer holds from `validFrom` on, and nothing takes its place. What was said of it before
   * stays as its history, and it holds again when it is said again later. Of one that nobody said before is kept that
   * it had ended by then.
   */
  retracted: Schema.optional(Schema.Boolean),
  /**
   * It takes the place of every other object of this subject and predicate, whether or not the predicate has one object
   * at a time.
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
 * A fact as it is kept. Nothing is overwritten: one that a later fact contradicts is closed (`validTo`, `closedBy`) and
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
  /** Exclusive; absent while it holds. */
  validTo: Schema.optional(Schema.Finite),
  /** The fact that took its place. */
  closedBy: Schema.optional(FactId),
  /** When it was told. */
  recordedAt: Schema.Finite,
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: `${NAME}/Fact` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Fact extends Schema.Schema.Type<typeof Fact> {}
