/**
 * The endpoints of OpenAI's API that a server of agents has: its agents are the models.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { Authenticated } from "../api/AgentApi.js"
import { Conflict, Forbidden, Invalid, Unavailable, Unknown, Unsupported } from "../api/ApiStatus.js"
import { ChatRequest } from "./ChatRequest.js"
import { ResponseRequest } from "./ResponseRequest.js"

const Model = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("model"),
  /** Agents have no date. */
  created: Schema.Number,
  owned_by: Schema.String
})
/**
 * @category models
 */
export interface Model extends Schema.Schema.Type<typeof Model> {}

const model = HttpApiSchema.param("model", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))

const responseId = HttpApiSchema.param("responseId", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(300)))

const group = HttpApiGroup.make("openai")
  .add(
    HttpApiEndpoint.get("openAiModels", "/openai/v1/models").addSuccess(
      Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(Model) })
    )
  )
  .add(HttpApiEndpoint.get("openAiModel")`/openai/v1/models/${model}`.addSuccess(Model))
  .add(
    HttpApiEndpoint.post("openAiChat", "/openai/v1/chat/completions")
      .setPayload(ChatRequest)
      .addSuccess(Schema.Unknown)
      .addError(Conflict)
      .addError(Unsupported)
  )
  .add(
    HttpApiEndpoint.post("openAiResponse", "/openai/v1/responses")
      .setPayload(ResponseRequest)
      .addSuccess(Schema.Unknown)
      .addError(Conflict)
      .addError(Forbidden)
      .addError(Unsupported)
  )
  .add(HttpApiEndpoint.get("openAiGetResponse")`/openai/v1/responses/${responseId}`.addSuccess(Schema.Unknown))
  .add(
    HttpApiEndpoint.post("openAiCancelResponse")`/openai/v1/responses/${responseId}/cancel`
      .addSuccess(Schema.Unknown)
      .addError(Conflict)
  )
  .addError(Invalid)
  .addError(Unknown)
  .addError(Unavailable)
  .middleware(Authenticated)

/**
 * @category apis
 */
export const OpenAiApi = HttpApi.make("openai").add(group)
