/**
 * Converts a request to the terms of `@effect/ai`: its prompt, its toolkit and its output schema. Tools carry their
 * JSON Schema as an annotation and decode nothing, so the raw parameters of a call come back.
 *
 * @private
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import type * as LanguageModel from "@effect/ai/LanguageModel"
import * as Prompt from "@effect/ai/Prompt"
import * as Tool from "@effect/ai/Tool"
import type * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Schema from "effect/Schema"
import type { JsonSchema, LlmRequest, Message, ToolDefinition } from "../../llm/model/LlmClient.js"
import { LlmInvalidRequestError } from "../../llm/model/LlmError.js"
import * as Wire from "./WireDecoder.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface LanguageModelRequest {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.WithHandler<Record<string, Tool.Any>> | undefined
  readonly toolChoice: LanguageModel.ToolChoice<string> | undefined
  /** The schema and its name, for JSON output. */
  readonly output: { readonly schema: Schema.Schema<unknown>; readonly name: string } | undefined
}

const tools = new WeakMap<ToolDefinition, Tool.Any>()

const toolOf = (definition: ToolDefinition): Tool.Any => {
  const known = tools.get(definition)
  if (known !== undefined) return known
  const tool = Tool.make(definition.name, {
    description: definition.description,
    success: Schema.Unknown,
    failure: Schema.Unknown,
    failureMode: "return"
  }).setParameters(annotated(definition.parameters) as never)
  tools.set(definition, tool)
  return tool
}

const schemas = new WeakMap<JsonSchema, Schema.Schema<unknown>>()

const annotated = (jsonSchema: JsonSchema, description?: string): Schema.Schema<unknown> =>
  Schema.Unknown.annotations({ jsonSchema, ...(description === undefined ? {} : { description }) })

const schemaOf = (jsonSchema: JsonSchema, description: string | undefined): Schema.Schema<unknown> => {
  if (description !== undefined) return annotated(jsonSchema, description)
  const known = schemas.get(jsonSchema)
  if (known !== undefined) return known
  const schema = annotated(jsonSchema)
  schemas.set(jsonSchema, schema)
  return schema
}

const dataUrl = /^data:[^,]{0,256};base64,/i

// The providers of `@effect/ai` drop a file whose data is text, so bytes and addresses are distinguished here.
const fileData = (part: Prompt.FilePartEncoded): string | Uint8Array | URL => {
  const data = part.data
  if (typeof data !== "string") return data
  if (/^https?:\/\//i.test(data) && URL.canParse(data)) return new URL(data)
  const prefix = dataUrl.exec(data)?.[0]
  if (prefix === undefined && (part.mediaType.startsWith("text/") || /^(?:file|assistant)-/.test(data))) return data
  return Either.getOrElse(Encoding.decodeBase64(prefix === undefined ? data : data.slice(prefix.length)), () => data)
}

// Providers accept only objects; anything else that a model wrote is wrapped.
const callParams = (params: unknown): unknown => {
  const value = typeof params === "string" ? Wire.parameters(params) : (params ?? {})
  return Wire.record(value) === undefined ? { invalid_json: params } : value
}

const contentPart = (part: Prompt.PartEncoded): Prompt.PartEncoded => {
  switch (part.type) {
    case "file":
      return { ...part, data: fileData(part) }
    case "tool-call":
      return { ...part, params: callParams(part.params), providerExecuted: part.providerExecuted === true }
    case "tool-result":
      return {
        ...part,
        result: part.result ?? null,
        isFailure: part.isFailure === true,
        providerExecuted: part.providerExecuted === true
      }
    default:
      return part
  }
}

const isEmpty = (part: Prompt.PartEncoded): boolean => part.type === "text" && part.text === ""

/**
 * Merges all system messages into one, the first. Omits empty texts and messages, because providers reject them; an
 * `undefined` tool result becomes `null`, and parameters of old calls become objects.
 *
 * @since 0.1.0
 * @category conversions
 */
const normalize = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const systems: Array<Prompt.SystemMessageEncoded> = []
  const others: Array<Message> = []
  for (const message of messages) {
    if (message.role === "system") {
      if (message.content !== "") systems.push(message)
    } else if (typeof message.content === "string") {
      if (message.content !== "") others.push(message)
    } else {
      const content = message.content.filter((part) => !isEmpty(part)).map(contentPart)
      if (content.length > 0) others.push({ ...message, content } as Message)
    }
  }
  if (systems.length === 0) return others
  const options: Prompt.ProviderOptions = Object.assign({}, ...systems.map((message) => message.options ?? {}))
  const content = systems.map((message) => message.content).join("\n\n")
  return [{ role: "system", content, options } as Prompt.SystemMessageEncoded, ...others]
}

/**
 * Converts a request. Fails when its messages do not form a prompt.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  request: LlmRequest,
  provider: string
): Effect.Effect<LanguageModelRequest, LlmInvalidRequestError> =>
  Effect.map(
    Effect.try({
      try: () => Prompt.make(normalize(request.messages)),
      catch: () =>
        new LlmInvalidRequestError({ provider, message: "The messages of the request do not form a valid prompt." })
    }),
    (prompt) => {
      const format = request.responseFormat
      const definitions = request.tools ?? []
      return {
        prompt,
        toolkit:
          definitions.length === 0
            ? undefined
            : {
                tools: Object.fromEntries(definitions.map((definition) => [definition.name, toolOf(definition)])),
                // Unreachable: every call is made with `disableToolCallResolution`.
                handle: () => Effect.dieMessage("Tools are run by the agent, not by the model client.")
              },
        toolChoice: definitions.length === 0 ? undefined : request.toolChoice,
        output:
          format?.type === "json"
            ? { schema: schemaOf(format.schema, format.description), name: format.name }
            : undefined
      }
    }
  )

/**
 * The non-streaming call of a model for a converted request: `generateObject` for JSON output, so that the provider's
 * own mechanism is used. The caller adds the tools.
 *
 * @since 0.1.0
 * @category constructors
 */
export const generate = (
  model: LanguageModel.Service,
  request: LanguageModelRequest
): Effect.Effect<LanguageModel.GenerateTextResponse<any>, AiError.AiError> => {
  const options = {
    prompt: request.prompt,
    ...(request.toolkit === undefined
      ? {}
      : {
          toolkit: request.toolkit,
          toolChoice: request.toolChoice ?? "auto",
          disableToolCallResolution: true as const
        })
  }
  return request.output === undefined
    ? model.generateText(options as never)
    : model.generateObject({ ...options, schema: request.output.schema, objectName: request.output.name } as never)
}

/**
 * Whether OpenAI's strict mode accepts the schema: an object whose parts all forbid further properties and require all
 * named ones.
 *
 * @since 0.1.0
 * @category guards
 */
export const isStrict = (schema: JsonSchema): boolean => schema.type === "object" && strict(schema, 0)

const strictKeys = new Set([
  "type",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "enum",
  "const",
  "anyOf",
  "description",
  "title",
  "$schema",
  "$ref",
  "$defs"
])

const strict = (schema: unknown, depth: number): boolean => {
  // Deeper than providers allow, and a bound on the recursion for hostile schemas.
  if (depth > 10 || typeof schema !== "object" || schema === null || Array.isArray(schema)) return false
  const node = schema as Record<string, unknown>
  if (Object.keys(node).some((key) => !strictKeys.has(key))) return false
  const types = Array.isArray(node.type) ? node.type : [node.type]
  const each = (group: unknown): boolean =>
    group === undefined ||
    (typeof group === "object" && group !== null && Object.values(group).every((child) => strict(child, depth + 1)))
  if (types.includes("object")) {
    const properties = node.properties
    const required = node.required
    if (node.additionalProperties !== false || typeof properties !== "object" || properties === null) return false
    if (!Array.isArray(required) || Object.keys(properties).some((key) => !required.includes(key))) return false
  }
  if (types.includes("array") && node.items === undefined) return false
  const described = ["type", "enum", "const", "anyOf", "$ref"].some((key) => key in node)
  return (
    described &&
    each(node.properties) &&
    each(node.$defs) &&
    each(node.anyOf) &&
    (node.items === undefined || strict(node.items, depth + 1))
  )
}
