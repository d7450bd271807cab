/**
 * What a command is about: the configuration module, then the environment, then the flags, of which the later ones
 * weigh more.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type * as CliConfig from "./CliConfig.js"
import type { CliError } from "./CliError.js"

/**
 * @category constants
 */
export const fileNames = ["ts", "mts", "js", "mjs"].map((extension) => `lexigram.config.${extension}`)

/**
 * @category models
 */
export interface Flags {
  readonly config: Option.Option<string>
  readonly url: Option.Option<string>
  readonly user: Option.Option<string>
  readonly model: Option.Option<string>
}

/**
 * A setting and where it comes from.
 *
 * @category models
 */
export interface Setting<A> {
  readonly value: A
  readonly source: "flag" | "environment" | "file" | "default"
}

/**
 * @category models
 */
export interface Service {
  readonly config: Setting<Option.Option<string>>
  /** The server that the commands talk to; none for the agents of the configuration, in this process. */
  readonly url: Setting<Option.Option<string>>
  readonly token: Option.Option<Redacted.Redacted>
  readonly userId: Setting<Option.Option<string>>
  readonly model: Setting<Option.Option<string>>
  /** The configuration, loaded when first asked for. */
  readonly application: Effect.Effect<CliConfig.CliConfig, CliError>
}

/**
 * @category tags
 */
export class Workspace extends Context.Tag("effect-lexigram/cli/Workspace")<Workspace, Service>() {}

/**
 * @category constants
 */
export const variables = {
  config: "LEXIGRAM_CONFIG",
  url: "LEXIGRAM_URL",
  token: "LEXIGRAM_TOKEN",
  userId: "LEXIGRAM_USER",
  model: "LEXIGRAM_MODEL"
} as const
