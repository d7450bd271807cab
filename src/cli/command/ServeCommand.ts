/**
 * `lexigram serve`: the agents of the configuration as an HTTP API.
 *
 * @private
 * @since 0.1.0
 */
import { createServer } from "node:http"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as AgentServer from "../../http/api/AgentServer.js"
import * as Authentication from "../../http/api/Authentication.js"
import { CliError } from "../config/CliError.js"
import * as Connection from "../connection/Connection.js"
import * as Report from "../terminal/Report.js"
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
  config: Flags.shared.config,
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

const serve = ({ host, port }: Pick<Command.Command.ParseConfig<typeof options>, "host" | "port">) =>
  Effect.gen(function* () {
    const application = yield* Connection.application(Option.none())
    const { agents, services } = yield* Connection.build(application)
    const { authentication = Authentication.layerAnonymous, ...given } = application.server ?? {}
    const address = {
      port: Option.getOrElse(port, () => given.port ?? DEFAULT_PORT),
      host: Option.getOrElse(host, () => given.host ?? "127.0.0.1")
    }
    const listening = Layer.catchAll(
      NodeHttpServer.layer(() => createServer(), address),
      ({ cause }) => Layer.fail(cannotListen(address.host, address.port, cause))
    )
    const context = yield* Layer.build(
      AgentServer.layer({ ...given, agents }).pipe(
        Layer.provide([Layer.succeedContext(services), authentication]),
        Layer.provideMerge(listening)
      )
    )
    const url = yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), context)
    yield* Report.say({ url, agents: agents.map(({ name }) => name) }, ({ agents, url }) =>
      [`Serving ${agents.join(", ")} at ${url}/v1`, `${url}/v1/openapi.json describes the API. Ctrl-C ends.`].join("\n")
    )
    return yield* Effect.never
  })

/**
 * @category constants
 */
export const command = Command.make(
  "serve",
  options,
  Flags.handler(({ host, port, watch }) =>
    Effect.gen(function* () {
      return yield* watch ? Reload.whenChanged : serve({ host, port })
    })
  )
).pipe(Command.withDescription("Serve the agents over HTTP"))
