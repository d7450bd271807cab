/**
 * The agents that commands talk to: those of the configuration in this process, or those of a server. Both have the
 * same API.
 *
 * @private
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import * as Runs from "../../agent/runs/Runs.js"
import { UserId } from "../../domain/Ids.js"
import * as AgentClient from "../../http/api/AgentClient.js"
import * as AgentServer from "../../http/api/AgentServer.js"
import * as Authentication from "../../http/api/Authentication.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import type * as CliConfig from "../config/CliConfig.js"
import { CliError } from "../config/CliError.js"
import * as ModelName from "../config/ModelName.js"
import * as Workspace from "../config/Workspace.js"
import * as WorkspaceFile from "../config/WorkspaceFile.js"

/**
 * The application in this process.
 *
 * @category models
 */
export interface Local {
  readonly agents: ReadonlyArray<Agent.Any>
  /** Everything that its layer provides. */
  readonly services: Context.Context<CliConfig.Services>
}

/**
 * @category models
 */
export interface Connection {
  readonly client: AgentClient.Client
  /** None for a server. */
  readonly local: Option.Option<Local>
  /** Whether runs go on after the end of this process. */
  readonly outlives: boolean
}

const noModel = new CliError({
  reason: "usage",
  message: "The configuration has a model of its own",
  hint: "Make its `layer` a function of `{ model }`, or leave `--model` out"
})

/** The layer of a configuration, given what flags and the environment ask for. */
const layerOf = (
  { layer }: Pick<CliConfig.Options, "layer">,
  model: Workspace.Setting<Option.Option<string>>
): Effect.Effect<Layer.Layer<CliConfig.Services, unknown>, CliError> => {
  if (!Predicate.isFunction(layer)) return model.source === "flag" ? noModel : Effect.succeed(layer)
  return Effect.try({
    try: () => layer({ model: Option.getOrUndefined(model.value) }),
    catch: (cause) =>
      new CliError({ reason: "config", message: "The `layer` of the configuration threw an error", cause })
  })
}

const inMemory = OnDemand.make(() => import("../../application/Application.js"))

/** Agents of a module, without a configuration: in memory, on the model of the flags. */
const applicationOf = (agents: ReadonlyArray<Agent.Any>): CliConfig.Options => ({
  agents,
  layer: ({ model = "offline" }) =>
    Layer.unwrapEffect(
      Effect.map(
        inMemory,
        (Application) =>
          Layer.provide(Application.layerMemory(agents), ModelName.layer(model)) as Layer.Layer<
            CliConfig.Services,
            unknown
          >
      )
    )
})

/**
 * Whether the name of an agent is that of a module.
 *
 * @category guards
 */
export const isModule = (agent: string): boolean => /[\\/]|\.[cm]?[jt]s$/.test(agent)

/**
 * The configuration of the workspace, or the agents of a module.
 *
 * @category accessors
 */
export const application = (
  agent: Option.Option<string>
): Effect.Effect<CliConfig.Options, CliError, Workspace.Workspace> =>
  Option.isSome(agent) && isModule(agent.value)
    ? Effect.map(WorkspaceFile.agentsOf(agent.value), applicationOf)
    : Effect.flatMap(Workspace.Workspace, (workspace) => workspace.application)

const noUser = new CliError({
  reason: "usage",
  message: "The name of the user is empty, too long, or has control characters",
  hint: "Give 1 to 256 characters"
})

const decodeUser = Schema.decodeOption(UserId)

/**
 * Whose things commands reach in this process: those of nobody, if nobody is named.
 *
 * @category accessors
 */
export const userOf = (
  { userId }: Pick<CliConfig.Options, "userId">,
  chosen: Option.Option<string>
): Effect.Effect<Option.Option<UserId>, CliError> => {
  const named = Option.orElse(chosen, () => Option.fromNullable(userId))
  const user = Option.flatMap(named, (name) => decodeUser(name))
  return Option.isSome(named) && Option.isNone(user) ? noUser : Effect.succeed(user)
}

/** More than one person at a terminal makes. */
const unlimited = { requestsPerMinute: 1_000_000, maxStreams: 10_000, maxBodyBytes: 64 * 1024 * 1024 }

/**
 * What the layer of an application provides, in the scope.
 *
 * @category constructors
 */
export const build = (options: CliConfig.Options): Effect.Effect<Local, unknown, Workspace.Workspace | Scope.Scope> =>
  Effect.gen(function* () {
    const { model } = yield* Workspace.Workspace
    const services = yield* Layer.build(yield* layerOf(options, model))
    return { agents: options.agents, services }
  })

const openLocal = (options: CliConfig.Options) =>
  Effect.gen(function* () {
    const workspace = yield* Workspace.Workspace
    const user = yield* userOf(options, workspace.userId.value)
    const local = yield* build(options)
    const identity: Authentication.Identity = Option.isSome(user) ? { userId: user.value } : {}
    const { handler } = yield* Effect.acquireRelease(
      Effect.sync(() =>
        AgentServer.toWebHandler(
          {
            ...options.server,
            agents: options.agents,
            limits: unlimited,
            drain: 0,
            metrics: () => true,
            view: { developer: true }
          },
          Layer.merge(
            Layer.succeedContext(local.services),
            // Nobody else can call: the handler has no address.
            Layer.succeed(Authentication.Authentication, {
              isAnonymous: false,
              schemes: [],
              authenticate: () => Effect.succeed(identity)
            })
          )
        )
      ),
      ({ dispose }) => Effect.promise(dispose)
    )
    const fetch: typeof globalThis.fetch = (input, init) => handler(new Request(input, init))
    const client = yield* Effect.provide(
      AgentClient.make({ baseUrl: "http://lexigram.local" }),
      Layer.provide(FetchHttpClient.layer, Layer.succeed(FetchHttpClient.Fetch, fetch))
    )
    const { capabilities } = Context.get(local.services, Runs.Runs)
    return { client, local: Option.some(local), outlives: capabilities.resume }
  })

/**
 * Opens the connection that the workspace asks for. What the layer of an application fails with is not known.
 *
 * @category constructors
 */
export const open = (
  agent: Option.Option<string> = Option.none()
): Effect.Effect<Connection, unknown, Workspace.Workspace | Scope.Scope> =>
  Effect.gen(function* () {
    const { token, url } = yield* Workspace.Workspace
    if (Option.isNone(url.value)) return yield* openLocal(yield* application(agent))
    const options = { baseUrl: url.value.value, ...(Option.isSome(token) ? { token: token.value } : {}) }
    const client = yield* Effect.provide(AgentClient.make(options), FetchHttpClient.layer)
    return { client, local: Option.none(), outlives: true }
  })

const remoteOnly = new CliError({
  reason: "absent",
  message: "The API of a server has no such thing",
  hint: "Run the command where the configuration is, without --url"
})

/**
 * The application in this process.
 *
 * @category accessors
 */
export const local: Effect.Effect<Local, unknown, Workspace.Workspace | Scope.Scope> = Effect.gen(function* () {
  const { url } = yield* Workspace.Workspace
  if (Option.isSome(url.value)) return yield* remoteOnly
  return yield* build(yield* application(Option.none()))
})

/**
 * A service of the application, or a failure that says how it comes to have one.
 *
 * @category accessors
 */
export const service = <I, S>(
  { services }: Local,
  tag: Context.Tag<I, S>,
  what: string,
  how: string
): Effect.Effect<S, CliError> =>
  Option.match(Context.getOption(services, tag), {
    onSome: Effect.succeed,
    onNone: () =>
      new CliError({
        reason: "absent",
        message: `The layer of the configuration has no ${what}`,
        hint: `Add ${how} to it`
      })
  })
