/**
 * The messages of the AG-UI protocol, as a schema: what a client sends is decoded by it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const NAME = "effect-lexigram/http/AgUiMessage"

/** The most characters of a name or an id. */
const LONGEST = 512
const MOST_PARTS = 10_000

const Id = Schema.String.pipe(Schema.maxLength(LONGEST))

/** Some clients send `null` for what they leave out. */
const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const Text = maybe(Schema.String)

const Source = Schema.Union(
  Schema.Struct({ type: Schema.Literal("data"), value: Schema.String, mimeType: Schema.String }),
  Schema.Struct({ type: Schema.Literal("url"), value: Schema.String, mimeType: Text }),
  Schema.Struct({ type: Schema.Literal("file"), value: Schema.String, mimeType: Text, provider: Text })
)

/**
 * A part of what a person sends or a tool returns. A file has its bytes as base64, or an address.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ContentPart = Schema.Union(
  Schema.Struct({ type: Schema.Literal("text"), id: maybe(Id), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("image", "audio", "video", "document"), id: maybe(Id), source: Source })
)
/**
 * @since 0.1.0
 * @category models
 */
export type ContentPart = typeof ContentPart.Type

const Content = Schema.Union(Schema.String, Schema.Array(ContentPart).pipe(Schema.maxItems(MOST_PARTS)))

/**
 * @since 0.1.0
 * @category schemas
 */
export const ToolCall = Schema.Struct({
  id: Id,
  type: Schema.Literal("function"),
  /** `arguments` are JSON. */
  function: Schema.Struct({ name: Id, arguments: Schema.String }),
  encryptedValue: Text
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolCall extends Schema.Schema.Type<typeof ToolCall> {}

const base = { id: Id, encryptedValue: Text, subagentRunId: maybe(Id) }
const named = { ...base, name: maybe(Id) }

/**
 * A message of a conversation. Activities and reasoning are shown to people, not to models. Metadata is left out.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgUiMessage = Schema.Union(
  Schema.Struct({ ...named, role: Schema.Literal("user"), content: Content }),
  Schema.Struct({
    ...named,
    role: Schema.Literal("assistant"),
    content: Text,
    toolCalls: maybe(Schema.Array(ToolCall).pipe(Schema.maxItems(MOST_PARTS)))
  }),
  Schema.Struct({ ...base, role: Schema.Literal("tool"), toolCallId: Id, content: Content, error: Text }),
  Schema.Struct({ ...named, role: Schema.Literal("system", "developer"), content: Schema.String }),
  Schema.Struct({ ...base, role: Schema.Literal("reasoning"), content: Schema.String }),
  Schema.Struct({ id: Id, role: Schema.Literal("activity") })
).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export type AgUiMessage = typeof AgUiMessage.Type

/**
 * The messages of one role.
 *
 * @since 0.1.0
 * @category models
 */
export type Of<Role extends AgUiMessage["role"]> = Extract<AgUiMessage, { readonly role: Role }>
