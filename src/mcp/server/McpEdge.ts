/**
 * Serves an MCP server over streamable HTTP, beside the other protocols of a server of agents.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpBody from "@effect/platform/HttpBody"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Authenticated } from "../../http/api/AgentApi.js"
import type * as AgentServer from "../../http/api/AgentServer.js"
import { ApiError } from "../../http/api/ApiError.js"
import type * as ApiLimits from "../../http/api/ApiLimits.js"
import { Invalid, Unavailable, Unknown } from "../../http/api/ApiStatus.js"
import { Caller, type Identity } from "../../http/api/Authentication.js"
import { Draining } from "../../http/api/EventStream.js"
import type { McpServerError } from "../offer/McpServerError.js"
import type { Definition, Services } from "./McpServer.js"
import * as ProtectedResource from "./ProtectedResource.js"
import * as Served from "./Served.js"
import * as ServedSessions from "./ServedSessions.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ServedSessions.Options {
  /** Default `/mcp`. */
  readonly path?: `/${string}` | undefined
  /**
   * Tells clients without credentials where they get them (RFC 9728). The server itself checks credentials by its layer
   * of `Authentication`, which must accept only tokens for this resource.
   */
  readonly oauth?: ProtectedResource.Options | undefined
}

const answers = Schema.Unknown

const apiOf = (path: `/${string}`, metadata: `/${string}` | undefined) => {
  const mcp = HttpApiGroup.make("mcp")
    .add(HttpApiEndpoint.post("mcpSend", path).addSuccess(answers))
    .add(HttpApiEndpoint.get("mcpListen", path).addSuccess(answers))
    .add(HttpApiEndpoint.del("mcpEnd", path).addSuccess(answers))
    .addError(Invalid)
    .addError(Unknown)
    .addError(Unavailable)
    .middleware(Authenticated)
  // Who has no credentials yet reads it.
  const open = HttpApiGroup.make("mcpMetadata").add(
    HttpApiEndpoint.get("mcpResource", metadata ?? "/.well-known/oauth-protected-resource").addSuccess(answers)
  )
  return HttpApi.make("mcp").add(mcp).add(open)
}

/** The request without its body, which was read within the bounds of the server. */
const toWeb = ({ headers, method }: HttpServerRequest.HttpServerRequest): Request =>
  new Request("http://localhost/", { method, headers: new Headers(headers) })

const isInitialize = (body: unknown): boolean =>
  typeof body === "object" && body !== null && (body as { readonly method?: unknown }).method === "initialize"

const COMMENT = new TextEncoder().encode(":\n\n")

/** The response with another stream of events, if it has one. */
const withEvents = (
  response: HttpServerResponse.HttpServerResponse,
  change: <E>(events: Stream.Stream<Uint8Array, E>) => Stream.Stream<Uint8Array, E>
): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  return body._tag === "Stream" && body.contentType.startsWith("text/event-stream")
    ? HttpServerResponse.setBody(response, HttpBody.stream(change(body.stream), body.contentType))
    : response
}

/** Servers send the headers of a response with its first bytes, which may be long in coming. */
const startingAtOnce = (response: HttpServerResponse.HttpServerResponse) =>
  withEvents(response, (events) => Stream.concat(Stream.make(COMMENT), events))

const endingWith = (response: HttpServerResponse.HttpServerResponse, end: Effect.Effect<void>) =>
  withEvents(response, Stream.interruptWhen(end))

/** The SDK answers, and its answer is streamed while the scope of the request is open. */
const answer = (
  session: ServedSessions.Session,
  request: HttpServerRequest.HttpServerRequest,
  caller: Identity,
  parsedBody?: unknown
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(
    Effect.promise(() =>
      session.transport.handleRequest(toWeb(request), {
        parsedBody,
        authInfo: { token: "", clientId: "", scopes: [...(caller.scopes ?? [])], extra: { caller } }
      })
    ),
    (response) => startingAtOnce(HttpServerResponse.fromWeb(response))
  )

const sessionIdOf = ({ headers }: HttpServerRequest.HttpServerRequest): Effect.Effect<string, ApiError> => {
  const id = headers["mcp-session-id"]
  return id === undefined
    ? new ApiError({ reason: "invalid", message: "The request needs the header Mcp-Session-Id" })
    : Effect.succeed(id)
}

const send = (
  sessions: ServedSessions.ServedSessions,
  request: HttpServerRequest.HttpServerRequest,
  caller: Identity
) =>
  Effect.gen(function* () {
    // The server writes this failure as those of all requests.
    const body = yield* Effect.orDie(request.json)
    if (!isInitialize(body) || request.headers["mcp-session-id"] !== undefined) {
      const session = yield* sessions.use(yield* sessionIdOf(request), caller)
      return yield* answer(session, request, caller, body)
    }
    const session = yield* sessions.begin(caller)
    const response = yield* answer(session, request, caller, body)
    if (session.transport.sessionId === undefined) yield* sessions.end(session)
    return response
  })

const layer = (
  { options }: Definition<any>,
  given: Options,
  api: ReturnType<typeof apiOf>,
  limits: ApiLimits.Limits
): Layer.Layer<never, McpServerError, Services | Authenticated> => {
  const handlers = HttpApiBuilder.group(api, "mcp", (handlers) =>
    Effect.gen(function* () {
      let isStopping = false
      const served = yield* Served.make(options, () => isStopping, limits.policy)
      const sessions = yield* ServedSessions.make(served, given)
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          isStopping = true
        })
      )
      const streaming = Effect.tap(Caller, limits.stream)
      return handlers
        .handle("mcpSend", ({ request }) => Effect.flatMap(streaming, (caller) => send(sessions, request, caller)))
        .handle("mcpListen", ({ request }) =>
          Effect.gen(function* () {
            const caller = yield* streaming
            const session = yield* sessions.use(yield* sessionIdOf(request), caller)
            const response = yield* answer(session, request, caller)
            // Calls do not end on it, unless a client takes up their stream again.
            return request.headers["last-event-id"] === undefined ? endingWith(response, yield* Draining) : response
          })
        )
        .handle("mcpEnd", ({ request }) =>
          Effect.gen(function* () {
            const caller = yield* Caller
            const session = yield* sessions.use(yield* sessionIdOf(request), caller)
            const response = yield* answer(session, request, caller)
            if (response.status < 300) yield* sessions.end(session)
            return response
          })
        )
    })
  )
  const { oauth } = given
  const metadata = HttpApiBuilder.group(api, "mcpMetadata", (handlers) =>
    handlers.handle("mcpResource", () =>
      oauth === undefined
        ? Effect.die(new ApiError({ reason: "unknown", message: "No endpoint has this path" }))
        : Effect.succeed(
            HttpServerResponse.unsafeJson(ProtectedResource.toMetadata(options.title ?? options.name, oauth), {
              headers: { "access-control-allow-origin": "*", "cache-control": "public, max-age=300" }
            })
          )
    )
  )
  return Layer.discard(oauth === undefined ? handlers : Layer.provideMerge(handlers, metadata))
}

/** As JSON-RPC writes failures; the code for sessions is that of the SDK. */
const toFailure = ({ hint, message, reason }: ApiError) => ({
  jsonrpc: "2.0",
  id: null,
  error: {
    code: reason === "unknown" ? -32001 : reason === "invalid" ? -32600 : -32000,
    message: hint === undefined ? message : `${message}. ${hint}`
  }
})

/**
 * Serves a definition at `/mcp`, for `AgentServer.layer({ agents, edges: [edge] })`: callers, limits, origins and audit
 * are those of the server. A session belongs to the caller that began it. A definition that cannot work, such as one
 * with two tools of one name, is a defect when the server is built.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentServer } from "effect-lexigram/http"
 * import { McpEdge, McpServer } from "effect-lexigram/mcp"
 *
 * const agents = [Agent.make("clerk", { system: "You help at the desk." })]
 * const desk = McpServer.make({ name: "desk", version: "1.0.0", agents })
 *
 * const server = AgentServer.layer({ agents, edges: [McpEdge.make(desk)] })
 * ```
 */
export const make = <R extends Services = never>(
  definition: Definition<R>,
  options: Options = {}
): AgentServer.Edge => {
  const path = options.path ?? "/mcp"
  const { oauth } = options
  const api = apiOf(path, oauth === undefined ? undefined : ProtectedResource.pathOf(oauth))
  return {
    endpoints: Object.values(api.groups)
      .flatMap((group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints))
      .filter(({ name }) => oauth !== undefined || name !== "mcpResource"),
    failures: {
      prefix: path,
      write: toFailure,
      ...(oauth === undefined ? {} : { headers: (error: ApiError) => ProtectedResource.toHeaders(oauth, error.reason) })
    },
    // What the program itself defined is not a failure that a server recovers from.
    layer: (limits) => Layer.orDie(layer(definition, options, api, limits))
  }
}
