/**
 * Defaults of all agents of an executor, from code or from the environment.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as ReaderTimeout from "../../domain/ReaderTimeout.js"
import * as EnvironmentFields from "../../internal/EnvironmentFields.js"

/**
 * Prefix of the environment variables.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_AGENTS__"

const Positive = Schema.Number.pipe(Schema.int(), Schema.greaterThanOrEqualTo(1))
const Time = Schema.DurationFromSelf.pipe(Schema.greaterThanDuration(Duration.zero))

/**
 * @since 0.1.0
 * @category schemas
 */
export const AgentConfig = Schema.Struct({
  /** False: every run fails with `AgentConfigurationError` before any call. */
  enabled: Schema.Boolean,
  /** Default iterations of a strategy. */
  maxIterations: Positive,
  /** Default temperature; `undefined` sends none. */
  defaultTemperature: Schema.UndefinedOr(Schema.Number.pipe(Schema.between(0, 2))),
  /** Default limit of the answer of one model call, in tokens. */
  defaultMaxTokens: Positive,
  /** Default attempts of a tool, including the first one. */
  toolMaxRetries: Positive,
  /** Spans of runs, model calls and tools. */
  enableTracing: Schema.Boolean,
  /** Metrics of runs and tools. */
  enableMetrics: Schema.Boolean,
  /** Messages, arguments and results in spans. */
  captureContent: Schema.Boolean,
  /** Default time limit of one attempt of a tool. */
  toolTimeout: Time,
  /** Tool calls of one turn that run at once. */
  toolConcurrency: Positive,
  /** Tool calls of one turn that run; the result of each further call says that it did not run. */
  maxCallsPerTurn: Positive,
  /** Characters of an observation that reach the model. */
  observationMaxChars: Positive,
  /** Time limit of one model call. */
  llmTimeout: Time,
  /**
   * Time limit of a run, without the time in which it waits for a person or for its reader; `undefined` sets no limit.
   */
  runTimeout: Schema.UndefinedOr(Time),
  /** How long a streamed run waits for its reader before it fails with `ReaderTimeoutError`. */
  readerTimeout: Time,
  /** Tokens of a run, including delegated ones; `undefined` sets no limit. */
  maxRunTokens: Schema.UndefinedOr(Positive),
  /** Tokens of recalled memory. */
  memoryTokenBudget: Positive,
  /** Turns of a session that a run sees. */
  sessionTurns: Positive,
  /**
   * The newest files of a session that the model sees again, of at most 20 MiB together; the names or media types of
   * the others stand for them. Only sessions with a `BlobStore` keep files.
   */
  sessionFiles: Schema.NonNegativeInt,
  /** Whether the model sees the tool calls of earlier turns of a session, with their results. */
  sessionToolCalls: Schema.Boolean
}).annotations({ identifier: "effect-lexigram/agent/AgentConfig" })
/**
 * @since 0.1.0
 * @category models
 */
export interface AgentConfig extends Schema.Schema.Type<typeof AgentConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: AgentConfig = {
  enabled: true,
  maxIterations: 10,
  defaultTemperature: 0.7,
  defaultMaxTokens: 2048,
  toolMaxRetries: 3,
  enableTracing: true,
  enableMetrics: true,
  captureContent: false,
  toolTimeout: Duration.seconds(30),
  toolConcurrency: 8,
  maxCallsPerTurn: 128,
  observationMaxChars: 10_000,
  llmTimeout: Duration.seconds(120),
  runTimeout: undefined,
  readerTimeout: ReaderTimeout.defaultLimit,
  maxRunTokens: undefined,
  memoryTokenBudget: 4096,
  sessionTurns: 20,
  sessionFiles: 10,
  sessionToolCalls: true
}

const validate = ParseResult.validateEither(AgentConfig, { errors: "all" })

/**
 * The fields in code; times in any form that `Duration` takes.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = {
  readonly [K in keyof AgentConfig]?: Duration.Duration extends AgentConfig[K]
    ? Duration.DurationInput | Exclude<AgentConfig[K], Duration.Duration> | undefined
    : AgentConfig[K] | undefined
}

const times = ["toolTimeout", "llmTimeout", "runTimeout", "readerTimeout"] as const

const check = (options: Options | undefined) => {
  const given: Record<string, unknown> = { ...defaults, ...options }
  for (const name of times) {
    if (given[name] !== undefined)
      given[name] = Option.getOrElse(Duration.decodeUnknown(given[name]), () => given[name])
  }
  return Either.mapLeft(validate(given), ParseResult.ArrayFormatter.formatIssueSync)
}

/**
 * The defaults with some fields replaced; `Left` names every field that is out of bounds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Either.Either<AgentConfig, string> =>
  Either.mapLeft(check(options), (issues) =>
    issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ")
  )

/**
 * The configuration of an executor, or its problem, which fails every run with `AgentConfigurationError`.
 *
 * @since 0.1.0
 * @category tags
 */
export class Settings extends Context.Tag("effect-lexigram/agent/AgentConfig/Settings")<
  Settings,
  Either.Either<AgentConfig, string>
>() {}

/**
 * The defaults with some fields replaced.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { AgentConfig } from "effect-lexigram"
 * import { LocalExecutor } from "effect-lexigram/agent"
 * import * as Layer from "effect/Layer"
 *
 * const executor = LocalExecutor.layer.pipe(
 *   Layer.provide(AgentConfig.layer({ maxIterations: 5, runTimeout: "2 minutes", maxRunTokens: 50_000 }))
 * )
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<Settings> => Layer.sync(Settings, () => make(options))

const env = (name: string) => `${ENV_PREFIX}${name}`

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const seconds = (name: string) => Config.map(Config.number(name), (value) => Duration.seconds(value))

const temperature = Config.mapOrFail(Config.string(env("DEFAULT_TEMPERATURE")), (text) => {
  if (text.trim().toLowerCase() === "none") return Either.right(undefined)
  const value = Number(text)
  return text.trim() !== "" && Number.isFinite(value)
    ? Either.right(value)
    : Either.left(
        ConfigError.InvalidData([env("DEFAULT_TEMPERATURE")], `Expected a number or "none", got "${text.slice(0, 32)}"`)
      )
})

const fields = {
  enabled: Config.boolean(env("ENABLED")),
  maxIterations: Config.integer(env("MAX_ITERATIONS")),
  defaultTemperature: temperature,
  defaultMaxTokens: Config.integer(env("DEFAULT_MAX_TOKENS")),
  toolMaxRetries: Config.integer(env("TOOL_MAX_RETRIES")),
  enableTracing: Config.boolean(env("ENABLE_TRACING")),
  enableMetrics: Config.boolean(env("ENABLE_METRICS")),
  captureContent: Config.boolean(env("CAPTURE_CONTENT")),
  toolTimeout: seconds(env("TOOL_TIMEOUT")),
  toolConcurrency: Config.integer(env("TOOL_CONCURRENCY")),
  maxCallsPerTurn: Config.integer(env("MAX_CALLS_PER_TURN")),
  observationMaxChars: Config.integer(env("OBSERVATION_MAX_CHARS")),
  llmTimeout: seconds(env("LLM_TIMEOUT")),
  runTimeout: seconds(env("RUN_TIMEOUT")),
  readerTimeout: seconds(env("READER_TIMEOUT")),
  maxRunTokens: Config.integer(env("MAX_RUN_TOKENS")),
  memoryTokenBudget: Config.integer(env("MEMORY_TOKEN_BUDGET")),
  sessionTurns: Config.integer(env("SESSION_TURNS")),
  sessionFiles: Config.integer(env("SESSION_FILES")),
  sessionToolCalls: Config.boolean(env("SESSION_TOOL_CALLS"))
} satisfies { [K in keyof AgentConfig]: Config.Config<AgentConfig[K] | undefined> }

/**
 * The configuration from variables such as `LEX_AI_AGENTS__MAX_ITERATIONS`. Unset variables keep their defaults, times
 * are in seconds, `DEFAULT_TEMPERATURE=none` sends none. A value that is unreadable or out of bounds is a `ConfigError`
 * that names it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<AgentConfig, ConfigError.ConfigError> = Effect.flatMap(
  EnvironmentFields.read(fields),
  (given) =>
    Either.mapLeft(check(given as Options), (issues) =>
      EnvironmentFields.invalid(
        issues.map((issue) => ({ variable: variableOf(String(issue.path[0])), message: issue.message }))
      )
    )
)

/**
 * The configuration from the environment, see `config`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig: Layer.Layer<Settings, ConfigError.ConfigError> = Layer.effect(
  Settings,
  Effect.map(config, Either.right)
)
