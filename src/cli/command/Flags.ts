/**
 * The flags that commands share.
 *
 * @private
 * @since 0.1.0
 */
import * as Options from "@effect/cli/Options"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Workspace from "../config/Workspace.js"
import * as WorkspaceFile from "../config/WorkspaceFile.js"
import * as Report from "../terminal/Report.js"
import type * as Screen from "../terminal/Screen.js"

const text = (name: string, description: string) =>
  Options.text(name).pipe(Options.withDescription(description), Options.optional)

const json = Options.boolean("json").pipe(Options.withDescription("Write JSON"))

/**
 * Of commands about the agents and what they keep.
 *
 * @category constants
 */
export const shared = {
  config: text("config", `The configuration module. Default: ${Workspace.fileNames[0]} here, or LEXIGRAM_CONFIG`),
  url: text("url", "Talk to this server, with the token of LEXIGRAM_TOKEN. Default: LEXIGRAM_URL"),
  user: text("user", "Whose runs, sessions and memory. Default: LEXIGRAM_USER, then that of the configuration"),
  model: text("model", "The model, such as ollama/llama3.2. Default: LEXIGRAM_MODEL, then that of the configuration"),
  json
}

/**
 * Of commands that ask one agent.
 *
 * @category constants
 */
export const agent = text(
  "agent",
  "The agent, or a module that exports it. Default: the first one of the configuration"
).pipe(Options.withAlias("a"))

/**
 * Where a workspace keeps its evals.
 *
 * @category constants
 */
export const evals = ".lexigram/evals"

/**
 * Of commands that use no agents.
 *
 * @category constants
 */
export const plain = { json }

/**
 * @category models
 */
export interface Given extends Workspace.Flags {
  readonly json: boolean
}

/**
 * What commands run in.
 *
 * @category models
 */
export type Environment = Screen.Screen | FileSystem.FileSystem

/**
 * The handler of a command: it has its workspace, its format and a scope.
 *
 * @category constructors
 */
export const handler =
  <Input extends Partial<Workspace.Flags> & { readonly json: boolean }, A, R>(
    run: (input: Input) => Effect.Effect<A, unknown, R>
  ) =>
  (
    input: Input
  ): Effect.Effect<
    void,
    unknown,
    Exclude<R, Scope.Scope | Workspace.Workspace | Report.Format> | FileSystem.FileSystem
  > => {
    const none = Option.none<string>()
    const { config = none, model = none, url = none, user = none } = input
    const context = Layer.merge(
      WorkspaceFile.layer({ config, model, url, user }),
      Layer.succeed(Report.Format, { isJson: input.json })
    )
    return run(input).pipe(Effect.scoped, Effect.provide(context), Effect.asVoid) as never
  }
