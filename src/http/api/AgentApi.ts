/**
 * The HTTP API of agents: one definition for the server, the OpenAPI page and the typed client.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiMiddleware from "@effect/platform/HttpApiMiddleware"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import { RunState } from "../../agent/record/RunRecord.js"
import * as ApiModels from "./ApiModels.js"
import {
  Conflict,
  Failed,
  Forbidden,
  Invalid,
  Rate,
  TooLarge,
  Unauthenticated,
  Unavailable,
  Unknown,
  Unsupported
} from "./ApiStatus.js"
import { Caller } from "./Authentication.js"
import * as OwnerApi from "./OwnerApi.js"
import * as SessionApi from "./SessionApi.js"

/**
 * Finds the caller, checks what it may do and how much, and fails without one.
 *
 * @since 0.1.0
 * @category middleware
 */
export class Authenticated extends HttpApiMiddleware.Tag<Authenticated>()("effect-lexigram/http/Authenticated", {
  provides: Caller,
  failure: Schema.Union(Unauthenticated, Forbidden, TooLarge, Rate, Failed, Unavailable)
}) {}

const Id = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256))
const runId = ApiModels.pathParam("runId", Id)
/** It has the id of a run in it. */
const requestId = ApiModels.pathParam("requestId", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512)))

const agents = HttpApiGroup.make("agents")
  .add(
    HttpApiEndpoint.get("listAgents", "/agents")
      .addSuccess(Schema.Struct({ agents: Schema.Array(ApiModels.AgentInfo) }))
      .annotate(OpenApi.Summary, "The agents that this server offers")
  )
  .add(
    HttpApiEndpoint.get("getAgent")`/agents/${ApiModels.pathParam("name", Id)}`
      .addSuccess(ApiModels.AgentInfo)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "One agent")
  )

/**
 * Members of the header that make a start safe to repeat.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StartHeaders = Schema.Struct({
  /** The same key and request is the same run; another request with the key is a conflict. */
  "idempotency-key": Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))
})

const events = Schema.String.pipe(
  HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" })
).annotations({
  description: "Server-sent events: `id` is the number of the event, `event` its kind, `data` its public view as JSON"
})

const runs = HttpApiGroup.make("runs")
  .add(
    HttpApiEndpoint.post("startRun", "/runs")
      .setHeaders(StartHeaders)
      .setUrlParams(Schema.Struct({ wait: Schema.optional(ApiModels.numberBetween(0, 600)) }))
      .setPayload(ApiModels.StartRun)
      .addSuccess(ApiModels.RunWithAnswer, { status: 202 })
      .addSuccess(ApiModels.RunWithAnswer.annotations({ identifier: "effect-lexigram/http/ApiModels/EndedRun" }), {
        status: 200
      })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Starts a run")
      .annotate(
        OpenApi.Description,
        "Returns once the run is accepted (202), or with `wait` once it has ended (200) or so many seconds have passed (202)."
      )
  )
  .add(
    HttpApiEndpoint.post("streamRun", "/runs/stream")
      .setHeaders(StartHeaders)
      .setUrlParams(Schema.Struct({ detach: Schema.optional(Schema.BooleanFromString) }))
      .setPayload(ApiModels.StartRun)
      .addSuccess(events)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Starts a run and follows it")
      .annotate(
        OpenApi.Description,
        "The header `Lexigram-Run-Id` names the run. When the caller leaves and does not come back for its events, the run is interrupted, unless `detach` is true."
      )
  )
  .add(
    HttpApiEndpoint.get("listRuns", "/runs")
      .setUrlParams(
        Schema.Struct({
          agent: Schema.optional(Id),
          sessionId: Schema.optional(Id),
          state: Schema.optional(RunState),
          createdFrom: Schema.optional(Schema.NumberFromString),
          createdBefore: Schema.optional(Schema.NumberFromString),
          limit: Schema.optional(ApiModels.numberBetween(1, 500)),
          cursor: Schema.optional(Schema.String.pipe(Schema.maxLength(1024)))
        })
      )
      .addSuccess(ApiModels.RunPage)
      .addError(Invalid)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "The runs of the caller, the newest first")
  )
  .add(
    HttpApiEndpoint.get("getRun")`/runs/${runId}`
      .addSuccess(ApiModels.RunWithAnswer)
      .addError(Unknown)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "One run, with its answer once it has ended")
  )
  .add(
    HttpApiEndpoint.get("runEvents")`/runs/${runId}/events`
      .setUrlParams(Schema.Struct({ from: Schema.optional(ApiModels.numberBetween(0, Number.MAX_SAFE_INTEGER)) }))
      .addSuccess(events)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "The events of a run, those that were and those that come")
      .annotate(
        OpenApi.Description,
        "`Last-Event-ID` or `from` says where to go on. 204 after the last event: a browser does not connect again."
      )
  )
  .add(
    HttpApiEndpoint.post("interruptRun")`/runs/${runId}/interrupt`
      .addSuccess(ApiModels.Run)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Interrupts a run, and returns it when it has ended")
  )
  .add(
    HttpApiEndpoint.post("steerRun")`/runs/${runId}/messages`
      .setPayload(Schema.Struct({ message: Schema.String.pipe(Schema.minLength(1)) }))
      .addSuccess(HttpApiSchema.Accepted)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Adds a message that the model sees with its next call")
  )
  .add(
    HttpApiEndpoint.post("resumeRun")`/runs/${runId}/resume`
      .addSuccess(ApiModels.Run)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unsupported)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Goes on with a run whose process ended")
  )
  .add(
    HttpApiEndpoint.post("forkRun")`/runs/${runId}/fork`
      .setPayload(
        Schema.Struct({
          step: Schema.NonNegativeInt,
          input: Schema.optional(ApiModels.Input),
          labels: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
        })
      )
      .addSuccess(ApiModels.Run, { status: 202 })
      .addError(Invalid)
      .addError(Unknown)
      .addError(Unsupported)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Starts a run that goes on from a step of another one")
  )

const approvals = HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("listApprovals", "/approvals")
      .setUrlParams(
        Schema.Struct({
          runId: Schema.optional(Id),
          sessionId: Schema.optional(Id),
          limit: Schema.optional(ApiModels.numberBetween(1, 500))
        })
      )
      .addSuccess(Schema.Struct({ approvals: Schema.Array(ApiModels.WaitingRequest) }))
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Tool calls and questions that wait for a person, the oldest first")
  )
  .add(
    HttpApiEndpoint.get("getApproval")`/approvals/${requestId}`
      .addSuccess(ApiModels.WaitingRequest)
      .addError(Unknown)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "One request that waits or was settled")
  )
  .add(
    HttpApiEndpoint.post("decideApproval")`/approvals/${requestId}/decision`
      .setPayload(ApiModels.Decision)
      .addSuccess(HttpApiSchema.NoContent)
      .addError(Invalid)
      .addError(Unknown)
      .addError(Conflict)
      .addError(Unavailable)
      .annotate(OpenApi.Summary, "Decides a tool call, or answers a question")
  )

const system = HttpApiGroup.make("system", { topLevel: true }).add(
  HttpApiEndpoint.get("health", "/health")
    .addSuccess(ApiModels.Health)
    .addError(Unavailable)
    .annotate(OpenApi.Summary, "Whether the server can work")
)

/**
 * Agents, runs, requests that wait for a person, sessions, memory, skills and metrics. Everything belongs to the
 * caller: what belongs to another one looks like nothing. Failures are `application/problem+json` (`ApiError`).
 *
 * @since 0.1.0
 * @category constants
 */
export class AgentApi extends HttpApi.make("effect-lexigram/http/AgentApi")
  .add(agents.middleware(Authenticated))
  .add(runs.middleware(Authenticated))
  .add(approvals.middleware(Authenticated))
  .add(SessionApi.group.middleware(Authenticated))
  .add(OwnerApi.memory.middleware(Authenticated))
  .add(OwnerApi.owner.middleware(Authenticated))
  .add(OwnerApi.offers.middleware(Authenticated))
  .add(system)
  .addError(Failed)
  .prefix("/v1")
  .annotate(OpenApi.Title, "Agents")
  .annotate(OpenApi.Version, "1") {}
