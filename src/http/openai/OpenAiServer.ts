/**
 * Serves agents as models of OpenAI's API, for its clients and for those of the many tools that speak it.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type { RunRecord } from "../../agent/record/RunRecord.js"
import * as Runs from "../../agent/runs/Runs.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import type * as AgentServer from "../api/AgentServer.js"
import type { ApiError } from "../api/ApiError.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import { accessOf, Caller, type Identity } from "../api/Authentication.js"
import * as Refusals from "../api/Refusals.js"
import { ChatCompletion } from "./ChatCompletion.js"
import * as ChatRequest from "./ChatRequest.js"
import * as ClientCalls from "./ClientCalls.js"
import * as ModelResponses from "./ModelResponses.js"
import { type Model, OpenAiApi } from "./OpenAiApi.js"
import * as OpenAiFailures from "./OpenAiFailures.js"
import type * as Run from "./OpenAiRun.js"
import { OpenAiRun } from "./OpenAiRun.js"
import * as ResponseRequest from "./ResponseRequest.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Run.Options {
  /** The agents that are offered as models, of those of the runs. */
  readonly agents: ReadonlyArray<Agent.Any>
}

const unknownModel = OpenAiFailures.refused(
  ["model"],
  "model_not_found",
  "This server offers no agent with this name",
  "Take a model of GET /openai/v1/models"
)

/** A run that ends with the scope. */
const holding =
  (runs: Runs.Service, pending: PendingApprovals.Service, options: Options) =>
  (
    caller: Identity,
    begun: Effect.Effect<RunRecord | ClientCalls.Answered, ApiError>,
    isWhole: boolean
  ): Effect.Effect<OpenAiRun, ApiError, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.map(begun, (begun) => {
        const { record, requests } = "record" in begun ? begun : { record: begun, requests: undefined }
        return new OpenAiRun(runs, pending, record, accessOf(caller), options, isWhole, requests)
      }),
      (run) => run.leave
    )

const layer = (options: Options, limits: ApiLimits.Limits) => {
  const agents = new Map(options.agents.map((agent) => [agent.name, agent]))
  const modelOf = (id: string): Model => ({ id, object: "model", created: 0, owned_by: "effect-lexigram" })
  const agentOf = (id: string): Effect.Effect<Agent.Any, ApiError> => {
    const agent = agents.get(id)
    return agent === undefined ? unknownModel : Effect.succeed(agent)
  }
  return HttpApiBuilder.group(OpenAiApi, "openai", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const pending = yield* PendingApprovals.PendingApprovals
      const sessions = Option.getOrUndefined(yield* Effect.serviceOption(SessionManager.SessionManager))
      const start = (
        { tenantId, userId }: Identity,
        request: Runs.StartRequest
      ): Effect.Effect<RunRecord, ApiError> => {
        const policy = limits.policy({ tenantId, userId })
        return Refusals.ofRun(
          runs.start({
            ...request,
            ...(policy === undefined ? {} : { policy }),
            ...(userId === undefined ? {} : { userId }),
            ...(tenantId === undefined ? {} : { tenantId })
          })
        )
      }
      const held = holding(runs, pending, options)
      const responses = new ModelResponses.ModelResponses(runs, pending, sessions, options)
      return handlers
        .handle("openAiModels", () =>
          Effect.succeed({ object: "list" as const, data: Array.from(agents.keys(), modelOf) })
        )
        .handle("openAiModel", ({ path: { model } }) => Effect.as(agentOf(model), modelOf(model)))
        .handle("openAiChat", ({ payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const agent = yield* agentOf(payload.model)
            const hasOutput = agent.definition.output !== undefined
            const results = ChatRequest.resultsOf(payload)
            const begun =
              results.length > 0
                ? ClientCalls.answer(runs, pending, accessOf(caller), agent.name, results, "messages")
                : Effect.flatMap(ChatRequest.toStart(payload, hasOutput, options.callsExpireAfter), (request) =>
                    start(caller, request)
                  )
            yield* limits.stream(caller)
            const chat = new ChatCompletion(
              yield* held(caller, begun, hasOutput || ChatRequest.formOf(payload) !== undefined)
            )
            return yield* payload.stream === true
              ? chat.stream(payload.stream_options?.include_usage === true)
              : chat.whole
          })
        )
        .handle("openAiResponse", ({ payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const agent = yield* agentOf(payload.model)
            const isWhole = agent.definition.output !== undefined || ResponseRequest.formOf(payload) !== undefined
            yield* limits.stream(caller)
            return yield* responses.create(caller, agent, payload, {
              start: (request) => start(caller, request),
              hold: (begun) => held(caller, begun, isWhole)
            })
          })
        )
        .handle("openAiGetResponse", ({ path }) =>
          Effect.flatMap(Caller, (caller) => responses.get(caller, path.responseId))
        )
        .handle("openAiCancelResponse", ({ path }) =>
          Effect.flatMap(Caller, (caller) => responses.cancel(caller, path.responseId))
        )
    })
  )
}

/**
 * `/openai/v1/models`, `/openai/v1/chat/completions` and `/openai/v1/responses`, for `edges` of `AgentServer.layer`.
 * Clients have the URL of the server with `/openai/v1` as their base URL, and the credentials of the caller as their
 * key.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentServer, OpenAiServer } from "effect-lexigram/http"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 *
 * const server = AgentServer.layer({ agents, edges: [OpenAiServer.make({ agents })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): AgentServer.Edge => ({
  endpoints: Object.values(OpenAiApi.groups).flatMap(
    (group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints)
  ),
  failures: { prefix: "/openai/", write: OpenAiFailures.toFailure },
  layer: (limits) => Layer.discard(layer(options, limits))
})
