/**
 * `lexigram serve`: the agents of the configuration as an HTTP API, with the studio.
 *
 * @private
 * @since 0.1.0
 */
import { createServer } from "node:http"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentServer from "../../http/api/AgentServer.js"
import * as Authentication from "../../http/api/Authentication.js"
import * as Studio from "../../studio/Studio.js"
import type * as CliConfig from "../config/CliConfig.js"
import { CliError } from "../config/CliError.js"
import * as Workspace from "../config/Workspace.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
import * as Screen from "../terminal/Screen.js"
import * as Flags from "./Flags.js"
import * as Reload from "./Reload.js"

const options = {
  port: Options.integer("port").pipe(
    Options.withAlias("p"),
    Options.withDescription("Default: that of the configuration, then 3000. 0 takes a free one"),
    Options.optional
  ),
  host: Options.text("host").pipe(
    Options.withDescription("Default: that of the configuration, then 127.0.0.1"),
    Options.optional
  ),
  watch: Options.boolean("watch").pipe(
    Options.withAlias("w"),
    Options.withDescription("Begin again when a file beside or below the configuration changes")
  ),
  noStudio: Options.boolean("no-studio").pipe(Options.withDescription("Serve the API alone, without the studio")),
  config: Flags.shared.config,
  user: Flags.shared.user,
  model: Flags.shared.model,
  json: Flags.shared.json
}

const DEFAULT_PORT = 3000

const cannotListen = (host: string, port: number, cause: unknown): CliError =>
  new CliError({
    reason: "file",
    message: `The server cannot listen on ${host}, port ${port}: ${cause instanceof Error ? cause.message : String(cause)}`,
    hint: "Take another port with --port, such as 0 for a free one",
    cause
  })

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
    NodeHttpServer.layer(() => createServer(), address),
    ({ cause }) => Layer.fail(cannotListen(address.host, address.port, cause))
  )

type Input = Pick<Command.Command.ParseConfig<typeof options>, "host" | "noStudio" | "port">

const serve = ({ host, noStudio, port }: Input) =>
  Effect.gen(function* () {
    const application = yield* Connection.application(Option.none())
    const { agents, services } = yield* Connection.build(application)
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
        Layer.provide([Layer.succeedContext(services), authentication]),
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

/**
 * @category constants
 */
export const command = Command.make(
  "serve",
  options,
  Flags.handler(({ host, noStudio, port, watch }) =>
    Effect.gen(function* () {
      return yield* watch ? Reload.whenChanged : serve({ host, noStudio, port })
    })
  )
).pipe(Command.withDescription("Serve the agents over HTTP, and the studio"))
