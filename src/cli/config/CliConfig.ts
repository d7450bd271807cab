/**
 * The configuration of the command line: the default export of `lexigram.config.ts`. It says which agents there are,
 * and what they run on.
 *
 * @since 0.1.0
 */
import type * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import type * as Agent from "../../agent/definition/AgentDefinition.js"
import type * as AgentServer from "../../http/api/AgentServer.js"
import type { Authentication } from "../../http/api/Authentication.js"

/**
 * What flags and the environment ask of an application.
 *
 * @since 0.1.0
 * @category models
 */
export interface Inputs {
  /** The flag `--model`, or `LEXIGRAM_MODEL`, such as `ollama/llama3.2`. */
  readonly model?: string | undefined
}

/**
 * What an application provides at least. Commands use what else it has: sessions (`Sessions.layer`), memory, skills,
 * prompts, a database, stores of experiments.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = Exclude<AgentServer.Services, Authentication>

/**
 * How `lexigram serve` serves.
 *
 * @since 0.1.0
 * @category models
 */
export interface ServerOptions extends Omit<AgentServer.Options, "agents"> {
  /** Default 3000, the flag `--port`. */
  readonly port?: number | undefined
  /** Default `127.0.0.1`, the flag `--host`. */
  readonly host?: string | undefined
  /** Who calls. Without it the server knows nobody, and is for this machine alone. */
  readonly authentication?: Layer.Layer<Authentication, unknown> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The agents of the runs. The first one is the default of `lexigram run` and `lexigram chat`. */
  readonly agents: ReadonlyArray<Agent.Any>
  /**
   * Everything that the agents run on. A function is given what flags and the environment ask for; an application whose
   * layer is none has its own model, and refuses `--model`.
   */
  readonly layer: Layer.Layer<Services, unknown> | ((inputs: Inputs) => Layer.Layer<Services, unknown>)
  /** Whose runs, sessions and memory the commands reach, unless `--user` or `LEXIGRAM_USER` says otherwise. */
  readonly userId?: string | undefined
  readonly server?: ServerOptions | undefined
}

const TypeId: unique symbol = Symbol.for("effect-lexigram/cli/CliConfig") as never

/**
 * @since 0.1.0
 * @category models
 */
export interface CliConfig extends Options {
  readonly [TypeId]: typeof TypeId
}

/**
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * // lexigram.config.ts
 * import { Agent } from "effect-lexigram"
 * import { CliConfig, ModelName } from "effect-lexigram/cli"
 * import { Application } from "effect-lexigram/application"
 * import * as Layer from "effect/Layer"
 *
 * const agents = [Agent.make("helper", { system: "You answer briefly." })]
 *
 * export default CliConfig.make({
 *   agents,
 *   userId: "me",
 *   layer: ({ model = "offline" }) =>
 *     Application.layerSqlite(agents, { file: "agents.db" }).pipe(Layer.provide(ModelName.layer(model)))
 * })
 * ```
 */
export const make = (options: Options): CliConfig => ({ ...options, [TypeId]: TypeId })

/**
 * @since 0.1.0
 * @category guards
 */
export const isCliConfig = (u: unknown): u is CliConfig =>
  Predicate.isReadonlyRecord(u) && Reflect.get(u, TypeId) === TypeId
