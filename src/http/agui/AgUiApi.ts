/**
 * The endpoints of the AG-UI protocol.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { SessionId } from "../../domain/Ids.js"
import { Authenticated } from "../api/AgentApi.js"
import { Conflict, Invalid, Unavailable, Unknown } from "../api/ApiStatus.js"
import * as CallerTools from "../chat/CallerTools.js"
import { AgUiMessage } from "./AgUiMessage.js"

const MOST_MESSAGES = 10_000
/** As many requests of a run as are looked at. */
const MOST_ANSWERS = 100

const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512))

/** Some clients send `null` for what they leave out. */
const maybe = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })

const ResumeEntry = Schema.Struct({
  interruptId: Id,
  status: Schema.Literal("resolved", "cancelled"),
  payload: maybe(Schema.Unknown)
})
/**
 * @category models
 */
export interface ResumeEntry extends Schema.Schema.Type<typeof ResumeEntry> {}

/**
 * The body of a request. Other members are ignored: `context` and `forwardedProps` have no place in a run.
 *
 * @category schemas
 */
export const RunAgentInput = Schema.Struct({
  /** The conversation. With sessions it is the session too. */
  threadId: SessionId,
  runId: Id,
  messages: Schema.Array(AgUiMessage).pipe(Schema.maxItems(MOST_MESSAGES)),
  tools: Schema.optional(Schema.NullOr(CallerTools.list(CallerTools.Given))),
  state: maybe(Schema.Unknown),
  resume: maybe(Schema.Array(ResumeEntry).pipe(Schema.maxItems(MOST_ANSWERS)))
}).annotations({ identifier: "effect-lexigram/http/RunAgentInput" })
/**
 * @category models
 */
export interface RunAgentInput extends Schema.Schema.Type<typeof RunAgentInput> {}

const agent = HttpApiSchema.param("agent", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))

const stream = Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" }))

const group = HttpApiGroup.make("agui")
  .add(HttpApiEndpoint.post("agUiRun")`/agui/${agent}`.setPayload(RunAgentInput).addSuccess(stream))
  .add(HttpApiEndpoint.post("agUiConnect")`/agui/${agent}/connect`.setPayload(RunAgentInput).addSuccess(stream))
  .addError(Invalid)
  .addError(Unknown)
  .addError(Conflict)
  .addError(Unavailable)
  .middleware(Authenticated)

/**
 * @category apis
 */
export const AgUiApi = HttpApi.make("agui").add(group)
