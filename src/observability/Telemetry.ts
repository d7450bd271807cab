/**
 * Names and attributes of spans: those of the original library and those of OpenTelemetry's semantic conventions for
 * generative AI.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import { errorInfo } from "../domain/ErrorInfo.js"
import type * as Usage from "../domain/Usage.js"
import * as Ambient from "../internal/fiber/Ambient.js"
import * as SecretText from "../internal/text/SecretText.js"

/**
 * Span of a run: `agent.execute.{agent}`.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_AGENT_EXECUTE = "agent.execute"
/**
 * Span of a tool call: `agent.tool.{tool}`.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_AGENT_TOOL = "agent.tool"
/**
 * Span of a model call: `agent.llm.{agent}`.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_AGENT_LLM = "agent.llm"

/**
 * Span of the governance check before a run: `governance.check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_GOVERNANCE_CHECK = "governance.check"

/**
 * Attribute names.
 *
 * @since 0.1.0
 * @category constants
 */
export const attribute = {
  agentName: "agent.name",
  sessionId: "agent.session_id",
  messageLength: "agent.message_length",
  steps: "agent.steps",
  tokens: "agent.tokens",
  toolCalls: "agent.tool_calls",
  iteration: "agent.iteration",
  toolName: "tool.name",
  genAiOperation: "gen_ai.operation.name",
  genAiProvider: "gen_ai.provider.name",
  genAiAgentId: "gen_ai.agent.id",
  genAiAgentName: "gen_ai.agent.name",
  genAiConversationId: "gen_ai.conversation.id",
  genAiRequestModel: "gen_ai.request.model",
  genAiRequestTemperature: "gen_ai.request.temperature",
  genAiRequestMaxTokens: "gen_ai.request.max_tokens",
  genAiRequestTopP: "gen_ai.request.top_p",
  genAiRequestStopSequences: "gen_ai.request.stop_sequences",
  genAiRequestSeed: "gen_ai.request.seed",
  genAiRequestPresencePenalty: "gen_ai.request.presence_penalty",
  genAiRequestFrequencyPenalty: "gen_ai.request.frequency_penalty",
  genAiRequestStream: "gen_ai.request.stream",
  genAiOutputType: "gen_ai.output.type",
  genAiResponseModel: "gen_ai.response.model",
  genAiResponseId: "gen_ai.response.id",
  genAiFinishReasons: "gen_ai.response.finish_reasons",
  genAiInputTokens: "gen_ai.usage.input_tokens",
  genAiOutputTokens: "gen_ai.usage.output_tokens",
  genAiCachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  genAiReasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  genAiTokenType: "gen_ai.token.type",
  genAiToolName: "gen_ai.tool.name",
  genAiToolDescription: "gen_ai.tool.description",
  genAiToolCallId: "gen_ai.tool.call.id",
  genAiToolType: "gen_ai.tool.type",
  genAiInputMessages: "gen_ai.input.messages",
  genAiOutputMessages: "gen_ai.output.messages",
  genAiToolArguments: "gen_ai.tool.call.arguments",
  genAiToolResult: "gen_ai.tool.call.result",
  errorType: "error.type"
} as const

/** Provider names that differ from those of the conventions. */
const wellKnown: ReadonlyMap<string, string> = new Map([
  ["amazon-bedrock", "aws.bedrock"],
  ["aws-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["azure", "azure.ai.openai"],
  ["azure-openai", "azure.ai.openai"],
  ["azure-ai-inference", "azure.ai.inference"],
  ["gemini", "gcp.gemini"],
  ["google", "gcp.gen_ai"],
  ["google-genai", "gcp.gen_ai"],
  ["google-vertex", "gcp.vertex_ai"],
  ["vertex", "gcp.vertex_ai"],
  ["vertex-ai", "gcp.vertex_ai"],
  ["vertexai", "gcp.vertex_ai"],
  ["ibm-watsonx", "ibm.watsonx.ai"],
  ["watsonx", "ibm.watsonx.ai"],
  ["mistral", "mistral_ai"],
  ["mistralai", "mistral_ai"],
  ["moonshot", "moonshot_ai"],
  ["moonshotai", "moonshot_ai"],
  ["grok", "x_ai"],
  ["x-ai", "x_ai"],
  ["xai", "x_ai"]
])

/**
 * The provider name of the conventions: `bedrock` is `aws.bedrock`, `azure` is `azure.ai.openai`. Unknown providers
 * keep their name.
 *
 * @since 0.1.0
 * @category attributes
 */
export const providerName = (provider: string): string => wellKnown.get(provider.toLowerCase()) ?? provider

/**
 * The error type in spans and metrics: the tag of the failure, `InterruptedError` or `Defect`.
 *
 * @since 0.1.0
 * @category attributes
 */
export const errorType = (cause: Cause.Cause<unknown>): string => {
  if (Cause.isInterruptedOnly(cause)) return "InterruptedError"
  const failure = Cause.failureOption(cause)
  if (Option.isNone(failure)) return "Defect"
  const { value } = failure
  // Failures that leave tools and guards are carried in an internal wrapper.
  const isCarried = typeof value === "object" && value !== null && "_tag" in value && value._tag === "Fatality"
  return errorInfo(isCarried && "error" in value ? value.error : value).tag
}

/**
 * Removes from a text what no trace may show. Must be fast: it runs where the span ends.
 *
 * @since 0.1.0
 * @category models
 */
export type Redactor = (text: string) => string

/**
 * Applied to texts before a span records them, if `captureContent` is on. Credentials are always removed; use this for
 * more, such as a detector of personal data. If the redactor throws, nothing of the text is recorded.
 *
 * @example
 * ```ts
 * import { Telemetry } from "effect-lexigram/observability"
 * import * as Layer from "effect/Layer"
 *
 * const redactor = Layer.succeed(Telemetry.ContentRedactor, (text) => text.replaceAll(/\bORD-\d{6}\b/g, "[ORDER]"))
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class ContentRedactor extends Ambient.Reference<ContentRedactor>()(
  "effect-lexigram/observability/Telemetry/ContentRedactor",
  { defaultValue: (): Redactor => secrets }
) {}

const secrets: Redactor = (text) => SecretText.redact(text)

/**
 * The maximum number of characters of one text in a span.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxContentLength = 8192

/** No credential is longer. Where a text was cut, its last characters up to this number may be half of one. */
const margin = 512

/**
 * A text as a span may record it: without credentials, redacted, of at most `maxContentLength` characters. Reads only
 * the beginning of a huge text.
 *
 * @since 0.1.0
 * @category attributes
 */
export const content = (redactor: Redactor, text: string, limit: number = maxContentLength): string => {
  const isCut = text.length > limit + margin
  let result: string
  try {
    result = secrets(isCut ? text.slice(0, limit + margin) : text)
    if (redactor !== secrets) result = redactor(result)
  } catch {
    return SecretText.replacement
  }
  if (isCut) result = result.slice(0, -margin)
  if (!isCut && result.length <= limit) return result
  return `${result.slice(0, limit - 1).replace(/[\ud800-\udbff]$/, "")}…`
}

/**
 * Attributes of the span of a run at its start. Agents have no id besides their name.
 *
 * @since 0.1.0
 * @category attributes
 */
export const execute = (options: {
  readonly agent: string
  readonly messageLength: number
  readonly sessionId?: string | undefined
}): Record<string, unknown> =>
  // Keys are written out here and below: computed keys cost a microsecond more. A test compares them with `attribute`.
  options.sessionId === undefined
    ? {
        "agent.name": options.agent,
        "agent.message_length": options.messageLength,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": options.agent,
        "gen_ai.agent.name": options.agent
      }
    : {
        "agent.name": options.agent,
        "agent.message_length": options.messageLength,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.id": options.agent,
        "gen_ai.agent.name": options.agent,
        "agent.session_id": options.sessionId,
        "gen_ai.conversation.id": options.sessionId
      }

/**
 * Attributes of the span of a model call at its start. `provider` comes from `providerName`, the session is that of the
 * run.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llm = (options: {
  readonly agent: string
  readonly iteration: number
  readonly provider: string
  readonly sessionId?: string | undefined
}): Record<string, unknown> => {
  const attributes: Record<string, unknown> = {
    "agent.name": options.agent,
    "agent.iteration": options.iteration,
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": options.provider,
    "gen_ai.agent.name": options.agent
  }
  if (options.sessionId !== undefined) attributes["gen_ai.conversation.id"] = options.sessionId
  return attributes
}

/**
 * Attributes of the request of a model call, passed to `set` one by one.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llmRequest = (
  request: {
    readonly model?: string | undefined
    readonly temperature?: number | undefined
    readonly maxTokens?: number | undefined
    readonly topP?: number | undefined
    readonly stop?: ReadonlyArray<string> | undefined
    readonly seed?: number | undefined
    readonly presencePenalty?: number | undefined
    readonly frequencyPenalty?: number | undefined
    /** Whether the answer is streamed. */
    readonly stream?: boolean | undefined
  },
  set: (key: string, value: unknown) => void
): void => {
  if (request.model !== undefined) set(attribute.genAiRequestModel, request.model)
  if (request.temperature !== undefined) set(attribute.genAiRequestTemperature, request.temperature)
  if (request.maxTokens !== undefined) set(attribute.genAiRequestMaxTokens, request.maxTokens)
  if (request.topP !== undefined) set(attribute.genAiRequestTopP, request.topP)
  if (request.stop !== undefined) set(attribute.genAiRequestStopSequences, request.stop)
  if (request.seed !== undefined) set(attribute.genAiRequestSeed, request.seed)
  if (request.presencePenalty !== undefined) set(attribute.genAiRequestPresencePenalty, request.presencePenalty)
  if (request.frequencyPenalty !== undefined) set(attribute.genAiRequestFrequencyPenalty, request.frequencyPenalty)
  if (request.stream === true) set(attribute.genAiRequestStream, true)
}

/**
 * Attributes of the answer of a model call, passed to `set` one by one.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llmResponse = (
  response: {
    readonly id?: string | undefined
    readonly model?: string | undefined
    readonly finishReason: string
    readonly usage: Usage.Usage
  },
  set: (key: string, value: unknown) => void
): void => {
  set(attribute.genAiFinishReasons, [response.finishReason])
  if (response.model !== undefined) set(attribute.genAiResponseModel, response.model)
  if (response.id !== undefined) set(attribute.genAiResponseId, response.id)
  llmUsage(response.usage, set)
}

/**
 * Attributes of the usage of a model call, whether it answered or was cut off.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llmUsage = (usage: Usage.Usage, set: (key: string, value: unknown) => void): void => {
  if (usage.inputTokens !== undefined) set(attribute.genAiInputTokens, usage.inputTokens)
  if (usage.outputTokens !== undefined) set(attribute.genAiOutputTokens, usage.outputTokens)
  if (usage.cachedInputTokens !== undefined) set(attribute.genAiCachedInputTokens, usage.cachedInputTokens)
  if (usage.reasoningTokens !== undefined) set(attribute.genAiReasoningTokens, usage.reasoningTokens)
}

/**
 * Attributes of the span of a tool call.
 *
 * @since 0.1.0
 * @category attributes
 */
export const tool = (options: {
  readonly agent: string
  readonly tool: string
  readonly callId: string
}): Record<string, unknown> => ({
  "agent.name": options.agent,
  "tool.name": options.tool,
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.agent.name": options.agent,
  "gen_ai.tool.name": options.tool,
  "gen_ai.tool.call.id": options.callId,
  "gen_ai.tool.type": "function"
})
