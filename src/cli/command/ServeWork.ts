/**
 * What `lexigram serve` does, loaded when it is asked for.
 *
 * @private
 * @since 0.1.0
 */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ExperimentStore from "../../eval/record/ExperimentStore.js"
import * as AgentServer from "../../http/api/AgentServer.js"
import * as Authentication from "../../http/api/Authentication.js"
import * as GracefulServer from "../../http/request/GracefulServer.js"
import * as Studio from "../../studio/Studio.js"
import type * as CliConfig from "../config/CliConfig.js"
import { CliError } from "../config/CliError.js"
import * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import * as Screen from "../terminal/Screen.js"
import * as EvalStore from "./EvalStore.js"
import * as Flags from "./Flags.js"
import * as Reload from "./Reload.js"

const DEFAULT_PORT = 3000

const cannotListen = (host: string, port: number, cause: unknown): CliError =>
  new CliError({
    reason: "file",
    message: `The server cannot listen on ${host}, port ${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: "Take another port with --port, such as 0 for a free one",
    cause
  })

/** The studio shows the experiments of `lexigram eval`, unless the application keeps its own. */
const experimentsOf = (services: Context.Context<CliConfig.Services>) =>
  Option.isSome(Context.getOption(services, ExperimentStore.ExperimentStore))
    ? Effect.succeed(Context.empty())
    : Effect.orElseSucceed(Layer.build(EvalStore.layer(Flags.evals, true)), () => Context.empty())

/** Links to the studio: the first one is part of what the command says, later ones are remarks. */
const linksOf = (application: CliConfig.Options) =>
  Effect.gen(function* () {
    const workspace = yield* Workspace.Workspace
    const screen = yield* Screen.Screen
    const user = yield* Connection.userOf(application, workspace.userId.value)
    const secret = yield* Config.option(Config.redacted(Reload.STUDIO_SECRET))
    const first = yield* Deferred.make<string>()
    const links: Studio.Links = {
      announce: (url) =>
        Effect.flatMap(Deferred.succeed(first, url), (isFirst) =>
          isFirst
            ? Effect.void
            : Effect.provideService(Report.remark(`The next link to the studio: ${url}`), Screen.Screen, screen)
        ),
      ...(Option.isSome(user) ? { userId: user.value } : {}),
      ...(Option.isSome(secret) ? { secret: secret.value } : {})
    }
    return { links, first: Deferred.await(first) }
  })

const listening = (address: { readonly host: string; readonly port: number }) =>
  Layer.catchAll(
    NodeHttpServer.layer(() => GracefulServer.make(createServer()), address),
    ({ cause }) => Layer.fail(cannotListen(address.host, address.port, cause))
  )

/**
 * What is not given is that of the configuration.
 *
 * @category models
 */
export interface Input {
  readonly host: Option.Option<string>
  readonly port: Option.Option<number>
  readonly noStudio: boolean
}

/**
 * Serves until it is interrupted.
 *
 * @category execution
 */
export const serve = ({ host, noStudio, port }: Input) =>
  Effect.gen(function* () {
    const application = yield* Connection.application(Option.none())
    const { agents, services } = yield* Connection.build(application)
    const experiments = yield* experimentsOf(services)
    const { authentication = Authentication.layerAnonymous, ...given } = application.server ?? {}
    const address = {
      port: Option.getOrElse(port, () => given.port ?? DEFAULT_PORT),
      host: Option.getOrElse(host, () => given.host ?? "127.0.0.1")
    }
    const studio = noStudio ? Option.none() : Option.some(yield* linksOf(application))
    const server = Option.match(studio, {
      onNone: () => AgentServer.layer({ ...given, agents }),
      onSome: ({ links }) => Studio.layer({ ...given, agents, links })
    })
    const context = yield* Layer.build(
      server.pipe(
        Layer.provide([Layer.succeedContext(Context.merge(experiments, services)), authentication]),
        Layer.provideMerge(listening(address))
      )
    )
    const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
    const link = Option.isSome(studio) ? yield* studio.value.first : undefined
    yield* Report.say({ url, agents: agents.map(({ name }) => name), studio: link }, ({ agents, studio, url }) =>
      [
        `Serving ${agents.join(", ")} at ${url}/v1`,
        ...(studio === undefined ? [] : [`The studio, by a link for one use: ${studio}`]),
        `${url}/v1/openapi.json describes the API. Ctrl-C ends.`
      ].join("\n")
    )
    return yield* Effect.never
  })
