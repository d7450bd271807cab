/**
 * The endpoints of the bindings of the protocol by JSON-RPC and by HTTP+JSON.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as Schema from "effect/Schema"
import { Authenticated } from "../http/api/AgentApi.js"
import { Unknown } from "../http/api/ApiStatus.js"

const segment = <const Name extends string>(name: Name, longest = 256) =>
  HttpApiSchema.param(name, Schema.String.pipe(Schema.minLength(1), Schema.maxLength(longest)))

const agent = segment("agent")
/** The id of a task, and what is to be done with it: `:cancel` or `:subscribe`. */
const task = segment("task", 512)
const config = segment("config")

const rpc = HttpApiGroup.make("a2a")
  .add(HttpApiEndpoint.get("a2aServerCard", "/.well-known/agent-card.json").addSuccess(Schema.Unknown))
  .add(
    HttpApiEndpoint.get("a2aCard")`/a2a/${agent}/.well-known/agent-card.json`
      .addSuccess(Schema.Unknown)
      .addError(Unknown)
  )
  .add(
    HttpApiEndpoint.post("a2aCall")`/a2a/${agent}`
      .setPayload(Schema.Unknown)
      .addSuccess(Schema.Unknown)
      .addError(Unknown)
      .middleware(Authenticated)
  )

/** The bodies are read by the handlers: some of these calls have none. */
const rest = HttpApiGroup.make("a2aRest")
  .add(HttpApiEndpoint.post("a2aMessage")`/a2a/${agent}/${segment("verb")}`.addSuccess(Schema.Unknown))
  .add(
    HttpApiEndpoint.get("a2aTasks")`/a2a/${agent}/tasks`.addSuccess(Schema.Unknown).setUrlParams(
      Schema.Struct({
        contextId: Schema.optional(Schema.String),
        status: Schema.optional(Schema.String),
        pageSize: Schema.optional(Schema.NumberFromString),
        pageToken: Schema.optional(Schema.String),
        includeArtifacts: Schema.optional(Schema.BooleanFromString)
      })
    )
  )
  .add(HttpApiEndpoint.get("a2aTask")`/a2a/${agent}/tasks/${task}`.addSuccess(Schema.Unknown))
  .add(HttpApiEndpoint.post("a2aTaskVerb")`/a2a/${agent}/tasks/${task}`.addSuccess(Schema.Unknown))
  .add(
    HttpApiEndpoint.post("a2aCreatePush")`/a2a/${agent}/tasks/${task}/pushNotificationConfigs`.addSuccess(
      Schema.Unknown
    )
  )
  .add(HttpApiEndpoint.get("a2aPushes")`/a2a/${agent}/tasks/${task}/pushNotificationConfigs`.addSuccess(Schema.Unknown))
  .add(
    HttpApiEndpoint.get("a2aPush")`/a2a/${agent}/tasks/${task}/pushNotificationConfigs/${config}`.addSuccess(
      Schema.Unknown
    )
  )
  .add(
    HttpApiEndpoint.del("a2aDeletePush")`/a2a/${agent}/tasks/${task}/pushNotificationConfigs/${config}`.addSuccess(
      Schema.Unknown
    )
  )
  .add(HttpApiEndpoint.get("a2aExtendedCard")`/a2a/${agent}/extendedAgentCard`.addSuccess(Schema.Unknown))
  .addError(Unknown)
  .middleware(Authenticated)

/**
 * @category endpoints
 */
export const Api = HttpApi.make("a2a").add(rpc).add(rest)
