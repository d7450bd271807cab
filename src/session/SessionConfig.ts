/**
 * Configuration of sessions: how they are stored and for how long, from code or from the environment.
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
/** A token of HTTP (RFC 9110), which names of headers and cookies must be. */
const Token = Schema.String.pipe(Schema.pattern(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/))

/**
 * Where sessions are kept.
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
 * Who speaks next in a group that does not say it itself.
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
  /** Off: nothing is kept. */
  enabled: Flag,
  /** Tells the sessions of several systems apart, in reports of health and in logs. */
  name: Visible.annotations(says("must be a name of 1 to 256 characters, all of which can be seen")),
  /** For sessions that are created without one. */
  defaultSystemPrompt: Schema.NullOr(Schema.String).annotations(says("must be a text, or null for none")),
  /** Seconds after which a session in which nothing happens expires; 0: never. */
  sessionTtl: Schema.Number.pipe(Schema.between(0, longest)).annotations(
    says(`must be seconds, from 0 (never) to ${longest}`)
  ),
  /** Seconds between two rounds that make idle sessions expired. */
  cleanupIntervalS: Schema.Number.pipe(Schema.between(1, longest)).annotations(
    says(`must be seconds, from 1 to ${longest}`)
  ),
  /** On the way from the first turn to the newest one. A full session stays open and refuses turns. */
  maxTurnsPerSession: count,
  /** Of one turn, in UTF-8. The answer of a run is cut to it. */
  maxTurnBytes: count,
  /** Active and suspended ones. */
  maxSessionsPerUser: count,
  /** A checkpoint after every so many turns. */
  autoCheckpointInterval: Schema.NullOr(count).annotations(
    says(`must be a whole number from 1 to ${most}, or null for none`)
  ),
  /** The oldest go first. Those that branches and merges begin with are not counted. */
  maxCheckpointsPerSession: count,
  /** Active and suspended ones of one session. */
  maxBranchesPerSession: count,
  maxAgentsPerGroup: count,
  /** Of groups that do not bring their own. */
  defaultTurnStrategy: TurnStrategy.annotations(says('must be "round_robin", "priority" or "llm_directed"')),
  /** In this process, or in what `Sessions.layer` is given for the others. */
  backend: Backend.annotations(says('must be "in_memory", "cache" or "database"')),
  /** The cookie a web application keeps the session in; null: none. */
  cookieName: Schema.NullOr(Token).annotations(says("must be a name of a cookie (RFC 6265), or null for none")),
  /** The header that names the session of a request. */
  headerName: Token.annotations(says("must be a name of a header (RFC 9110)")),
  /**
   * Seconds after its last sign of life in which a process keeps what its runs were asked to itself. Then others mark
   * it as interrupted. Longer than the clocks of the machines differ.
   */
  exchangeLeaseS: Schema.Number.pipe(Schema.between(1, longest)).annotations(
    says(`must be seconds, from 1 to ${longest}`)
  ),
  /** Hands what was said in a session to long-term memory when it ends. */
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
  maxTurnBytes: TurnBytes.most,
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
 * The defaults with some fields replaced, or every field that is wrong and what it must be. A field that is `undefined`
 * keeps its default.
 *
 * @since 0.1.0
 * @category constructors
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
 * What of a configuration is not right for an environment. `error`: it must not go there like this.
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
 * Looks at a configuration with the eyes of who runs it: in production sessions that live in the process are lost when
 * it ends.
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
            "Sessions are kept in this process and lost when it ends; set the backend to a database or a cache that outlives it"
        }
      ]
    : []

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const flag = (field: string) => Config.boolean(variableOf(field))
const number = (field: string) => Config.number(variableOf(field))
const text = (field: string) => Config.map(Config.string(variableOf(field)), (text) => text.trim())
const word = (field: string) => Config.map(text(field), (text) => text.toLowerCase())
/** `none` for none. */
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
 * The configuration from variables such as `LEX_AI_SESSION__SESSION_TTL`; what is unset keeps its default, `none`
 * switches off `DEFAULT_SYSTEM_PROMPT`, `AUTO_CHECKPOINT_INTERVAL` and `COOKIE_NAME`. A value that cannot be read or is
 * out of bounds is a `ConfigError` that names its variable.
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
