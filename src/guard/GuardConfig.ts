/**
 * Guard settings of an application, given in code or read from the environment.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as EnvironmentFields from "../internal/EnvironmentFields.js"
import * as PiiEntities from "./pii/PiiEntities.js"
import { GuardConfigurationError } from "./pipeline/GuardError.js"

/**
 * Prefix of the environment variables.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_GUARD__"

const Limit = Schema.NonNegativeInt
const Words = Schema.Array(Schema.String.pipe(Schema.filter((text) => text.trim() !== "" || "must not be blank")))
const Action = Schema.Literal("block", "redact", "warn")

/**
 * @since 0.1.0
 * @category schemas
 */
export const GuardConfig = Schema.Struct({
  /** False: no guards run. */
  enabled: Schema.Boolean,
  /** Detects prompt injections in messages and tool results. */
  injectionDetection: Schema.Boolean,
  injectionAction: Action,
  /** Detects personal data in messages and tool results. */
  piiDetection: Schema.Boolean,
  piiAction: Action,
  /** Names of `PiiEntities.types`. Empty: all except the secrets, which `secretDetection` covers. */
  piiEntities: Schema.Array(
    Schema.String.pipe(
      Schema.filter((type) => PiiEntities.types.includes(type) || `must be one of ${PiiEntities.types.join(", ")}`)
    )
  ),
  /** With `piiDetection`, redacts personal data in answers too. */
  piiRedactionOutput: Schema.Boolean,
  /** Longest message, in UTF-16 code units; 0 sets no limit. */
  maxInputChars: Limit,
  /** Longest answer, in UTF-16 code units; 0 sets no limit. */
  maxOutputChars: Limit,
  lengthAction: Action,
  /** Words and phrases that messages and answers must not contain, see `TopicGuard`. */
  restrictedTopics: Words,
  topicAction: Action,
  /** Adds model-based judges of injections and jailbreaks after all other guards. */
  enableLlmGuards: Schema.Boolean,
  /** Model of the judges; `undefined`: the router's model for the role `guard`. */
  guardModel: Schema.UndefinedOr(Schema.String.pipe(Schema.minLength(1))),
  /** Lowest score at which a judge blocks. */
  llmGuardThreshold: Schema.Number.pipe(Schema.between(0, 1)),
  /** True: text that cannot be judged passes, with a warning. False: it is withheld. */
  llmGuardFailOpen: Schema.Boolean,
  /** How readily the heuristics report a finding. */
  sensitivityLevel: Schema.Literal("low", "medium", "high"),
  /** Runs all guards of a stage at once, see `GuardPipeline.Options`. */
  parallelExecution: Schema.Boolean,
  /** Removes invisible and misleading characters from messages and tool results. */
  unicodeDetection: Schema.Boolean,
  /** Detects keys, tokens and passwords in messages, answers and tool results. */
  secretDetection: Schema.Boolean,
  secretAction: Action,
  /** Checks tool results. */
  toolOutputs: Schema.Boolean,
  /** What a run does when a tool result is blocked, see `GuardPipeline.BlockedObservations`. */
  blockedObservations: Schema.Literal("withhold", "fail")
}).annotations({ identifier: "effect-lexigram/guard/GuardConfig" })
/**
 * @since 0.1.0
 * @category models
 */
export interface GuardConfig extends Schema.Schema.Type<typeof GuardConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: GuardConfig = {
  enabled: true,
  injectionDetection: true,
  injectionAction: "block",
  piiDetection: true,
  piiAction: "redact",
  piiEntities: [],
  piiRedactionOutput: true,
  maxInputChars: 0,
  maxOutputChars: 0,
  lengthAction: "block",
  restrictedTopics: [],
  topicAction: "block",
  enableLlmGuards: false,
  guardModel: "gpt-4o-mini",
  llmGuardThreshold: 0.7,
  llmGuardFailOpen: false,
  sensitivityLevel: "medium",
  parallelExecution: false,
  unicodeDetection: true,
  secretDetection: true,
  secretAction: "redact",
  toolOutputs: true,
  blockedObservations: "withhold"
}

/**
 * @since 0.1.0
 * @category models
 */
export type Options = { readonly [K in keyof GuardConfig]?: GuardConfig[K] | undefined }

const validate = ParseResult.validateEither(GuardConfig, { errors: "all", onExcessProperty: "error" })

const check = (options: Options | undefined) => {
  const given: Record<string, unknown> = { ...defaults }
  for (const [name, value] of Object.entries(options ?? {})) {
    if (value !== undefined || name === "guardModel") given[name] = value
  }
  return Either.mapLeft(validate(given), ParseResult.ArrayFormatter.formatIssueSync)
}

/**
 * Returns the defaults with some fields replaced; `Left` names every field that is out of bounds. A field that is
 * `undefined` keeps its default, except `guardModel`.
 *
 * @example
 * ```ts
 * import { GuardConfig, GuardPresets } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 *
 * // The names of the guards that run, in their order.
 * const names = Effect.gen(function* () {
 *   const config = yield* GuardConfig.make({ piiAction: "block", maxInputChars: 8000 })
 *   return (yield* GuardPresets.guards(config)).map(({ name }) => name)
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Either.Either<GuardConfig, GuardConfigurationError> =>
  Either.mapLeft(
    check(options),
    (issues) =>
      new GuardConfigurationError({
        message: issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ")
      })
  )

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const flag = (field: string) => Config.boolean(variableOf(field))
const text = (field: string) => Config.string(variableOf(field))
const integer = (field: string) => Config.integer(variableOf(field))
const word = <A extends string>(field: string) => Config.map(text(field), (text) => text.trim().toLowerCase() as A)
const list = (field: string) =>
  Config.map(text(field), (text) => (text.trim() === "" ? [] : text.split(",").map((item) => item.trim())))

const fields = {
  enabled: flag("enabled"),
  injectionDetection: flag("injectionDetection"),
  injectionAction: word("injectionAction"),
  piiDetection: flag("piiDetection"),
  piiAction: word("piiAction"),
  piiEntities: list("piiEntities"),
  piiRedactionOutput: flag("piiRedactionOutput"),
  maxInputChars: integer("maxInputChars"),
  maxOutputChars: integer("maxOutputChars"),
  lengthAction: word("lengthAction"),
  restrictedTopics: list("restrictedTopics"),
  topicAction: word("topicAction"),
  enableLlmGuards: flag("enableLlmGuards"),
  guardModel: Config.map(text("guardModel"), (text) =>
    text.trim().toLowerCase() === "none" ? undefined : text.trim()
  ),
  llmGuardThreshold: Config.number(variableOf("llmGuardThreshold")),
  llmGuardFailOpen: flag("llmGuardFailOpen"),
  sensitivityLevel: word("sensitivityLevel"),
  parallelExecution: flag("parallelExecution"),
  unicodeDetection: flag("unicodeDetection"),
  secretDetection: flag("secretDetection"),
  secretAction: word("secretAction"),
  toolOutputs: flag("toolOutputs"),
  blockedObservations: word("blockedObservations")
} satisfies { [K in keyof GuardConfig]: Config.Config<GuardConfig[K]> }

/**
 * Reads the configuration from variables such as `LEX_AI_GUARD__PII_ACTION`. Unset variables keep their defaults, lists
 * are separated by commas, and `GUARD_MODEL=none` selects the router's model. A value that cannot be read or is out of
 * bounds is a `ConfigError` that names it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<GuardConfig, ConfigError.ConfigError> = Effect.flatMap(
  EnvironmentFields.read(fields),
  (given) =>
    Either.mapLeft(check(given as Options), (issues) =>
      EnvironmentFields.invalid(
        issues.map((issue) => ({ variable: variableOf(String(issue.path[0])), message: issue.message }))
      )
    )
)
