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
}): Record<string, unknown> => {
  const attributes: Record<string, unknown> = {
    [attribute.agentName]: options.agent,
    [attribute.messageLength]: options.messageLength,
    [attribute.genAiOperation]: "invoke_agent",
    [attribute.genAiAgentName]: options.agent
  }
  if (options.sessionId !== undefined) {
    attributes[attribute.sessionId] = options.sessionId
    attributes[attribute.genAiConversationId] = options.sessionId
  }
  return attributes
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
  readonly model?: string | undefined
  readonly temperature?: number | undefined
  readonly maxTokens?: number | undefined
}): Record<string, unknown> => {
  const attributes: Record<string, unknown> = {
    [attribute.agentName]: options.agent,
    [attribute.iteration]: options.iteration,
    [attribute.genAiOperation]: "chat",
    [attribute.genAiProvider]: options.provider
  }
  if (options.model !== undefined) attributes[attribute.genAiRequestModel] = options.model
  if (options.temperature !== undefined) attributes[attribute.genAiRequestTemperature] = options.temperature
  if (options.maxTokens !== undefined) attributes[attribute.genAiRequestMaxTokens] = options.maxTokens
  return attributes
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
  [attribute.agentName]: options.agent,
  [attribute.toolName]: options.tool,
  [attribute.genAiOperation]: "execute_tool",
  [attribute.genAiToolName]: options.tool,
  [attribute.genAiToolCallId]: options.callId,
  [attribute.genAiToolType]: "function"
})
