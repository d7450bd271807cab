/**
 * The endpoints of chats of AI SDK UI: what `DefaultChatTransport` of `ai` 6 and 7 sends to them.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { SessionId } from "../../domain/Ids.js"
import { Authenticated } from "../api/AgentApi.js"
import * as ApiModels from "../api/ApiModels.js"
import { Conflict, Invalid, Unavailable, Unknown, Unsupported } from "../api/ApiStatus.js"
import * as SessionModels from "../api/SessionModels.js"
import { UiMessage } from "./UiMessage.js"

const MOST_MESSAGES = 10_000

const agent = HttpApiSchema.param("agent", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))
const chatId = HttpApiSchema.param("chatId", SessionId)
const requestId = HttpApiSchema.param("requestId", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512)))

/**
 * The body of a request of `DefaultChatTransport`. Other members are ignored. At most 10,000 messages.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ChatRequest = Schema.Struct({
  /** The chat. With sessions it is the session too. */
  id: SessionId,
  messages: Schema.Array(UiMessage).pipe(Schema.minItems(1), Schema.maxItems(MOST_MESSAGES)),
  trigger: Schema.optional(Schema.Literal("submit-message", "regenerate-message")),
  messageId: Schema.optional(Schema.String.pipe(Schema.maxLength(512)))
}).annotations({ identifier: "effect-lexigram/http/UiApi/ChatRequest" })
/**
 * @since 0.1.0
 * @category models
 */
export interface ChatRequest extends Schema.Schema.Type<typeof ChatRequest> {}

/**
 * A page of messages, the oldest first.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MessagePage = Schema.Struct({
  messages: Schema.Array(UiMessage),
  /** The `before` of the next page of older messages; absent on the last one. */
  next: Schema.optional(SessionModels.TurnCursor)
}).annotations({ identifier: "effect-lexigram/http/UiApi/MessagePage" })

const stream = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" }))

const group = HttpApiGroup.make("chat")
  .add(
    HttpApiEndpoint.post("sendMessages")`/ui/chat/${agent}`
      .setPayload(ChatRequest)
      .addSuccess(stream)
      .addError(Conflict)
  )
  .add(HttpApiEndpoint.get("followChat")`/ui/chat/${agent}/${chatId}/stream`.addSuccess(stream))
  .add(
    HttpApiEndpoint.get("chatMessages")`/ui/chat/${agent}/${chatId}/messages`
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optional(ApiModels.numberBetween(1, 500)),
          before: Schema.optional(SessionModels.TurnCursor)
        })
      )
      .addSuccess(MessagePage)
      .addError(Unsupported)
  )
  .add(HttpApiEndpoint.post("stopChat")`/ui/chat/${agent}/${chatId}/stop`.addSuccess(HttpApiSchema.NoContent))
  .add(
    HttpApiEndpoint.post("answerChat")`/ui/chat/${agent}/${chatId}/answers/${requestId}`
      .setPayload(ApiModels.Decision)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Conflict)
  )
  .addError(Invalid)
  .addError(Unknown)
  .addError(Unavailable)
  .middleware(Authenticated)

/**
 * @since 0.1.0
 * @category apis
 */
export const UiApi = HttpApi.make("ui").add(group)
