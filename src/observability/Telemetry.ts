/**
 * Names and attributes of spans: those of the original library beside OpenTelemetry's semantic conventions for generative AI.
 *
 * @since 0.1.0
 */
import type * as Usage from "../domain/Usage.js"

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
  genAiAgentName: "gen_ai.agent.name",
  genAiConversationId: "gen_ai.conversation.id",
  genAiRequestModel: "gen_ai.request.model",
  genAiRequestTemperature: "gen_ai.request.temperature",
  genAiRequestMaxTokens: "gen_ai.request.max_tokens",
  genAiResponseModel: "gen_ai.response.model",
  genAiResponseId: "gen_ai.response.id",
  genAiFinishReasons: "gen_ai.response.finish_reasons",
  genAiInputTokens: "gen_ai.usage.input_tokens",
  genAiOutputTokens: "gen_ai.usage.output_tokens",
  genAiToolName: "gen_ai.tool.name",
  genAiToolCallId: "gen_ai.tool.call.id",
  genAiToolType: "gen_ai.tool.type",
  genAiInputMessages: "gen_ai.input.messages",
  genAiOutputMessages: "gen_ai.output.messages",
  genAiToolArguments: "gen_ai.tool.call.arguments",
  genAiToolResult: "gen_ai.tool.call.result",
  errorType: "error.type"
} as const

/**
 * Attributes of a run's span at its start.
 *
 * @since 0.1.0
 * @category attributes
 */
export const execute = (options: {
  readonly agent: string
  readonly messageLength: number
  readonly sessionId?: string | undefined
}): Record<string, unknown> =>
  // Keys are written out, here and below: objects with computed keys cost a microsecond more, and a test holds them to `attribute`.
  options.sessionId === undefined
    ? {
        "agent.name": options.agent,
        "agent.message_length": options.messageLength,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": options.agent
      }
    : {
        "agent.name": options.agent,
        "agent.message_length": options.messageLength,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": options.agent,
        "agent.session_id": options.sessionId,
        "gen_ai.conversation.id": options.sessionId
      }

/**
 * Attributes of a model call's span at its start.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llm = (options: {
  readonly agent: string
  readonly iteration: number
  readonly provider: string
}): Record<string, unknown> => ({
  "agent.name": options.agent,
  "agent.iteration": options.iteration,
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": options.provider
})

/**
 * What a model call's span says of the request, handed to `set` one by one.
 *
 * @since 0.1.0
 * @category attributes
 */
export const llmRequest = (
  request: {
    readonly model?: string | undefined
    readonly temperature?: number | undefined
    readonly maxTokens?: number | undefined
  },
  set: (key: string, value: unknown) => void
): void => {
  if (request.model !== undefined) set(attribute.genAiRequestModel, request.model)
  if (request.temperature !== undefined) set(attribute.genAiRequestTemperature, request.temperature)
  if (request.maxTokens !== undefined) set(attribute.genAiRequestMaxTokens, request.maxTokens)
}

/**
 * Attributes a model call's span gets when the answer is there, handed to `set` one by one.
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
  if (response.usage.inputTokens !== undefined) set(attribute.genAiInputTokens, response.usage.inputTokens)
  if (response.usage.outputTokens !== undefined) set(attribute.genAiOutputTokens, response.usage.outputTokens)
}

/**
 * Attributes of a tool call's span.
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
  "gen_ai.tool.name": options.tool,
  "gen_ai.tool.call.id": options.callId,
  "gen_ai.tool.type": "function"
})
