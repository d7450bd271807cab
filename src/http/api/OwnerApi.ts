/**
 * What a server keeps of its caller over HTTP: memory and all data. And what it offers to everybody: skills, metrics.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { EntryId, SessionId } from "../../domain/Ids.js"
import { Explanation } from "../../memory/entry/MemoryEntry.js"
import { MemoryRole } from "../../memory/entry/Selection.js"
import { numberBetween, pathParam } from "./ApiModels.js"
import { Forbidden, Invalid, Unavailable, Unsupported } from "./ApiStatus.js"

const NAME = "effect-lexigram/http/OwnerApi"

/**
 * Something that is remembered of the caller.
 *
 * @category schemas
 */
export const MemoryItem = Schema.Struct({
  id: EntryId,
  role: MemoryRole,
  content: Schema.String,
  timestamp: Schema.Number,
  /** From 0 to 1. */
  importance: Schema.Number,
  sessionId: Schema.optional(SessionId),
  metadata: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: `${NAME}/MemoryItem` })
/**
 * @category models
 */
export interface MemoryItem extends Schema.Schema.Type<typeof MemoryItem> {}

/** Where a page of older entries begins. */
const MemoryCursor = Schema.compose(
  Schema.StringFromBase64Url.pipe(Schema.maxLength(2048)),
  Schema.parseJson(Schema.Struct({ timestamp: Schema.Finite, id: EntryId }))
).annotations({ identifier: `${NAME}/MemoryCursor` })

const Forgotten = Schema.Struct({
  entries: Schema.Number,
  facts: Schema.Number,
  procedures: Schema.Number
}).annotations({ identifier: `${NAME}/Forgotten` })

const Query = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(4096))

/**
 * @category constants
 */
export const memory = HttpApiGroup.make("memory")
  .add(
    HttpApiEndpoint.get("listMemory", "/memory")
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(numberBetween(1, 500)),
          sessionId: Schema.optional(SessionId),
          cursor: Schema.optional(MemoryCursor)
        })
      )
      .addSuccess(
        Schema.Struct({
          entries: Schema.Array(MemoryItem),
          /** The cursor of the next page; absent on the last one. */
          next: Schema.optional(MemoryCursor)
        })
      )
      .addError(Invalid)
      .annotate(OpenApi.Summary, "What is remembered of the caller, the newest first")
  )
  .add(
    HttpApiEndpoint.get("searchMemory", "/memory/search")
      .setUrlParams(
        Schema.Struct({
          query: Query,
          limit: Schema.optional(numberBetween(1, 100)),
          sessionId: Schema.optional(SessionId),
          /** Adds to each result how its score was computed. */
          explain: Schema.optional(Schema.BooleanFromString)
        })
      )
      .addSuccess(
        Schema.Struct({
          results: Schema.Array(
            Schema.Struct({
              entry: MemoryItem,
              score: Schema.Number,
              /** From 0 to 1. */
              relevance: Schema.Number,
              explanation: Schema.optional(Explanation)
            })
          )
        })
      )
      .addError(Invalid)
      .annotate(OpenApi.Summary, "What is remembered of the caller and fits a question, the best first")
  )
  .add(
    HttpApiEndpoint.del("forgetEntry")`/memory/${pathParam("entryId", EntryId)}`
      .addSuccess(Forgotten)
      .annotate(OpenApi.Summary, "Erases an entry, and the facts that were read from it alone")
  )
  .add(
    HttpApiEndpoint.del("forgetMemory", "/memory")
      .addSuccess(Forgotten)
      .annotate(OpenApi.Summary, "Erases everything that is remembered of the caller")
  )
  .addError(Forbidden)
  .addError(Unsupported)
  .addError(Unavailable)

const lines = Schema.String.pipe(
  HttpApiSchema.withEncoding({ kind: "Text", contentType: "application/x-ndjson" })
).annotations({ description: "Lines of JSON: a head, the rows of the tables, the entries of memory, an end" })

/**
 * @category constants
 */
export const owner = HttpApiGroup.make("owner")
  .add(
    HttpApiEndpoint.get("exportOwner", "/owner/export")
      .addSuccess(lines)
      .annotate(OpenApi.Summary, "All data of the caller")
      .annotate(
        OpenApi.Description,
        "An export whose last line is not of kind `end` is not complete; where it breaks off, the last line is of kind `problem`."
      )
  )
  .add(
    HttpApiEndpoint.del("eraseOwner", "/owner")
      .addSuccess(Schema.Struct({ erased: Schema.Record({ key: Schema.String, value: Schema.Number }) }))
      .annotate(OpenApi.Summary, "Erases all data of the caller")
  )
  .addError(Forbidden)
  .addError(Unsupported)
  .addError(Unavailable)

const text = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/plain" })).annotations({
  description: "Metrics in the text format of Prometheus, or in OpenMetrics for clients that prefer it"
})

/**
 * @category constants
 */
export const offers = HttpApiGroup.make("offers", { topLevel: true })
  .add(
    HttpApiEndpoint.get("listSkills", "/skills")
      .addSuccess(
        Schema.Struct({
          skills: Schema.Array(
            Schema.Struct({
              name: Schema.String,
              description: Schema.String,
              /** Whether it is registered with code, or lies in a folder. */
              kind: Schema.Literal("code", "folder")
            })
          )
        })
      )
      .annotate(OpenApi.Summary, "The skills of the server")
  )
  .add(
    HttpApiEndpoint.get("metrics", "/metrics")
      .addSuccess(text)
      .addError(Forbidden)
      .annotate(OpenApi.Summary, "The metrics of the process, for those who may read them")
  )
