/**
 * Configuration of sessions, from code or from the environment: backend, lifetimes, limits and HTTP names.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as EnvironmentFields from "../internal/EnvironmentFields.js"
import * as FlatConfig from "../internal/FlatConfig.js"
import { SessionConfigurationError } from "./turn/SessionError.js"
import * as TurnBytes from "./turn/TurnBytes.js"

const NAME = "effect-lexigram/session/SessionConfig"

/**
 * Prefix of the environment variables, as in `LEX_AI_SESSION__SESSION_TTL`.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_SESSION__"

const says = (text: string) => ({ message: () => ({ message: text, override: true }) })

const Flag = Schema.Boolean.annotations(says("must be true or false"))
const most = 1_000_000_000
const count = Schema.Number.pipe(Schema.int(), Schema.between(1, most)).annotations(
  says(`must be a whole number from 1 to ${most}`)
)
/** A hundred years. */
const longest = 3_155_760_000

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what the pattern refuses
const Visible = Schema.String.pipe(Schema.pattern(/^[^\u0000-\u001f\u007f-\u009f]{1,256}$/))
/** An HTTP token (RFC 9110), as header and cookie names must be. */
const Token = Schema.String.pipe(Schema.pattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/))

/**
 * The store of sessions.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Backend = Schema.Literal("in_memory", "cache", "database")
/**
 * @since 0.1.0
 * @category models
 */
export type Backend = typeof Backend.Type

/**
 * The turn manager of groups that do not bring their own.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnStrategy = Schema.Literal("round_robin", "priority", "llm_directed")
/**
 * @since 0.1.0
 * @category models
 */
export type TurnStrategy = typeof TurnStrategy.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const SessionConfig = Schema.Struct({
  /** False: nothing is stored. */
  enabled: Flag,
  /** Distinguishes the sessions of several systems in health checks and logs. */
  name: Visible.annotations(says("must be a name of 1 to 256 visible characters")),
  /** The system prompt of sessions created without one. */
  defaultSystemPrompt: Schema.NullOr(Schema.String).annotations(says("must be a text or null")),
  /** Seconds after which an idle session expires; 0: never. */
  sessionTtl: Schema.Number.pipe(Schema.between(0, longest)).annotations(
    says(`must be seconds, from 0 (never) to ${longest}`)
  ),
  /** Seconds between two rounds that expire idle sessions. */
  cleanupIntervalS: Schema.Number.pipe(Schema.between(1, longest)).annotations(
    says(`must be seconds, from 1 to ${longest}`)
  ),
  /**
   * The maximum number of turns on the path from the first turn to the head. A full session stays open and rejects
   * turns.
   */
  maxTurnsPerSession: count,
  /** The maximum bytes of one turn in UTF-8. The answer of a run is cut to it. */
  maxTurnBytes: count,
  /** Counts active and suspended sessions. */
  maxSessionsPerUser: count,
  /** Creates a checkpoint every N turns. */
  autoCheckpointInterval: Schema.NullOr(count).annotations(
    says(`must be a whole number from 1 to ${most}, or null for none`)
  ),
  /** The oldest are deleted first. The checkpoints that branches and merges begin with are not counted. */
  maxCheckpointsPerSession: count,
  /** Counts active and suspended branches of one session. */
  maxBranchesPerSession: count,
  maxAgentsPerGroup: count,
  /** Of groups that do not bring their own. */
  defaultTurnStrategy: TurnStrategy.annotations(says('must be "round_robin", "priority" or "llm_directed"')),
  /** In this process, or with the layers that `Sessions.layer` is given for the others. */
  backend: Backend.annotations(says('must be "in_memory", "cache" or "database"')),
  /** The cookie that holds the session of a web client; null: none. */
  cookieName: Schema.NullOr(Token).annotations(says("must be a cookie name (RFC 6265) or null")),
  /** The request header that names the session. */
  headerName: Token.annotations(says("must be a header name (RFC 9110)")),
  /**
   * Seconds after its last renewal for which a process keeps the open exchanges of its runs. After that, other
   * processes mark them as interrupted. Must exceed the clock difference between machines.
   */
  exchangeLeaseS: Schema.Number.pipe(Schema.between(1, longest)).annotations(
    says(`must be seconds, from 1 to ${longest}`)
  ),
  /** Passes the turns of a session to long-term memory when it ends. */
  consolidateOnClose: Flag
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionConfig extends Schema.Schema.Type<typeof SessionConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: SessionConfig = {
  enabled: true,
  name: "ai-session",
  defaultSystemPrompt: null,
  sessionTtl: 86_400,
  cleanupIntervalS: 600,
  maxTurnsPerSession: 1000,
  maxTurnBytes: TurnBytes.defaultMaxBytes,
  maxSessionsPerUser: 100,
  autoCheckpointInterval: 10,
  maxCheckpointsPerSession: 50,
  maxBranchesPerSession: 10,
  maxAgentsPerGroup: 10,
  defaultTurnStrategy: "round_robin",
  backend: "in_memory",
  cookieName: "lexigram_session",
  headerName: "X-Session-ID",
  exchangeLeaseS: 60,
  consolidateOnClose: true
}

/**
 * @since 0.1.0
 * @category models
 */
export type Options = { readonly [K in keyof SessionConfig]?: SessionConfig[K] | undefined }

const check = FlatConfig.checking(SessionConfig, defaults)

/**
 * The defaults with some fields replaced, or an error that lists every invalid field and its bounds. A field that is
 * `undefined` keeps its default.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { SessionConfig } from "effect-lexigram/session"
 * import * as Either from "effect/Either"
 *
 * const config = SessionConfig.make({ sessionTtl: 3_600, maxTurnsPerSession: 200 })
 *
 * const issues = Either.map(config, (config) => SessionConfig.validateForEnvironment(config, "production"))
 * // An error of `backend`: sessions in the memory of a process are lost when it ends.
 * ```
 */
export const make = (options?: Options | undefined): Either.Either<SessionConfig, SessionConfigurationError> =>
  Either.mapLeft(
    check(options),
    (issues) =>
      new SessionConfigurationError({
        message: `Sessions cannot be built: ${FlatConfig.toText(issues)}`,
        hint: `Fields: ${Object.keys(defaults).join(", ")}`
      })
  )

/**
 * A finding about a configuration in an environment. `error`: do not deploy it there.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfigIssue {
  readonly field: keyof SessionConfig
  readonly level: "error" | "warning"
  readonly message: string
}

/**
 * Checks a configuration for an environment: in production, for example, sessions in process memory are lost when the
 * process ends.
 *
 * @since 0.1.0
 * @category accessors
 */
export const validateForEnvironment = (
  config: SessionConfig,
  environment: "production" | "development" | "test"
): ReadonlyArray<ConfigIssue> =>
  environment === "production" && config.enabled && config.backend === "in_memory"
    ? [
        {
          field: "backend",
          level: "error",
          message:
            "Sessions are stored in this process and lost when it ends; set the backend to a database or a cache that outlives it"
        }
      ]
    : []

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const flag = (field: string) => Config.boolean(variableOf(field))
const number = (field: string) => Config.number(variableOf(field))
const text = (field: string) => Config.map(Config.string(variableOf(field)), (text) => text.trim())
const word = (field: string) => Config.map(text(field), (text) => text.toLowerCase())
/** `none` reads as none. */
const orNone = <A>(value: Config.Config<A>, field: string): Config.Config<A | null> =>
  Config.orElse(
    Config.validate(word(field), { message: "is a value", validation: (text) => text === "none" || text === "" }).pipe(
      Config.map((): A | null => null)
    ),
    () => value
  )

const fields = {
  enabled: flag("enabled"),
  name: text("name"),
  defaultSystemPrompt: orNone(text("defaultSystemPrompt"), "defaultSystemPrompt"),
  sessionTtl: number("sessionTtl"),
  cleanupIntervalS: number("cleanupIntervalS"),
  maxTurnsPerSession: number("maxTurnsPerSession"),
  maxTurnBytes: number("maxTurnBytes"),
  maxSessionsPerUser: number("maxSessionsPerUser"),
  autoCheckpointInterval: orNone(number("autoCheckpointInterval"), "autoCheckpointInterval"),
  maxCheckpointsPerSession: number("maxCheckpointsPerSession"),
  maxBranchesPerSession: number("maxBranchesPerSession"),
  maxAgentsPerGroup: number("maxAgentsPerGroup"),
  defaultTurnStrategy: word("defaultTurnStrategy"),
  backend: word("backend"),
  cookieName: orNone(text("cookieName"), "cookieName"),
  headerName: text("headerName"),
  exchangeLeaseS: number("exchangeLeaseS"),
  consolidateOnClose: flag("consolidateOnClose")
} satisfies { [K in keyof SessionConfig]: Config.Config<unknown> }

/**
 * Reads the configuration from variables such as `LEX_AI_SESSION__SESSION_TTL`. Unset variables keep their defaults;
 * `none` switches off `DEFAULT_SYSTEM_PROMPT`, `AUTO_CHECKPOINT_INTERVAL` and `COOKIE_NAME`. A value that cannot be
 * read or is out of bounds fails with a `ConfigError` that names its variable.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<SessionConfig, ConfigError.ConfigError> = Effect.flatMap(
  EnvironmentFields.read(fields),
  (given) =>
    Either.mapLeft(check(given), (issues) =>
      EnvironmentFields.invalid(issues.map(({ field, message }) => ({ variable: variableOf(field), message })))
    )
)
