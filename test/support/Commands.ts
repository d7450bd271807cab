/**
 * Commands of the command line in the process of a test: with a configuration that the test gives, and a screen that
 * remembers.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { CliConfig } from "effect-lexigram/cli"
import { CliError } from "effect-lexigram/cli"
import * as CliProgram from "../../src/cli/CliProgram.js"
import { ModuleLoader } from "../../src/cli/config/ModuleLoader.js"
import * as Screen from "../../src/cli/terminal/Screen.js"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
  /** The only line of the output as JSON. */
  readonly json: any
}

export interface World {
  /** What modules export, by the last part of their path. `lexigram.config.ts` is that of `--config`. */
  readonly modules?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  /** The whole input. */
  readonly input?: string
}

/** Runs a command. */
export const run = (args: ReadonlyArray<string>, { columns = 100, env = {}, input = "", modules = {} }: World = {}) =>
  Effect.gen(function* () {
    let out = ""
    let err = ""
    const screen: Screen.Service = {
      write: (text) => {
        out += text
      },
      note: (text) => {
        err += text
      },
      input: Effect.succeed(input),
      isInteractive: false,
      showsProgress: false,
      hasColors: false,
      columns: () => columns
    }
    const load = (path: string) => {
      const found = modules[path.replace(/^.*[\\/]/, "")]
      return found === undefined
        ? new CliError.CliError({ reason: "config", message: `There is no ${path}` })
        : Effect.succeed(found)
    }
    const code = yield* CliProgram.runOn(["node", "lexigram", ...args]).pipe(
      Effect.provide(Layer.merge(NodeContext.layer, Layer.succeed(Screen.Screen, screen))),
      Effect.provideService(ModuleLoader, load),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env))))
    )
    const ended: Ended = {
      code,
      out,
      err,
      get json() {
        return JSON.parse(out)
      }
    }
    return ended
  })

/** Runs a command with this configuration. */
export const runWith = (config: CliConfig.CliConfig, args: ReadonlyArray<string>, world: World = {}) =>
  run([...args, "--config", "lexigram.config.ts"], {
    ...world,
    modules: { ...world.modules, "lexigram.config.ts": { default: config } }
  })
