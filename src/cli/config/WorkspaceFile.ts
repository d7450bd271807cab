/**
 * The workspace of a command, out of its flags, the environment and the configuration module.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as AgentDefinition from "../../agent/definition/AgentDefinition.js"
import * as CliConfig from "./CliConfig.js"
import { CliError } from "./CliError.js"
import { ModuleLoader } from "./ModuleLoader.js"
import { type Flags, fileNames, type Setting, variables, Workspace } from "./Workspace.js"

/** The value of a variable; one that is empty is as good as none. */
const variable = (name: string): Effect.Effect<Option.Option<string>> =>
  Effect.map(Effect.orDie(Config.option(Config.string(name))), (value) =>
    Option.filter(value, (text) => text.trim() !== "")
  )

const settle = (flag: Option.Option<string>, name: string): Effect.Effect<Setting<Option.Option<string>>> =>
  Option.isSome(flag)
    ? Effect.succeed({ value: flag, source: "flag" })
    : Effect.map(variable(name), (value) => ({ value, source: Option.isSome(value) ? "environment" : "default" }))

const findFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  for (const name of fileNames) {
    if (yield* Effect.orElseSucceed(fs.exists(name), () => false)) return Option.some(name)
  }
  return Option.none<string>()
})

const missing = new CliError({
  reason: "config",
  message: `There is no ${fileNames[0]} here`,
  hint: "Make one with `lexigram init`, name another one with --config, or a server with --url"
})

const notOne = (file: string): CliError =>
  new CliError({
    reason: "config",
    message: `The default export of ${file} is no configuration`,
    hint: "Write `export default CliConfig.make({ agents, layer })`, with `CliConfig` of `effect-lexigram/cli`"
  })

const noAgents = (file: string): CliError =>
  new CliError({
    reason: "config",
    message: `${file} has no agents`,
    hint: "Name at least one in the `agents` of the configuration"
  })

const loaded = (path: string) => Effect.flatMap(ModuleLoader, (load) => load(NodePath.resolve(path)))

const load = (path: Option.Option<string>): Effect.Effect<CliConfig.CliConfig, CliError> =>
  Effect.gen(function* () {
    if (Option.isNone(path)) return yield* missing
    const found = yield* loaded(path.value)
    if (!CliConfig.isCliConfig(found.default)) return yield* notOne(path.value)
    return found.default.agents.length === 0 ? yield* noAgents(path.value) : found.default
  })

/**
 * @category layers
 */
export const layer = (flags: Flags): Layer.Layer<Workspace, never, FileSystem.FileSystem> =>
  Layer.effect(
    Workspace,
    Effect.gen(function* () {
      const named = yield* settle(flags.config, variables.config)
      const config = Option.isSome(named.value) ? named : { value: yield* findFile, source: "default" as const }
      const url = yield* settle(flags.url, variables.url)
      const userId = yield* settle(flags.user, variables.userId)
      return {
        config,
        url,
        token: Option.map(yield* variable(variables.token), Redacted.make),
        userId,
        model: yield* settle(flags.model, variables.model),
        application: yield* Effect.cached(load(config.value))
      }
    })
  )

/**
 * The agents that a module exports: those of its default export, or all of its exports that are one.
 *
 * @category accessors
 */
export const agentsOf = (path: string): Effect.Effect<ReadonlyArray<AgentDefinition.Any>, CliError> =>
  Effect.flatMap(loaded(path), (exports) => {
    const values = AgentDefinition.isAgent(exports.default) ? [exports.default] : Object.values(exports)
    const agents = values.filter(AgentDefinition.isAgent)
    return agents.length > 0
      ? Effect.succeed(agents)
      : new CliError({ reason: "config", message: `${path} exports no agent`, hint: "Export one made by `Agent.make`" })
  })
