/**
 * `lexigram serve`: the agents of the configuration as an HTTP API, with the studio.
 *
 * @private
 * @since 0.1.0
 */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as Flags from "./Flags.js"
import * as Reload from "./Reload.js"

const work = OnDemand.make(() => import("./ServeWork.js"))

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

/**
 * @category constants
 */
export const command = Command.make(
  "serve",
  options,
  Flags.handler(({ host, noStudio, port, watch }) =>
    Effect.gen(function* () {
      return yield* watch ? Reload.whenChanged : Effect.flatMap(work, ({ serve }) => serve({ host, noStudio, port }))
    })
  )
).pipe(Command.withDescription("Serve the agents over HTTP, and the studio"))
