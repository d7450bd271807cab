/**
 * A page for developers on a server of agents: their runs, sessions, memory, budgets, evals and prompts. The server has
 * it at `/studio/`, and the API behind it at `/studio/api`.
 *
 * @since 0.1.0
 */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Agent from "../agent/definition/AgentDefinition.js"
import type { UserId } from "../domain/Ids.js"
import * as AgentServer from "../http/api/AgentServer.js"
import type { ApiConfigurationError } from "../http/api/ApiError.js"
import { Authentication, type Identity } from "../http/api/Authentication.js"
import * as StudioDeveloper from "./access/StudioDeveloper.js"
import * as StudioLinks from "./access/StudioLinks.js"
import { StudioApi } from "./api/StudioApi.js"
import * as StudioHandlers from "./endpoint/StudioHandlers.js"
import * as StudioPageEndpoints from "./endpoint/StudioPageEndpoints.js"
import * as StudioFiles from "./StudioFiles.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The agents of the server. */
  readonly agents: ReadonlyArray<Agent.Any>
  /** Who may use the studio. Default: callers with the scope `studio`. */
  readonly developers?: ((caller: Identity) => boolean) | undefined
  /** The folder of the built page; default that of this package. */
  readonly page?: string | undefined
}

/**
 * Links for one use: who opens one in a browser of this machine is a developer, without credentials.
 *
 * @since 0.1.0
 * @category models
 */
export interface Links {
  /**
   * Is told of the address of a link when the server begins, and of the next one whenever one was used. A server on a
   * Unix socket has none.
   */
  readonly announce: (url: string) => Effect.Effect<void>
  /** Who the browser is. Without a user it reaches only what has no owner. */
  readonly userId?: UserId | undefined
  /**
   * Browsers stay known, for a week, in every process with the same user and the same secret of 16 characters or more.
   * Default: a random one, with which a session ends with the process.
   */
  readonly secret?: Redacted.Redacted | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ServerOptions extends AgentServer.Options, Options {
  /** Default none: developers have credentials that the layer of `Authentication` knows. */
  readonly links?: Links | undefined
}

interface Linked {
  readonly links: StudioLinks.StudioLinks
  readonly used: Effect.Effect<void>
}

const endpointsOf = (api: typeof StudioApi | typeof StudioPageEndpoints.StudioPageApi) =>
  Object.values(api.groups).flatMap((group): ReadonlyArray<AgentServer.Endpoint> => Object.values(group.endpoints))

const edgeWith = (
  { agents, developers, page }: Options,
  linked: Option.Option<Linked>
): Effect.Effect<AgentServer.Edge, ApiConfigurationError, FileSystem.FileSystem> =>
  Effect.map(StudioFiles.read(page), (files) => ({
    endpoints: [...endpointsOf(StudioApi), ...endpointsOf(StudioPageEndpoints.StudioPageApi)],
    layer: (limits) =>
      Layer.mergeAll(
        StudioHandlers.layer({ agents, limits, links: Option.isSome(linked) }).pipe(
          Layer.provide(StudioDeveloper.layer(developers))
        ),
        StudioPageEndpoints.layer({
          files,
          links: Option.map(linked, ({ links }) => links),
          used: Option.match(linked, { onNone: () => Effect.void, onSome: ({ used }) => used })
        })
      ).pipe(Layer.discard)
  }))

/**
 * The studio for `AgentServer.layer({ agents, edges: [edge] })`, whose layer of `Authentication` knows the developers.
 * It shows what is in the context of the server, and says which layer is missing for what it cannot show.
 *
 * @since 0.1.0
 * @category constructors
 */
export const edge = (options: Options): Effect.Effect<AgentServer.Edge, ApiConfigurationError, FileSystem.FileSystem> =>
  edgeWith(options, Option.none())

const NOWHERE = /^(?:0\.0\.0\.0|::)$/

/** Where a browser of this machine finds the server; none on a Unix socket, which no browser opens. */
const nearby = ({ address }: HttpServer.HttpServer): string | undefined => {
  if (address._tag === "UnixAddress") return undefined
  const { hostname, port } = address
  return `http://${NOWHERE.test(hostname) ? "127.0.0.1" : hostname === "::1" ? "[::1]" : hostname}:${port}`
}

const noBrowser = Effect.logWarning(
  "No link to the studio is announced: the server listens on a Unix socket, which browsers cannot open"
).pipe(Effect.annotateLogs("module", "Studio"))

const linkedTo = ({ announce, secret, userId }: Links) =>
  Effect.gen(function* () {
    const links = yield* StudioLinks.make({ identity: userId === undefined ? {} : { userId }, secret })
    const place = nearby(yield* HttpServer.HttpServer)
    const tell =
      place === undefined
        ? noBrowser
        : Effect.flatMap(links.issue, (token) => announce(`${place}/studio/?token=${Redacted.value(token)}`))
    return { links, tell }
  })

/**
 * Serves agents, as `AgentServer.layer` does, and the studio beside them, on the `HttpServer` in context.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { NodeContext, NodeHttpServer } from "@effect/platform-node"
 * import { Agent } from "effect-lexigram"
 * import { Authentication, GracefulServer } from "effect-lexigram/http"
 * import { Studio } from "effect-lexigram/studio"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { createServer } from "node:http"
 *
 * const agents = [Agent.make("helper", { system: "You answer briefly." })]
 *
 * const announce = (url: string) => Effect.logInfo(`The studio is at ${url}`)
 *
 * const server = Studio.layer({ agents, links: { announce } }).pipe(
 *   Layer.provide([Authentication.layerAnonymous, NodeContext.layer]),
 *   Layer.provide(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { host: "127.0.0.1", port: 3000 }))
 * )
 * ```
 */
export const layer = (
  options: ServerOptions
): Layer.Layer<
  never,
  ApiConfigurationError,
  AgentServer.Services | FileSystem.FileSystem | HttpServer.HttpServer | HttpRouter.HttpRouter.DefaultServices
> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const given = yield* Authentication
      const linked = options.links === undefined ? Option.none() : Option.some(yield* linkedTo(options.links))
      const studio = yield* edgeWith(
        options,
        Option.map(linked, ({ links, tell }) => ({ links, used: tell }))
      )
      const server = AgentServer.layer({ ...options, edges: [...(options.edges ?? []), studio] })
      if (Option.isNone(linked)) return server
      const { links, tell } = linked.value
      const authentication = Layer.succeed(Authentication, {
        ...given,
        authenticate: (request) =>
          Effect.flatMap(
            links.identityOf(request),
            Option.match({ onNone: () => given.authenticate(request), onSome: Effect.succeed })
          )
      })
      return Layer.provide(Layer.effectDiscard(tell), Layer.provide(server, authentication))
    })
  )
