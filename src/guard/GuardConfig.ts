/**
 * Which guards an application has, from code or from the environment.
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
  /** Off: no guards at all. */
  enabled: Schema.Boolean,
  /** Heuristics against instructions in messages and in what tools give back. */
  injectionDetection: Schema.Boolean,
  injectionAction: Action,
  /** Personal data in messages and in what tools give back. */
  piiDetection: Schema.Boolean,
  piiAction: Action,
  /** Names of `PiiEntities.types`; empty: all but the secrets, which are `secretDetection`'s. */
  piiEntities: Schema.Array(
    Schema.String.pipe(
      Schema.filter((type) => PiiEntities.types.includes(type) || `must be one of ${PiiEntities.types.join(", ")}`)
    )
  ),
  /** With `piiDetection`, personal data is taken out of answers too. */
  piiRedactionOutput: Schema.Boolean,
  /** Longest message, in UTF-16 code units; 0 sets no limit. */
  maxInputChars: Limit,
  /** Longest answer, in UTF-16 code units; 0 sets no limit. */
  maxOutputChars: Limit,
  lengthAction: Action,
  /** Words and phrases that messages and answers must not hold, see `TopicGuard`. */
  restrictedTopics: Words,
  topicAction: Action,
  /** Judges of injections and jailbreaks by a model, behind all others. */
  enableLlmGuards: Schema.Boolean,
  /** Which model judges; `undefined`: the one that the router has for the role `guard`. */
  guardModel: Schema.UndefinedOr(Schema.String.pipe(Schema.minLength(1))),
  /** From which score on a judge blocks. */
  llmGuardThreshold: Schema.Number.pipe(Schema.between(0, 1)),
  /** What cannot be judged goes on, with a warning. Off: it is held back. */
  llmGuardFailOpen: Schema.Boolean,
  /** How little it takes for heuristics to find something. */
  sensitivityLevel: Schema.Literal("low", "medium", "high"),
  /** All guards of a stage at once, see `GuardPipeline.Options`. */
  parallelExecution: Schema.Boolean,
  /** Invisible and misleading characters are taken out of messages and of what tools give back. */
  unicodeDetection: Schema.Boolean,
  /** Keys, tokens and passwords in messages, answers and what tools give back. */
  secretDetection: Schema.Boolean,
  secretAction: Action,
  /** Guards look at what tools give back. */
  toolOutputs: Schema.Boolean,
  /** What a run does when that is blocked, see `GuardPipeline.BlockedObservations`. */
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
 * The defaults with some fields replaced; `Left` names every field that is out of bounds. A field that is `undefined`
 * keeps its default, but for `guardModel`.
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
 * The configuration from variables such as `LEX_AI_GUARD__PII_ACTION`; what is unset keeps its default, lists are
 * separated by commas, `GUARD_MODEL=none` takes the model of the router. A value that cannot be read or is out of
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
