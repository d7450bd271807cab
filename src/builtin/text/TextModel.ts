/**
 * Asks a model to transform a text, which is passed as data in a document, never as instructions.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as DataDocument from "../../internal/text/DataDocument.js"
import * as LlmTimeout from "../../llm/LlmTimeout.js"
import * as ModelRouter from "../../llm/ModelRouter.js"
import * as LlmClient from "../../llm/model/LlmClient.js"
import { type LlmError, LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"

/**
 * @since 0.1.0
 * @category constructors
 */
export const ask = (
  options: { readonly role: ModelRouter.Role; readonly timeout?: Duration.DurationInput | undefined },
  request: { readonly instructions: string; readonly document: unknown; readonly maxTokens: number }
): Effect.Effect<string, LlmError, ModelRouter.ModelRouter> =>
  Effect.gen(function* () {
    const resolved = yield* ModelRouter.resolve(options.role)
    const client = LlmTimeout.wrap({ whole: options.timeout ?? "60 seconds" })(resolved.client)
    const settings = ModelSettings.merge({ temperature: 0, maxTokens: request.maxTokens }, resolved.settings)
    const response = yield* client.complete({
      messages: [
        { role: "system", content: request.instructions },
        { role: "user", content: DataDocument.stringify(request.document) }
      ],
      settings
    })
    const text = LlmClient.text(response).trim()
    if (text !== "") return text
    const model = settings.model ?? client.model
    return yield* new LlmMalformedResponseError({
      message: `The model of the role "${options.role}" answered without text`,
      provider: client.provider,
      ...(model === undefined ? {} : { model })
    })
  })
