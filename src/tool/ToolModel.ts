/**
 * Model calls of tools, by the model of the run that they serve.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as LlmClient from "../llm/model/LlmClient.js"
import { LlmConfigurationError, type LlmError } from "../llm/model/LlmError.js"
import * as LlmGateway from "../llm/model/LlmGateway.js"

const absent = new LlmConfigurationError({
  message: "There is no model: no run is in progress",
  hint: "Call it in the handler of a tool, or provide LlmClient"
})

/**
 * Makes one model call in the handler of a tool, which requires nothing for it. The call is the run's: it counts in its
 * usage, cost, limits and budgets, and governance and hooks see it. A call that does not fit fails with
 * `LlmCallRefusedError`; where the limit is the run's, its own next call fails in the same way and ends it. The
 * settings of the agent do not apply: the request has its own. Guards judge the result of the tool, not the texts of
 * the call.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Tool from "effect-lexigram/tool"
 * import { LlmClient } from "effect-lexigram/llm"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const shorten = Tool.Tool.make("shorten", {
 *   description: "Says a text in one sentence",
 *   parameters: { text: Schema.String },
 *   handler: ({ text }) =>
 *     Effect.map(
 *       Tool.ToolModel.complete({ messages: [{ role: "user", content: `In one sentence: ${text}` }] }),
 *       LlmClient.text
 *     )
 * })
 * ```
 */
export const complete = (
  request: LlmClient.LlmRequest,
  options?: LlmClient.CompleteOptions | undefined
): Effect.Effect<LlmClient.LlmResponse, LlmError | LlmConfigurationError> =>
  Effect.flatMap(
    Effect.serviceOption(LlmClient.LlmClient),
    (client): Effect.Effect<LlmClient.LlmResponse, LlmError | LlmConfigurationError> =>
      Option.isNone(client)
        ? absent
        : Effect.provideService(LlmGateway.complete(request, options), LlmClient.LlmClient, client.value)
  )
