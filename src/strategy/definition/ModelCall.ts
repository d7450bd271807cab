/**
 * The contract of a strategy's model calls: the model of a task, and the interceptors around its calls.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { Body } from "../../domain/AgentEvent.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import type * as CallGate from "../../llm/model/CallGate.js"
import type * as CallMeter from "../../llm/model/CallMeter.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { Fatality } from "../../tool/ToolRunner.js"

/**
 * The provider and model a call goes to, as far as they are known before it answers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Target extends CallGate.Target {}

/**
 * A wrapper around the model calls of a run. Limits and budgets use it to see a call before and after. `spent` returns
 * the usage of requests sent from here, apart from the answer (`CallMeter.spent`). Call it once the call has ended,
 * whatever its outcome.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelCallInterceptor = (
  request: LlmClient.LlmRequest,
  next: (request: LlmClient.LlmRequest) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>,
  target: Target,
  spent: CallMeter.CallMeter["spent"]
) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>

/**
 * The interceptors of the current run, outermost first. They wrap the calls of its strategy and those of its tools,
 * skills, guards and memory.
 *
 * @since 0.1.0
 * @category tags
 */
export class ModelCallInterceptors extends Ambient.Reference<ModelCallInterceptors>()(
  "effect-lexigram/strategy/ModelCall/ModelCallInterceptors",
  { defaultValue: (): ReadonlyArray<ModelCallInterceptor> => [] }
) {}

/**
 * Interceptors around the calls of the strategy only, outside `ModelCallInterceptors`. They handle what belongs to the
 * conversation.
 *
 * @since 0.1.0
 * @category tags
 */
export class ConversationInterceptors extends Ambient.Reference<ConversationInterceptors>()(
  "effect-lexigram/strategy/ModelCall/ConversationInterceptors",
  { defaultValue: (): ReadonlyArray<ModelCallInterceptor> => [] }
) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface CallOptions {
  /** The step the call belongs to, from 1. */
  readonly step: number
  /**
   * Turns parts of the answer into live events. Default: text becomes `TextDelta` and reasoning becomes
   * `ReasoningDelta`.
   */
  readonly deltas?: ((parts: ReadonlyArray<LlmClient.LlmPart>) => ReadonlyArray<Body>) | undefined
  /**
   * Receives the parts as they arrive, whether or not the run has a reader. When set, the answer is always streamed.
   */
  readonly onParts?: LlmClient.OnParts | undefined
}

/**
 * A model bound to one task.
 *
 * @since 0.1.0
 * @category models
 */
export interface Model {
  readonly client: LlmClient.Service
  readonly call: (
    request: LlmClient.LlmRequest,
    options: CallOptions
  ) => Effect.Effect<LlmClient.LlmResponse, LlmError | Fatality>
}
