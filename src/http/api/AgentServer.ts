/**
 * Serves agents over HTTP by `AgentApi`: with `@effect/platform` servers, or as a handler of web requests.
 *
 * @since 0.1.0
 */
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as AgentExecutor from "../../agent/AgentExecutor.js"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type * as Runs from "../../agent/runs/Runs.js"
import type * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as OpenRequests from "../request/OpenRequests.js"
import { AgentApi, Authenticated } from "./AgentApi.js"
import * as AgentEndpoints from "./AgentEndpoints.js"
import { ApiConfigurationError, ApiError } from "./ApiError.js"
import * as ApiLimits from "./ApiLimits.js"
import * as ApprovalEndpoints from "./ApprovalEndpoints.js"
import { Authentication, type Identity } from "./Authentication.js"
import * as OwnerEndpoints from "./OwnerEndpoints.js"
import * as Problems from "./Problems.js"
import * as RunEndpoints from "./RunEndpoints.js"
import * as SessionEndpoints from "./SessionEndpoints.js"

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R> ? Groups : never

/**
 * The name of an endpoint of `AgentApi`, such as `startRun`.
 *
 * @since 0.1.0
 * @category models
 */
export type EndpointName = HttpApiEndpoint.HttpApiEndpoint.Name<
  HttpApiGroup.HttpApiGroup.Endpoints<GroupsOf<typeof AgentApi>>
>

/**
 * The name of any endpoint: one of another edge is `edge:` and its name there.
 *
 * @since 0.1.0
 * @category models
 */
export type PermittedName = EndpointName | `edge:${string}`

/**
 * A request: who asked for what, and what came of it.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuditEntry {
  /** When it came, in milliseconds since the epoch. */
  readonly at: number
  /** Until its response began. */
  readonly durationMs: number
  readonly endpoint: PermittedName
  readonly status: number
  /** Absent if the request was refused before its caller was known. */
  readonly caller: Identity | undefined
  readonly requestId?: string | undefined
}

/**
 * An endpoint by its method and its path, whose parameters begin with `:`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Endpoint {
  readonly name: string
  readonly method: string
  readonly path: string
}

/**
 * `AgentServer.layer({ agents, edges: [edge] })` serves it. `layer` adds the endpoints to the router of the server; the
 * limits are those of the server, so that streams of all edges count together; `limits.policy` is that of the runs that
 * it starts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Edge {
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly layer: (limits: ApiLimits.Limits) => Layer.Layer<never, never, Services | Authenticated>
  /** How the protocol writes failures; default problem details. */
  readonly failures?: Problems.Failures | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends RunEndpoints.Options, OwnerEndpoints.Options {
  /** The agents that `GET /v1/agents` shows: those of the runs. */
  readonly agents: ReadonlyArray<Agent.Any>
  readonly limits?: ApiLimits.Options | undefined
  /** Further protocols that the server speaks, such as `UiChat.make()`; default none. */
  readonly edges?: ReadonlyArray<Edge> | undefined
  /** The sites whose pages may call the server: origins such as `https://app.example`. Default none. */
  readonly origins?: ReadonlyArray<string> | undefined
  /** Headers that these pages may send besides the usual ones, such as that of `layerApiKeys` where one is chosen. */
  readonly allowedHeaders?: ReadonlyArray<string> | undefined
  /** Whether a caller may use an endpoint, by its scopes for example; otherwise 403. Default: it may use all. */
  readonly permits?: ((caller: Identity, endpoint: PermittedName) => boolean) | undefined
  /**
   * When the scope of the server closes, as on SIGTERM under `NodeRuntime.runMain`, open requests are answered within
   * this time, then cut; further ones get 503. Default 15 seconds.
   */
  readonly drain?: Duration.DurationInput | undefined
  /** Is told of each request to an endpoint that needs a caller, before its response is sent. */
  readonly audit?: ((entry: AuditEntry) => Effect.Effect<void>) | undefined
}

/**
 * What a server needs. With sessions (`Sessions.layer`), memory (`Memory`), owner data (`OwnerData`) and skills in
 * its context it serves those too; endpoints of what is absent say so (501).
 *
 * @since 0.1.0
 * @category models
 */
export type Services = Runs.Runs | PendingApprovals.PendingApprovals | AgentExecutor.AgentExecutor | Authentication

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i

const hostOf = (authority: string): string => authority.replace(/:\d{1,5}$/, "")

/** A server that knows nobody is for this machine alone: pages of other sites must not reach it through a browser. */
const isNear = ({ headers }: HttpServerRequest.HttpServerRequest, origins: ReadonlyArray<string>): boolean => {
  const { host, origin } = headers
  if (host === undefined || !LOOPBACK.test(hostOf(host))) return false
  if (origin === undefined || origins.includes(origin)) return true
  return origin === `http://${host}` || origin === `https://${host}`
}

const far = new ApiError({
  reason: "forbidden",
  message: "This server is for this machine alone, because it knows no callers",
  hint: "Give it a layer of Authentication"
})

const forbidden = new ApiError({ reason: "forbidden", message: "This caller may not use this endpoint" })

const apiEndpoints = Object.values(AgentApi.groups).flatMap((group) =>
  Object.values(group.endpoints).map(
    ({ method, name, path }: Omit<Endpoint, "name"> & { readonly name: EndpointName }) => ({ method, name, path })
  )
)

/** The names of endpoints by method and path. */
const namesOf = ({ edges = [] }: Pick<Options, "edges">): ReadonlyMap<string, PermittedName> =>
  new Map([
    ...apiEndpoints.map(({ method, name, path }) => [`${method} ${path}`, name] as const),
    ...edges.flatMap(({ endpoints }) =>
      endpoints.map(({ method, name, path }) => [`${method} ${path}`, `edge:${name}`] as const)
    )
  ])

/** Tells of the request once its response is known. */
const audited = (audit: NonNullable<Options["audit"]>, endpoint: PermittedName, caller: () => Identity | undefined) =>
  Effect.flatMap(Clock.currentTimeMillis, (at) =>
    HttpApp.appendPreResponseHandler((_request, response) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { headers, status } = response
        const requestId = headers["x-request-id"]
        const entry: AuditEntry = {
          at,
          durationMs: now - at,
          endpoint,
          status,
          caller: caller(),
          ...(requestId === undefined ? {} : { requestId })
        }
        // A failure to record is not one of the request.
        return Effect.as(
          Effect.catchAllDefect(audit(entry), (defect) =>
            Effect.annotateLogs(Effect.logError("A request could not be recorded", defect), { module: "AgentServer" })
          ),
          response
        )
      })
    )
  )

const authenticated = (
  limits: ApiLimits.Limits,
  { audit, edges, origins = [], permits = () => true }: Pick<Options, "audit" | "edges" | "origins" | "permits">
) => {
  const endpoints = namesOf({ edges })
  return Layer.effect(
    Authenticated,
    Effect.map(Authentication, (authentication) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { route } = yield* HttpRouter.RouteContext
        const endpoint = endpoints.get(`${route.method} ${route.path}`)
        let caller: Identity | undefined
        if (audit !== undefined && endpoint !== undefined) yield* audited(audit, endpoint, () => caller)
        if (authentication.isAnonymous && !isNear(request, origins)) return yield* far
        caller = yield* limits.attempt(request, authentication.authenticate(request))
        yield* limits.request(caller)
        if (endpoint === undefined || !permits(caller, endpoint)) return yield* forbidden
        return caller
      })
    )
  )
}

const pathsOf = ({ edges = [] }: Options): Problems.Paths =>
  [...apiEndpoints, ...edges.flatMap(({ endpoints }) => endpoints)].map(({ method, path }) => ({
    method,
    segments: path.split("/").map((part) => (part.startsWith(":") ? "*" : part))
  }))

const handlersOf = (options: Options) => {
  const limits = ApiLimits.make(options.limits, options.policy)
  return Layer.mergeAll(
    AgentEndpoints.layer(options.agents),
    AgentEndpoints.layerHealth,
    RunEndpoints.layer(options, limits),
    ApprovalEndpoints.layer,
    SessionEndpoints.layer,
    OwnerEndpoints.layerMemory,
    OwnerEndpoints.layerOwner,
    OwnerEndpoints.layerOffers(options),
    ...(options.edges ?? []).map((edge) => edge.layer(limits))
  ).pipe(Layer.provide(authenticated(limits, options)))
}

type Group = "agents" | "runs" | "approvals" | "sessions" | "memory" | "owner" | "offers" | "system"

/**
 * The handlers of `AgentApi`, for an application that adds it to an API of its own (`addHttpApi`), which is given. How
 * large bodies may be, and what comes of those that are not JSON, is then a matter of the application.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers = <Id extends string>(
  _api: HttpApi.HttpApi<Id, any, any, any>,
  options: Options
): Layer.Layer<HttpApiGroup.ApiGroup<Id, Group>, never, Services> =>
  // A group is found by its own name; the name of the API is in its type alone.
  handlersOf(options) as unknown as Layer.Layer<HttpApiGroup.ApiGroup<Id, Group>, never, Services>

/** Ids have up to 256 characters, those of requests more, and each may take several in a URL. */
const router = { maxParamLength: 4096 }

/** The application: the API, its OpenAPI page, and what every request passes. */
const layerApp = (options: Options, open: OpenRequests.OpenRequests) => {
  const { maxBodyBytes } = ApiLimits.make(options.limits)
  const problems = HttpApiBuilder.middleware(
    Effect.map(Authentication, ({ schemes }) =>
      Problems.middleware({
        maxBodyBytes,
        open,
        paths: pathsOf(options),
        schemes,
        failures: (options.edges ?? []).flatMap(({ failures }) => (failures === undefined ? [] : [failures]))
      })
    )
  )
  return Layer.merge(problems, HttpApiBuilder.middlewareOpenApi({ path: "/v1/openapi.json" })).pipe(
    Layer.provideMerge(Layer.provide(HttpApiBuilder.api(AgentApi), handlersOf(options)))
  )
}

const cors = (options: Options): (<E, R>(app: HttpApp.Default<E, R>) => HttpApp.Default<E, R>) =>
  options.origins === undefined || options.origins.length === 0
    ? (app) => app
    : HttpMiddleware.cors({
        allowedOrigins: options.origins,
        allowedHeaders: [
          ...["authorization", "content-type", "idempotency-key", "last-event-id", "x-api-key"],
          ...["mcp-protocol-version", "mcp-session-id"],
          ...(options.allowedHeaders ?? [])
        ],
        exposedHeaders: [
          ...[RunEndpoints.RUN_ID, "retry-after", "x-request-id", "x-vercel-ai-ui-message-stream"],
          ...["mcp-session-id", "www-authenticate"]
        ],
        maxAge: 600
      })

/** A server that knows nobody may only listen on this machine. */
const checkAddress: Effect.Effect<void, ApiConfigurationError, HttpServer.HttpServer | Authentication> = Effect.gen(
  function* () {
    const { isAnonymous } = yield* Authentication
    if (!isAnonymous) return
    const { address } = yield* HttpServer.HttpServer
    if (address._tag === "TcpAddress" && !LOOPBACK.test(address.hostname)) {
      return yield* new ApiConfigurationError({
        message: `The server listens on ${address.hostname} and knows no callers`,
        hint: "Give it a layer of Authentication, or let it listen on 127.0.0.1"
      })
    }
    yield* Effect.annotateLogs(Effect.logInfo("The server knows no callers: it is for this machine alone"), {
      module: "AgentServer"
    })
  }
)

/**
 * Serves agents on the `HttpServer` in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { AgentServer } from "effect-lexigram/http"
 *
 * const server = AgentServer.layer({ agents: [Agent.make("clerk", { system: "You help at the desk." })] })
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<
  never,
  ApiConfigurationError,
  Services | HttpServer.HttpServer | HttpRouter.HttpRouter.DefaultServices
> =>
  Layer.unwrapEffect(
    Effect.as(
      checkAddress,
      OpenRequests.layer(options.drain, (open) =>
        Layer.provide(HttpApiBuilder.serve(cors(options)), [
          layerApp(options, open),
          HttpRouter.setRouterConfig(router)
        ])
      )
    )
  )

/**
 * The server as an application of `@effect/platform`, for a server of another framework, which decides where it
 * listens: `NodeHttpServer.makeHandler` makes a listener of `node:http` of it, as Express and Fastify take. Without a
 * layer that knows callers, requests that do not come from this machine are refused by their `Host`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toHttpApp = (
  options: Options
): Effect.Effect<
  HttpApp.Default<never, HttpRouter.HttpRouter.DefaultServices>,
  never,
  Services | HttpRouter.HttpRouter.DefaultServices | Scope.Scope
> =>
  OpenRequests.layer(options.drain, (open) =>
    Layer.mergeAll(layerApp(options, open), HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer)
  ).pipe(
    Layer.build,
    Effect.flatMap((context) =>
      Effect.map(HttpRouter.withRouterConfig(Effect.provide(HttpApiBuilder.httpApp, context), router), cors(options))
    )
  )

/**
 * A handler of web requests, for Next.js, Hono, Bun, Deno, Workers and others. `services` are what the server needs.
 * Whoever serves the handler decides where it listens: without a layer that knows callers, requests that do not come
 * from this machine are refused by their `Host`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toWebHandler = <E>(
  options: Options,
  services: Layer.Layer<Services, E>
): { readonly handler: (request: Request) => Promise<Response>; readonly dispose: () => Promise<void> } => {
  const { maxBodyBytes } = ApiLimits.make(options.limits)
  const { dispose, handler } = HttpApiBuilder.toWebHandler(
    Layer.mergeAll(
      OpenRequests.layer(options.drain, (open) => Layer.provide(layerApp(options, open), services)),
      HttpServer.layerContext,
      HttpRouter.setRouterConfig(router)
    ),
    { middleware: cors(options) }
  )
  return { dispose, handler: (request) => handler(Problems.bounded(request, maxBodyBytes)) }
}
