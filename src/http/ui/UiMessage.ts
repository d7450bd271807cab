/**
 * The messages of AI SDK UI (`UIMessage` of `ai` 6 and 7), as a schema: what a page sends is decoded by it.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const NAME = "effect-lexigram/http/UiMessage"

/** The most characters of a name or an id. */
const LONGEST = 512
const MOST_PARTS = 10_000

const Name = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(LONGEST))
const Label = Schema.optional(Schema.String.pipe(Schema.maxLength(LONGEST)))
const Flag = Schema.optional(Schema.Boolean)
const Streaming = Schema.optional(Schema.Literal("streaming", "done"))

/**
 * @since 0.1.0
 * @category schemas
 */
export const TextPart = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String, state: Streaming })
/**
 * @since 0.1.0
 * @category models
 */
export interface TextPart extends Schema.Schema.Type<typeof TextPart> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningPart = Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, state: Streaming })
/**
 * @since 0.1.0
 * @category models
 */
export interface ReasoningPart extends Schema.Schema.Type<typeof ReasoningPart> {}

/**
 * A file by its URL, which may be a `data:` URL with the bytes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FilePart = Schema.Struct({
  type: Schema.Literal("file"),
  mediaType: Schema.String.pipe(Schema.maxLength(LONGEST)),
  filename: Label,
  url: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface FilePart extends Schema.Schema.Type<typeof FilePart> {}

/** A record, and not a list or a text. */
const Data = Schema.TemplateLiteral("data-", Schema.String)

/**
 * Data of the application: `type` begins with `data-`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const DataPart = Schema.Struct({ type: Data, id: Label, data: Schema.Unknown })
/**
 * @since 0.1.0
 * @category models
 */
export interface DataPart extends Schema.Schema.Type<typeof DataPart> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const StepStartPart = Schema.Struct({ type: Schema.Literal("step-start") })
/**
 * @since 0.1.0
 * @category models
 */
export interface StepStartPart extends Schema.Schema.Type<typeof StepStartPart> {}

/**
 * Parts that a page may have and that no model is shown: sources, files of reasoning, what a provider or a person added
 * meanwhile.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ShownPart = Schema.Union(
  Schema.Struct({ type: Schema.Literal("source-url"), sourceId: Name, url: Schema.String, title: Label }),
  Schema.Struct({
    type: Schema.Literal("source-document"),
    sourceId: Name,
    mediaType: Schema.String,
    title: Schema.String,
    filename: Label
  }),
  Schema.Struct({ type: Schema.Literal("reasoning-file"), mediaType: Schema.String, url: Schema.String }),
  Schema.Struct({ type: Schema.Literal("custom"), kind: Schema.String }),
  Schema.Struct({ type: Schema.Literal("steering-message"), id: Name, parts: Schema.Array(Schema.Unknown) })
)
/**
 * @since 0.1.0
 * @category models
 */
export type ShownPart = typeof ShownPart.Type

const Approval = Schema.Struct({ id: Name, approved: Flag, reason: Schema.optional(Schema.String) })
const Response = Schema.Struct({ ...Approval.fields, approved: Schema.Boolean })

/** The states of a call, with what each of them has. */
const statesOf = <Fields extends Schema.Struct.Fields>(fields: Fields) => {
  const call = {
    ...fields,
    toolCallId: Name,
    title: Label,
    providerExecuted: Flag,
    callProviderMetadata: Schema.optional(Schema.Unknown)
  }
  const approval = Schema.optional(Approval)
  return Schema.Union(
    Schema.Struct({ ...call, state: Schema.Literal("input-streaming"), input: Schema.optional(Schema.Unknown) }),
    Schema.Struct({ ...call, state: Schema.Literal("input-available"), input: Schema.Unknown, approval }),
    Schema.Struct({
      ...call,
      state: Schema.Literal("approval-requested"),
      input: Schema.Unknown,
      approval: Approval
    }),
    Schema.Struct({
      ...call,
      state: Schema.Literal("approval-responded"),
      input: Schema.Unknown,
      approval: Response
    }),
    Schema.Struct({
      ...call,
      state: Schema.Literal("output-available"),
      input: Schema.Unknown,
      output: Schema.Unknown,
      preliminary: Flag,
      approval
    }),
    Schema.Struct({
      ...call,
      state: Schema.Literal("output-error"),
      input: Schema.optional(Schema.Unknown),
      errorText: Schema.String,
      approval
    }),
    Schema.Struct({ ...call, state: Schema.Literal("output-denied"), input: Schema.Unknown, approval })
  )
}

/**
 * A call of a tool: its name is in `type`, after `tool-`, or, with the type `dynamic-tool`, in `toolName`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolPart = Schema.Union(
  statesOf({ type: Schema.TemplateLiteral("tool-", Schema.String) }),
  statesOf({ type: Schema.Literal("dynamic-tool"), toolName: Name })
)
/**
 * @since 0.1.0
 * @category models
 */
export type ToolPart = typeof ToolPart.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const Part = Schema.Union(TextPart, ReasoningPart, FilePart, StepStartPart, ShownPart, ToolPart, DataPart)
/**
 * @since 0.1.0
 * @category models
 */
export type Part = typeof Part.Type

/**
 * A message of a page. At most 10,000 parts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UiMessage = Schema.Struct({
  id: Schema.String.pipe(Schema.maxLength(LONGEST)),
  role: Schema.Literal("system", "user", "assistant"),
  metadata: Schema.optional(Schema.Unknown),
  parts: Schema.Array(Part).pipe(Schema.maxItems(MOST_PARTS))
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface UiMessage extends Schema.Schema.Type<typeof UiMessage> {}

/**
 * Whether a part is a call of a tool.
 *
 * @since 0.1.0
 * @category guards
 */
export const isTool = (part: Part): part is ToolPart => "toolCallId" in part

/**
 * The name of the tool that a part calls.
 *
 * @example
 * ```ts
 * import { UiMessage } from "effect-lexigram/http"
 *
 * // The tools that an answer called.
 * const called = ({ parts }: UiMessage.UiMessage) => parts.filter(UiMessage.isTool).map(UiMessage.toolName)
 * ```
 *
 * @since 0.1.0
 * @category getters
 */
export const toolName = (part: ToolPart): string =>
  part.type === "dynamic-tool" ? (part as { readonly toolName: string }).toolName : part.type.slice("tool-".length)

const METADATA = "effect-lexigram"

/**
 * The metadata of a call that the page makes: they come back with its output.
 *
 * @internal
 */
export const metadataOf = (requestId: string): Readonly<Record<string, unknown>> => ({ [METADATA]: { requestId } })

const decodeMetadata = Schema.decodeUnknownOption(Schema.Struct({ [METADATA]: Schema.Struct({ requestId: Name }) }))

/**
 * The id of the request that waits for the output of a call; none for a call that the server makes.
 *
 * @since 0.1.0
 * @category getters
 */
export const requestId = (part: ToolPart): string | undefined =>
  Option.getOrUndefined(decodeMetadata(part.callProviderMetadata))?.[METADATA].requestId

/**
 * The parts after the last beginning of a step.
 *
 * @since 0.1.0
 * @category getters
 */
export const lastStep = ({ parts }: UiMessage): ReadonlyArray<Part> =>
  parts.slice(parts.findLastIndex(({ type }) => type === "step-start") + 1)
