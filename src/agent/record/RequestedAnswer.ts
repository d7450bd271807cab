/**
 * What a request says of its answer: the form that it has, and the tools that must be called for it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { ToolChoice as ModelToolChoice } from "../../llm/model/LlmClient.js"

const NAME = "effect-lexigram/agent/RequestedAnswer"

/**
 * The form of an answer as plain data, as OpenAI's `response_format` has it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Output = Schema.Struct({
  /** Default: `answer`. */
  name: Schema.optional(Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/))),
  /** The model reads it with the schema. */
  description: Schema.optional(Schema.String.pipe(Schema.maxLength(8192))),
  /** The JSON Schema of an object, draft-07 or 2020-12, of at most 128 KiB. */
  schema: Schema.Record({ key: Schema.String, value: Schema.Unknown })
}).annotations({ identifier: `${NAME}/Output` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Output extends Schema.Schema.Type<typeof Output> {}

/**
 * Which tools the model must call: `required` is any of them, `{ tool }` this one, for the first call of the model;
 * with `none` it calls no tool in the whole run. With `auto` the agent decides, as without a choice.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolChoice: Schema.Schema<ModelToolChoice> = Schema.Union(
  Schema.Literal("auto", "none", "required"),
  Schema.Struct({ tool: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)) })
).annotations({ identifier: `${NAME}/ToolChoice` })
/**
 * @since 0.1.0
 * @category models
 */
export type ToolChoice = ModelToolChoice
