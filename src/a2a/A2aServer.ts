/**
 * Serves agents to other agents by the Agent2Agent protocol 1.0.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import * as Runs from "../agent/runs/Runs.js"
import { Authenticated } from "../http/api/AgentApi.js"
import type * as AgentServer from "../http/api/AgentServer.js"
import { ApiError } from "../http/api/ApiError.js"
import type * as ApiLimits from "../http/api/ApiLimits.js"
import { Unknown } from "../http/api/ApiStatus.js"
import * as Authentication from "../http/api/Authentication.js"
import * as EventStream from "../http/api/EventStream.js"
import * as SessionManager from "../session/manager/SessionManager.js"
import * as PendingApprovals from "../tool/approval/PendingApprovals.js"
import * as A2aFailures from "./A2aFailures.js"
import * as A2aMethods from "./A2aMethods.js"
import { type AgentCard, Call, type Update, VERSION } from "./A2aModels.js"
import * as A2aPush from "./A2aPush.js"
import * as A2aTasks from "./A2aTasks.js"

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

const agentName = HttpApiSchema.param("agent", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(256)))

const Api = HttpApi.make("a2a").add(
  HttpApiGroup.make("a2a")
    .add(HttpApiEndpoint.get("a2aServerCard", "/.well-known/agent-card.json").addSuccess(Schema.Unknown))
    .add(
      HttpApiEndpoint.get("a2aCard")`/a2a/${agentName}/.well-known/agent-card.json`
        .addSuccess(Schema.Unknown)
        .addError(Unknown)
    )
    .add(
      HttpApiEndpoint.post("a2aCall")`/a2a/${agentName}`
        .setPayload(Schema.Unknown)
        .addSuccess(Schema.Unknown)
        .addError(Unknown)
        .middleware(Authenticated)
    )
)

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
  supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: VERSION }],
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

/** Callers of an older version would not understand the answers. */
const checkVersion = ({
  headers
}: HttpServerRequest.HttpServerRequest): Effect.Effect<void, A2aFailures.CallFailure> => {
  const version = headers["a2a-version"]
  return version === undefined || /^(?:|1(?:\.\d{1,3})?)$/.test(version.trim())
    ? Effect.void
    : new A2aFailures.CallFailure({ kind: "version", message: `This server speaks version ${VERSION} of A2A` })
}

const decodeCall = Schema.decodeUnknownOption(Call)

const unknownAgent = new ApiError({ reason: "unknown", message: "This server offers no agent with this name" })

const layer = (options: Options, limits: ApiLimits.Limits) => {
  const agents = new Map(options.agents.map((agent) => [agent.name, agent]))
  return HttpApiBuilder.group(Api, "a2a", (handlers) =>
    Effect.gen(function* () {
      const runs = yield* Runs.Runs
      const pending = yield* PendingApprovals.PendingApprovals
      const sessions = Option.getOrUndefined(yield* Effect.serviceOption(SessionManager.SessionManager))
      const push = Option.getOrUndefined(yield* Effect.serviceOption(A2aPush.A2aPush))
      const { schemes } = yield* Authentication.Authentication
      const callOf = (agent: string, caller: Authentication.Identity): A2aMethods.Call => ({
        tasks: new A2aTasks.A2aTasks({
          agent,
          caller,
          runs,
          pending,
          options,
          sessions,
          policy: limits.policy(caller)
        }),
        caller: { agent, ...(caller.userId === undefined ? {} : { userId: caller.userId }) },
        push,
        stream: A2aTasks.ofApi(limits.stream(caller))
      })
      const card = (agent: Agent.Any | undefined, request: HttpServerRequest.HttpServerRequest) => {
        if (agent === undefined) return unknownAgent
        const base = (options.url ?? originOf(request)).replace(/\/$/, "")
        return Effect.succeed(
          cardOf(agent, `${base}/a2a/${encodeURIComponent(agent.name)}`, schemes, push !== undefined)
        )
      }
      return handlers
        .handle("a2aServerCard", ({ request }) => Effect.orDie(card(options.agents[0], request)))
        .handle("a2aCard", ({ path, request }) => card(agents.get(path.agent), request))
        .handle("a2aCall", ({ path, payload, request }) =>
          Effect.gen(function* () {
            const caller = yield* Authentication.Caller
            if (!agents.has(path.agent)) return yield* unknownAgent
            const call = Option.getOrUndefined(decodeCall(payload))
            const method = call === undefined ? undefined : A2aMethods.methods.get(call.method)
            const response =
              call === undefined
                ? notACall
                : Effect.zipRight(
                    checkVersion(request),
                    method === undefined
                      ? unknownMethod
                      : Effect.flatMap(method(callOf(path.agent, caller), call.params), (answer) =>
                          responseOf(call, answer, options)
                        )
                  )
            return yield* Effect.catchAll(response, (failure) =>
              HttpServerResponse.unsafeJson(A2aFailures.toReply(call?.id ?? null, failure))
            )
          })
        )
    })
  )
}

/**
 * The agents for `AgentServer.layer({ agents, edges: [edge] })`: each at `/a2a/<agent>` by JSON-RPC, with its card at
 * `/a2a/<agent>/.well-known/agent-card.json`. Cards are public. A task is a run, its context a session where the server
 * keeps sessions. A caller that leaves does not end its task. With a layer of `A2aPush` in the context of the server it
 * notifies callers of their tasks.
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
  layer: (limits) => Layer.discard(layer(options, limits))
})
