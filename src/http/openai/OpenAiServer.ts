/**
 * Serves agents as models of OpenAI's API, for its clients and for those of the many tools that speak it.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import * as Runs from "../../agent/runs/Runs.js"
import type * as AgentServer from "../api/AgentServer.js"
import type * as ApiLimits from "../api/ApiLimits.js"
import { Caller } from "../api/Authentication.js"
import * as ChatCompletion from "./ChatCompletion.js"
import * as ChatRequest from "./ChatRequest.js"
import { type Model, OpenAiApi } from "./OpenAiApi.js"
import * as OpenAiFailures from "./OpenAiFailures.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ChatCompletion.Options {
  /** The agents that are offered as models, of those of the runs. */
  readonly agents: ReadonlyArray<Agent.Any>
}

const unknownModel = OpenAiFailures.refused(
  ["model"],
  "model_not_found",
  "This server offers no agent with this name",
  "Take a model of GET /openai/v1/models"
)

const layer = (options: Options, limits: ApiLimits.Limits) => {
  const agents = new Map(options.agents.map((agent) => [agent.name, agent]))
  const modelOf = (id: string): Model => ({ id, object: "model", created: 0, owned_by: "effect-lexigram" })
  return HttpApiBuilder.group(OpenAiApi, "openai", (handlers) =>
    Effect.map(Runs.Runs, (runs) =>
      handlers
        .handle("openAiModels", () =>
          Effect.succeed({ object: "list" as const, data: Array.from(agents.keys(), modelOf) })
        )
        .handle("openAiModel", ({ path: { model } }) =>
          agents.has(model) ? Effect.succeed(modelOf(model)) : unknownModel
        )
        .handle("openAiChat", ({ payload }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const agent = agents.get(payload.model)
            if (agent === undefined) return yield* unknownModel
            const hasOutput = agent.definition.output !== undefined
            const request = yield* ChatRequest.toStart(payload, hasOutput)
            yield* limits.stream(caller)
            const policy = limits.policy(caller)
            const limited = policy === undefined ? request : { ...request, policy }
            const chat = yield* ChatCompletion.start(runs, caller, limited, { ...options, isWhole: hasOutput })
            return yield* payload.stream === true
              ? chat.stream(payload.stream_options?.include_usage === true)
              : chat.whole
          })
        )
    )
  )
}

/**
 * `/openai/v1/models` and `/openai/v1/chat/completions`, for `AgentServer.layer({ agents, edges: [edge] })`. Clients
 * have the URL of the server with `/openai/v1` as their base URL, and the credentials of the caller as their key.
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
