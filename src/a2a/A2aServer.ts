/**
 * Serves agents to other agents by the Agent2Agent protocol 1.0.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import type * as AgentServer from "../http/api/AgentServer.js"
import type * as ApiLimits from "../http/api/ApiLimits.js"
import * as Authentication from "../http/api/Authentication.js"
import * as EventStream from "../http/api/EventStream.js"
import { Api } from "./A2aApi.js"
import * as A2aCalls from "./A2aCalls.js"
import * as A2aFailures from "./A2aFailures.js"
import * as A2aMethods from "./A2aMethods.js"
import { type AgentCard, Call, type Update, VERSION } from "./A2aModels.js"
import * as A2aPush from "./A2aPush.js"
import * as A2aRest from "./A2aRest.js"
import type * as A2aTasks from "./A2aTasks.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends A2aTasks.Options, EventStream.Options {
  /** The agents that others may talk to, of those of the runs. The first one is that of the server as such. */
  readonly agents: ReadonlyArray<Agent.Any>
  /** The URL of the server as others see it; default: as the request for the card names it. */
  readonly url?: string | undefined
}

const MODES = ["text/plain", "application/json"]

const schemeOf = (scheme: Authentication.Scheme) =>
  scheme.type === "bearer"
    ? { httpAuthSecurityScheme: { scheme: "bearer", ...(scheme.format ? { bearerFormat: scheme.format } : {}) } }
    : { apiKeySecurityScheme: { location: "header", name: scheme.header } }

/** The card of an agent: its name and description; never its prompts or tools. */
const cardOf = (
  { definition: { description = "" }, name }: Agent.Any,
  url: string,
  schemes: ReadonlyArray<Authentication.Scheme>,
  pushNotifications: boolean
): AgentCard => ({
  name,
  description,
  version: "1",
  supportedInterfaces: ["JSONRPC", "HTTP+JSON"].map((protocolBinding) => ({
    url,
    protocolBinding,
    protocolVersion: VERSION
  })),
  capabilities: { streaming: true, pushNotifications, extendedAgentCard: false },
  defaultInputModes: MODES,
  defaultOutputModes: MODES,
  skills: [{ id: name, name, description, tags: [] }],
  ...(schemes.length === 0
    ? {}
    : {
        securitySchemes: Object.fromEntries(schemes.map((scheme) => [scheme.type, schemeOf(scheme)])),
        securityRequirements: schemes.map(({ type }) => ({ schemes: { [type]: { list: [] } } }))
      })
})

/** Where the caller found the server. */
const originOf = ({ headers, source }: HttpServerRequest.HttpServerRequest): string => {
  const host = headers["host"] ?? "localhost"
  const isSecure = (source as { readonly socket?: { readonly encrypted?: boolean } }).socket?.encrypted === true
  return `${isSecure ? "https" : "http"}://${host}`
}

/** The answer to a call of JSON-RPC. */
const responseOf = (
  { id }: Call,
  answer: A2aMethods.Answer,
  options: Options
): Effect.Effect<HttpServerResponse.HttpServerResponse, never, Scope.Scope> => {
  const reply = (result: unknown) => ({ jsonrpc: "2.0", id, result })
  if (answer._tag === "Value") return Effect.succeed(HttpServerResponse.unsafeJson(reply(answer.value)))
  return EventStream.response((push) => {
    const sent = (updates: ReadonlyArray<Update>) =>
      push(updates.map((update) => ({ data: JSON.stringify(reply(update)) })))
    return Effect.zipRight(sent([answer.head]), answer.follow(sent)).pipe(
      Effect.catchAll((failure) => push([{ data: JSON.stringify(A2aFailures.toReply(id, failure)) }]))
    )
  }, options)
}

const unknownMethod = new A2aFailures.CallFailure({ kind: "method", message: "A2A 1.0 has no such method" })
const notACall = new A2aFailures.CallFailure({ kind: "request", message: "The body is not one call of JSON-RPC 2.0" })

const decodeCall = Schema.decodeUnknownOption(Call)

const layerRpc = (options: Options, limits: ApiLimits.Limits) => {
  const agents = new Map(options.agents.map((agent) => [agent.name, agent]))
  return HttpApiBuilder.group(Api, "a2a", (handlers) =>
    Effect.gen(function* () {
      const callOf = yield* A2aCalls.make(options, limits)
      const push = yield* Effect.serviceOption(A2aPush.A2aPush)
      const { schemes } = yield* Authentication.Authentication
      const card = (agent: Agent.Any | undefined, request: HttpServerRequest.HttpServerRequest) => {
        if (agent === undefined) return A2aCalls.unknownAgent
        const base = (options.url ?? originOf(request)).replace(/\/$/, "")
        return Effect.succeed(
          cardOf(agent, `${base}/a2a/${encodeURIComponent(agent.name)}`, schemes, Option.isSome(push))
        )
      }
      return handlers
        .handle("a2aServerCard", ({ request }) => Effect.orDie(card(options.agents[0], request)))
        .handle("a2aCard", ({ path, request }) => card(agents.get(path.agent), request))
        .handle("a2aCall", ({ path, payload, request }) => {
          const call = Option.getOrUndefined(decodeCall(payload))
          return Effect.gen(function* () {
            const by = yield* callOf(path.agent, request)
            if (call === undefined) return yield* notACall
            const method = A2aMethods.methods.get(call.method)
            if (method === undefined) return yield* unknownMethod
            return yield* responseOf(call, yield* method(by, call.params), options)
          }).pipe(
            Effect.catchTag("CallFailure", (failure) =>
              HttpServerResponse.unsafeJson(A2aFailures.toReply(call?.id ?? null, failure))
            )
          )
        })
    })
  )
}

/**
 * The agents for `AgentServer.layer({ agents, edges: [edge] })`: each at `/a2a/<agent>` by JSON-RPC and by HTTP+JSON,
 * with its card at `/a2a/<agent>/.well-known/agent-card.json`. Cards are public. A task is a run, its context a session
 * where the server keeps sessions. A caller that leaves does not end its task. With a layer of `A2aPush` in the context
 * of the server it notifies callers of their tasks.
 *
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { A2aServer } from "effect-lexigram/a2a"
 * import { AgentServer } from "effect-lexigram/http"
 *
 * const agents = [Agent.make("clerk", { description: "Helps at the desk", system: "You help at the desk." })]
 *
 * const server = AgentServer.layer({ agents, edges: [A2aServer.make({ agents })] })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): AgentServer.Edge => ({
  endpoints: Object.values(Api.groups).flatMap(
    (group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints)
  ),
  failures: { prefix: "/a2a/", write: A2aFailures.toFailure },
  layer: (limits) => Layer.discard(Layer.merge(layerRpc(options, limits), A2aRest.layer(options, limits)))
})
