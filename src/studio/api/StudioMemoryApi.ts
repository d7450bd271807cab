/**
 * What is remembered of the caller, as its developers see it: facts with their history, what a model would be shown for
 * a question, and consolidation.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { EntryId, SessionId } from "../../domain/Ids.js"
import { numberBetween } from "../../http/api/ApiModels.js"
import { Forbidden, Invalid, Unavailable, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import { ConsolidationResult } from "../../memory/consolidation/MemoryConsolidator.js"
import { FactId } from "../../memory/facts/Fact.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioMemoryApi"

/**
 * A fact and the time in which it held. Times are milliseconds since the epoch.
 *
 * @category schemas
 */
export const KnownFact = Schema.Struct({
  id: FactId,
  subject: Schema.String,
  predicate: Schema.String,
  object: Schema.String,
  /** From 0 to 1. */
  confidence: Schema.Number,
  /** The entries it was read from. */
  sources: Schema.Array(EntryId),
  validFrom: Schema.Number,
  /** Exclusive. Absent while the fact holds. */
  validTo: Schema.optional(Schema.Number),
  /** The fact that replaced it. */
  closedBy: Schema.optional(FactId),
  recordedAt: Schema.Number,
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: `${NAME}/KnownFact` })
/**
 * @category models
 */
export interface KnownFact extends Schema.Schema.Type<typeof KnownFact> {}

/** Where a page of further facts begins. */
const FactCursor = Schema.compose(
  Schema.StringFromBase64Url.pipe(Schema.maxLength(2048)),
  Schema.parseJson(Schema.Struct({ confidence: Schema.Finite, validFrom: Schema.Finite, id: FactId }))
).annotations({ identifier: `${NAME}/FactCursor` })

const Filter = Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(1000)))

/**
 * Something that is remembered, as far as it is still stored.
 *
 * @category schemas
 */
export const Item = Schema.Struct({
  id: Schema.String,
  /** At most 2,000 characters of what a model reads; absent for what is no longer stored, and for the system prompt. */
  text: Schema.optional(Schema.String),
  role: Schema.optional(Schema.String),
  timestamp: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Item` })
/**
 * @category models
 */
export interface Item extends Schema.Schema.Type<typeof Item> {}

/**
 * A section of an assembly. `tokenBudget` has its share and what other sections left over.
 *
 * @category schemas
 */
export const Section = Schema.Struct({
  source: Schema.String,
  tokenBudget: Schema.Number,
  tokens: Schema.Number,
  taken: Schema.Array(Item),
  /** Found and left out, the best first; at most 100. */
  left: Schema.Array(Item),
  leftCount: Schema.Number,
  /** The tag of the failure of its tier. */
  failed: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/Section` })
/**
 * @category models
 */
export interface Section extends Schema.Schema.Type<typeof Section> {}

/**
 * What a model would be shown of memory. `text` is the message as it is sent; empty if nothing is remembered.
 *
 * @category schemas
 */
export const Assembly = Schema.Struct({
  budget: Schema.Number,
  tokens: Schema.Number,
  text: Schema.String,
  sections: Schema.Array(Section)
}).annotations({ identifier: `${NAME}/Assembly` })
/**
 * @category models
 */
export interface Assembly extends Schema.Schema.Type<typeof Assembly> {}

/**
 * What consolidation did or would do, and the entries that leave, at most 500.
 *
 * @category schemas
 */
export const Consolidated = Schema.Struct({
  ...ConsolidationResult.fields,
  removals: Schema.Array(
    Schema.Struct({
      strategy: Schema.String,
      /** `replaced`: by a summary. */
      how: Schema.Literal("pruned", "replaced"),
      item: Item
    })
  )
}).annotations({ identifier: `${NAME}/Consolidated` })
/**
 * @category models
 */
export interface Consolidated extends Schema.Schema.Type<typeof Consolidated> {}

/**
 * @category constants
 */
export const group = HttpApiGroup.make("memory")
  .add(
    HttpApiEndpoint.get("listFacts", "/memory/facts")
      .setUrlParams(
        Schema.Struct({
          /** A prefix of the subject. */
          subject: Filter,
          predicate: Filter,
          object: Filter,
          /** A name in the subject or the object. */
          entity: Filter,
          /** Facts that share words with it, the best first: one page. */
          text: Filter,
          /** Facts that held at this time; default now. */
          at: Schema.optional(Schema.NumberFromString.pipe(Schema.finite())),
          /** Those that have ended, too. */
          closed: Schema.optional(Schema.BooleanFromString),
          minConfidence: Schema.optional(Schema.NumberFromString.pipe(Schema.between(0, 1))),
          limit: Schema.optional(numberBetween(1, 500)),
          cursor: Schema.optional(FactCursor)
        })
      )
      .addSuccess(
        Schema.Struct({
          facts: Schema.Array(KnownFact),
          /** The entries that these facts were read from, as far as they are still stored; at most 500. */
          entries: Schema.Array(Item),
          /** The cursor of the next page; absent on the last one. */
          next: Schema.optional(FactCursor)
        })
      )
      .addError(Invalid)
      .annotate(OpenApi.Summary, "The facts that are known of the caller, with the times in which they held")
  )
  .add(
    HttpApiEndpoint.post("assembleMemory", "/memory/assemble")
      .setPayload(
        Schema.Struct({
          question: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096)),
          sessionId: Schema.optional(SessionId),
          /** Tokens; default that of agents. */
          budget: Schema.optional(Schema.Int.pipe(Schema.between(0, 200_000)))
        })
      )
      .addSuccess(Assembly)
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "What a model would be shown of memory for a question, and what each section took")
      .annotate(
        OpenApi.Description,
        "Entries that it recalls count as recalled once more, as in a run. Turns that the history of a run has anyway are not left out here."
      )
  )
  .add(
    HttpApiEndpoint.post("consolidateMemory", "/memory/consolidate")
      .setPayload(
        Schema.Struct({
          /** Default false: it only says what would be done. */
          apply: Schema.optional(Schema.Boolean)
        })
      )
      .addSuccess(Consolidated)
      .addError(Invalid)
      .annotate(
        OpenApi.Summary,
        "Removes what is said twice or has faded and summarizes what is old, or says what it would do"
      )
  )
  .addError(Forbidden)
  .addError(Unsupported)
  .addError(Unavailable)
  .middleware(Developer)
