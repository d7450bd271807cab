/**
 * The port of model calls: plain, serializable requests and responses in the vocabulary of `@effect/ai` (prompt
 * messages, response parts, finish reasons), and a single method, so that every wrapper (retry, cache, fallback,
 * recording) is one Effect combinator.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Usage from "../../domain/Usage.js"
import type { LlmError } from "./LlmError.js"
import type { ModelSettings } from "./ModelSettings.js"

/**
 * A message of the conversation, as `@effect/ai` encodes it.
 *
 * @since 0.1.0
 * @category models
 */
export type Message = Prompt.MessageEncoded

/**
 * A JSON Schema, draft-07 or 2020-12.
 *
 * @since 0.1.0
 * @category models
 */
export type JsonSchema = { readonly [key: string]: unknown }

/**
 * A tool as the model sees it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}

/**
 * `required` forces some tool call, `{ tool }` a specific one.
 *
 * @since 0.1.0
 * @category models
 */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string }

/**
 * Free text, or JSON of a given schema. `name` is 1 to 64 characters of `[A-Za-z0-9_-]`.
 *
 * @since 0.1.0
 * @category models
 */
export type ResponseFormat =
  | { readonly type: "text" }
  | {
      readonly type: "json"
      readonly name: string
      readonly schema: JsonSchema
      readonly description?: string | undefined
    }

/**
 * One request. Plain data: it can be stored, hashed, recorded and compared.
 *
 * @since 0.1.0
 * @category models
 */
export interface LlmRequest {
  readonly messages: ReadonlyArray<Message>
  readonly tools?: ReadonlyArray<ToolDefinition> | undefined
  readonly toolChoice?: ToolChoice | undefined
  readonly responseFormat?: ResponseFormat | undefined
  readonly settings?: ModelSettings | undefined
}

/**
 * Why the model stopped.
 *
 * @since 0.1.0
 * @category models
 */
export type FinishReason = Response.FinishReason

/**
 * A piece of a streamed answer. A call's parts are: any of `response-metadata`, text, reasoning and tool parameter
 * parts (each start, deltas, end), `tool-call`, `file`, `source`, `tool-result` (of tools the provider ran itself), and
 * one `finish`, the last. Failures are errors of the call, never parts.
 *
 * @since 0.1.0
 * @category models
 */
export type LlmPart =
  | Response.TextStartPartEncoded
  | Response.TextDeltaPartEncoded
  | Response.TextEndPartEncoded
  | Response.ReasoningStartPartEncoded
  | Response.ReasoningDeltaPartEncoded
  | Response.ReasoningEndPartEncoded
  | Response.ToolParamsStartPartEncoded
  | Response.ToolParamsDeltaPartEncoded
  | Response.ToolParamsEndPartEncoded
  | Response.ToolCallPartEncoded
  | Response.ToolResultPartEncoded
  | Response.FilePartEncoded
  | Response.DocumentSourcePartEncoded
  | Response.UrlSourcePartEncoded
  | Response.ResponseMetadataPartEncoded
  | FinishPart

/**
 * @since 0.1.0
 * @category models
 */
export interface FinishPart {
  readonly type: "finish"
  readonly reason: FinishReason
  readonly usage: Usage.Usage
  readonly metadata?: Response.FinishPartMetadata | undefined
}

/**
 * A whole piece of an answer, in the model's order. The `params` of a tool call are the decoded JSON, or the raw text
 * if it is not JSON: the tool runner repairs it or reports it to the model. `metadata` carries what the provider needs
 * back in the next turn.
 *
 * @since 0.1.0
 * @category models
 */
export type Content =
  | Response.TextPartEncoded
  | Response.ReasoningPartEncoded
  | Response.ToolCallPartEncoded
  | Response.ToolResultPartEncoded
  | Response.FilePartEncoded
  | Response.DocumentSourcePartEncoded
  | Response.UrlSourcePartEncoded

/**
 * A whole answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface LlmResponse {
  readonly content: ReadonlyArray<Content>
  readonly finishReason: FinishReason
  readonly usage: Usage.Usage
  /** The provider's id of the response. */
  readonly id?: string | undefined
  /** The answering model, as the provider names it. */
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * Receives parts as they arrive, in chunks; the call waits for the effect, which is the back-pressure.
 *
 * @since 0.1.0
 * @category models
 */
export type OnParts = (parts: ReadonlyArray<LlmPart>) => Effect.Effect<void>

/**
 * Usage of one request to a model. `usage.estimatedTokens` says how much of it was counted here because the provider
 * did not report it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Spent {
  readonly provider: string
  readonly model?: string | undefined
  readonly usage: Usage.Usage
}

/**
 * A request sent to a model.
 *
 * @since 0.1.0
 * @category models
 */
export interface SentRequest {
  /**
   * The usage: as the provider reported it, else counted. Nothing for a request rejected before the model began; with
   * `isAnswered`, nothing for an answered one, since the answer of the call has its usage.
   */
  readonly spent: (
    count: { readonly request: (request: LlmRequest) => number; readonly text: (text: string) => number },
    isAnswered: boolean
  ) => ReadonlyArray<Spent>
}

/**
 * Receives each request of a call when it is sent, so that a cut-off call can be metered. See `CallMeter`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Meter {
  readonly sent: (request: SentRequest) => void
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CompleteOptions {
  readonly onParts?: OnParts | undefined
  /**
   * Receives the usage that the provider reports before the answer is complete; later reports replace it field by
   * field.
   */
  readonly onUsage?: ((usage: Usage.Usage) => void) | undefined
  /** Wrappers pass it on; `CallMeter.metered` wraps the innermost client. */
  readonly meter?: Meter | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The provider name for telemetry: `openai`, `anthropic`, `ollama`, … */
  readonly provider: string
  /** The model of requests that name none, if the client has a default. */
  readonly model?: string | undefined
  /**
   * True for a client that reports its requests to the `meter` itself, or leaves that to the client it wraps. Any other
   * client counts as sending when it is called.
   */
  readonly metered?: boolean | undefined
  /** Succeeds when the model is reachable; absent if a check would cost money. */
  readonly health?: Effect.Effect<void, LlmError> | undefined
  /**
   * Makes one model call. The response is always complete. With `onParts` the answer is streamed and its parts are
   * delivered as they arrive, all of them before the effect ends; they equal `partsOf(response)` up to how deltas are
   * cut. Interruption cancels the request.
   */
  readonly complete: (
    request: LlmRequest,
    options?: CompleteOptions | undefined
  ) => Effect.Effect<LlmResponse, LlmError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class LlmClient extends Context.Tag("effect-lexigram/llm/LlmClient")<LlmClient, Service>() {}

/**
 * All text of an answer, joined.
 *
 * @since 0.1.0
 * @category getters
 */
export const text = (response: LlmResponse): string => {
  let result = ""
  for (const part of response.content) if (part.type === "text") result += part.text
  return result
}

/**
 * All visible reasoning of the model, joined.
 *
 * @since 0.1.0
 * @category getters
 */
export const reasoning = (response: LlmResponse): string => {
  let result = ""
  for (const part of response.content) if (part.type === "reasoning") result += part.text
  return result
}

/**
 * The tool calls for the caller to run, in order; excludes those the provider ran itself.
 *
 * @since 0.1.0
 * @category getters
 */
export const toolCalls = (response: LlmResponse): ReadonlyArray<Response.ToolCallPartEncoded> => {
  const calls: Array<Response.ToolCallPartEncoded> = []
  for (const part of response.content) {
    if (part.type === "tool-call" && part.providerExecuted !== true) calls.push(part)
  }
  return calls
}

/**
 * An answer as stream parts, one delta per text: what a cache, a recording or a replay passes to `onParts`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const partsOf = (response: LlmResponse): ReadonlyArray<LlmPart> => {
  const parts: Array<LlmPart> = []
  if (response.id !== undefined || response.model !== undefined) {
    parts.push({
      type: "response-metadata",
      ...(response.id === undefined ? {} : { id: response.id }),
      ...(response.model === undefined ? {} : { modelId: response.model })
    })
  }
  response.content.forEach((part, index) => {
    const id = String(index)
    // Provider packages narrow the metadata of each part by augmentation: here it only passes through.
    const metadata: { readonly metadata?: any } = part.metadata === undefined ? {} : { metadata: part.metadata }
    switch (part.type) {
      case "text": {
        parts.push({ type: "text-start", id }, { type: "text-delta", id, delta: part.text })
        parts.push({ type: "text-end", id, ...metadata })
        break
      }
      case "reasoning": {
        parts.push({ type: "reasoning-start", id }, { type: "reasoning-delta", id, delta: part.text })
        parts.push({ type: "reasoning-end", id, ...metadata })
        break
      }
      default: {
        parts.push(part)
      }
    }
  })
  parts.push({ type: "finish", reason: response.finishReason, usage: response.usage })
  return parts
}

const withOptions = <A extends object>(part: A, metadata: { readonly [key: string]: unknown } | undefined): A =>
  metadata === undefined ? part : { ...part, options: metadata }

/**
 * An answer as the message to append to the conversation. Metadata becomes options, so that providers receive what they
 * need back (signatures of thinking blocks, ids of reasoning items). Empty texts are omitted.
 *
 * @since 0.1.0
 * @category conversions
 */
export const assistantMessage = (response: LlmResponse): Prompt.AssistantMessageEncoded => {
  const content: Array<Prompt.AssistantMessagePartEncoded> = []
  for (const part of response.content) {
    switch (part.type) {
      case "text": {
        if (part.text !== "") content.push(withOptions({ type: "text", text: part.text }, part.metadata))
        break
      }
      case "reasoning": {
        if (part.text !== "" || part.metadata !== undefined) {
          content.push(withOptions({ type: "reasoning", text: part.text }, part.metadata))
        }
        break
      }
      case "tool-call": {
        content.push(
          withOptions(
            {
              type: "tool-call",
              id: part.id,
              name: part.name,
              params: part.params,
              providerExecuted: part.providerExecuted === true
            },
            part.metadata
          )
        )
        break
      }
      case "tool-result": {
        content.push(
          withOptions(
            {
              type: "tool-result",
              id: part.id,
              name: part.name,
              isFailure: part.isFailure,
              result: part.result,
              providerExecuted: part.providerExecuted === true
            },
            part.metadata
          )
        )
        break
      }
      case "file": {
        content.push(withOptions({ type: "file", mediaType: part.mediaType, data: part.data }, part.metadata))
        break
      }
      case "source": {
        break
      }
    }
  }
  return { role: "assistant", content }
}
