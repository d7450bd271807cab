/**
 * Spans and metrics of model calls.
 *
 * @private
 * @since 0.1.0
 */
import * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import * as CallMeter from "../../llm/model/CallMeter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as GenAiMessages from "../../observability/GenAiMessages.js"
import * as ModelMetrics from "../../observability/ModelMetrics.js"
import type * as Run from "../../observability/Run.js"
import * as Telemetry from "../../observability/Telemetry.js"
import type { Fatality } from "../../tool/ToolRunner.js"

/** The outcome of a call, with the usage of requests that did not lead to the answer. */
export interface Outcome {
  readonly exit: Exit.Exit<LlmClient.LlmResponse, LlmError | Fatality>
  readonly lost: ReadonlyArray<LlmClient.Spent>
}

/** Records the metrics of a call. */
export const record = (provider: string, model: string | undefined, { exit, lost }: Outcome, durationMs: number) => {
  const { called } = ModelMetrics.forModel(provider, model)
  if (Exit.isFailure(exit)) called({ durationMs, errorType: Telemetry.errorType(exit.cause), lost })
  else called({ durationMs, responseModel: exit.value.model, usage: exit.value.usage, lost })
}

/** Adds the outcome of a call to its span. With a redactor the span carries the answer. */
export const annotate = (
  span: Tracer.Span,
  { exit, lost }: Outcome,
  redactor: Telemetry.Redactor | undefined
): void => {
  const set = (key: string, value: unknown) => span.attribute(key, value)
  if (Exit.isFailure(exit)) {
    set(Telemetry.attribute.errorType, Telemetry.errorType(exit.cause))
    if (lost.length > 0) Telemetry.llmUsage(CallMeter.total(lost), set)
    return
  }
  Telemetry.llmResponse(exit.value, set)
  if (redactor !== undefined) {
    set(Telemetry.attribute.genAiOutputMessages, GenAiMessages.output(redactor, exit.value))
  }
}

/** The span of a call. With a redactor it carries the request's messages. */
export const span = (
  run: Run.Service,
  options: {
    readonly provider: string
    readonly request: LlmClient.LlmRequest
    readonly settings: ModelSettings
    readonly model: string | undefined
    readonly iteration: number
    readonly stream: boolean
    readonly redactor: Telemetry.Redactor | undefined
  }
) => {
  const { iteration, model, provider, redactor, request, stream } = options
  const attributes = Telemetry.llm({ agent: run.agent, iteration, provider, sessionId: run.sessionId })
  const set = (key: string, value: unknown) => {
    attributes[key] = value
  }
  const { frequencyPenalty, maxTokens, presencePenalty, seed, stop, temperature, topP } = options.settings
  const asked = { model, temperature, maxTokens, topP, stop, seed, presencePenalty, frequencyPenalty, stream }
  Telemetry.llmRequest(asked, set)
  if (request.responseFormat !== undefined) set(Telemetry.attribute.genAiOutputType, request.responseFormat.type)
  if (redactor !== undefined) {
    set(Telemetry.attribute.genAiInputMessages, GenAiMessages.input(redactor, request.messages))
  }
  return attributes
}
