/**
 * Limits of governance, given in code or read from the environment. An unset limit does not apply.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as EnvironmentFields from "../internal/EnvironmentFields.js"
import * as Glob from "../internal/text/Glob.js"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import * as QuotaUnits from "./QuotaUnits.js"
import { UnitKind } from "./ResourceQuotas.js"
import { GovernanceConfigurationError } from "./store/GovernanceError.js"

/**
 * Prefix of the environment variables.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_GOVERNANCE__"

/**
 * Window of requests and tokens per minute. It slides: no interval of this length exceeds the limit.
 *
 * @since 0.1.0
 * @category constants
 */
export const WINDOW: Duration.Duration = Duration.seconds(60)

/**
 * Starting rates: `Governance.layer({ ...GovernanceConfig.rates, monthlyBudget: 100 })`.
 *
 * @since 0.1.0
 * @category constants
 */
export const rates = { rpmLimit: 60, tpmLimit: 100_000 } as const

const says = (text: string) => ({ message: () => ({ message: text, override: true }) })

const Usd = Schema.Number.pipe(Schema.between(0, 9_000_000)).annotations(
  says("must be US dollars, from 0 to 9,000,000; leave it out for no limit")
)
const Count = Schema.Number.pipe(Schema.int(), Schema.between(1, Number.MAX_SAFE_INTEGER)).annotations(
  says("must be a whole number, 1 or more; leave it out for no limit")
)
const Flag = Schema.Boolean.annotations(says("must be true or false"))
const Part = Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThanOrEqualTo(1)).annotations(
  says("must be a part of the budget, above 0 and no more than 1; undefined for no warning")
)
const Globs = Schema.Array(
  Schema.String.pipe(Schema.minLength(1), Schema.maxLength(Glob.MAX_PATTERN_LENGTH))
).annotations(says(`must be a list of names or patterns of 1 to ${Glob.MAX_PATTERN_LENGTH} characters`))
const GlobsByUser = Schema.Record({ key: Schema.String, value: Globs }).annotations(
  says(
    `must be lists of names or patterns of 1 to ${Glob.MAX_PATTERN_LENGTH} characters by user, such as { "*": ["gpt-4o*"] }`
  )
)

type Length = Extract<Duration.DurationInput, string | number>

const Length = Schema.declare(
  (u): u is Length => (typeof u === "string" || typeof u === "number") && Option.isSome(Duration.decodeUnknown(u)),
  { identifier: "Length", ...says('must be a length of time: "1 hour", or milliseconds') }
)

/**
 * A counted unit and its quotas.
 *
 * @since 0.1.0
 * @category schemas
 */
export const QuotaUnit = Schema.Struct({
  /** 1 to 64 letters, digits, `_`, `.` or `-`; unique. */
  name: Schema.String,
  kind: UnitKind,
  /**
   * `sliding` (default): use within the last `window`. `calendar-month`: use since the first of the month, in UTC;
   * without `window`.
   */
  windowKind: Schema.optional(Schema.Literal("sliding", "calendar-month")),
  /** `"1 hour"`, or milliseconds. */
  window: Schema.optional(Length),
  /**
   * By tenant; `"*"` applies to every tenant without a quota, each separately. Without a tenant, a user is `user:<id>`,
   * and callers without an id are `shared`; a tenant whose id is `shared` or begins with `user:` or `tenant:` is
   * `tenant:<id>`.
   */
  quotas: Schema.Record({
    key: Schema.String,
    value: Schema.Struct({
      /** In the unit's measure, US dollars for `cost`; 0 allows nothing. */
      limit: Schema.Number,
      /** Fraction of the limit at which a warning is given, once crossed. Default: never. */
      softThresholdPct: Schema.optional(Schema.Number)
    })
  })
}).annotations({ identifier: "effect-lexigram/governance/GovernanceConfig/QuotaUnit" })
/**
 * @since 0.1.0
 * @category models
 */
export interface QuotaUnit extends Schema.Schema.Type<typeof QuotaUnit> {}

// No `override`: issues within a unit have their own messages.
const Units = Schema.Array(QuotaUnit).annotations({ message: () => "must be a list of units" })

/**
 * @since 0.1.0
 * @category schemas
 */
export const GovernanceConfig = Schema.Struct({
  /** False: everything is allowed, and nothing is counted or booked. */
  enabled: Flag,
  /** US dollars a user may spend per calendar month (UTC). Runs without a user share one budget. */
  monthlyBudget: Schema.UndefinedOr(Usd),
  /** Tokens a user may use per calendar month (UTC). */
  monthlyTokens: Schema.UndefinedOr(Count),
  /** US dollars one run may spend, including all runs it starts. */
  maxRequestCost: Schema.UndefinedOr(Usd),
  /** Tokens one run may use, including all runs it starts. */
  maxTokensPerRequest: Schema.UndefinedOr(Count),
  /** Runs of a user in any 60 seconds, nested runs included. */
  rpmLimit: Schema.UndefinedOr(Count),
  /** Tokens of a user's model calls in any 60 seconds. */
  tpmLimit: Schema.UndefinedOr(Count),
  /** Models that nobody may use: names, or patterns with `*` and `?`, of `model` or `provider/model`. */
  restrictedModels: Globs,
  /** Models a user may use, exclusively; `"*"` applies to every user without a list. */
  modelAllowlist: GlobsByUser,
  /** Models a user may not use; `"*"` applies to every user without a list. */
  modelDenylist: GlobsByUser,
  /**
   * False: monthly and run budgets are tracked but refuse nothing. Model access, rates, policies and quotas still
   * apply.
   */
  enforceBudget: Flag,
  /** Fraction of a month's budget at which a warning is given, once per account and month; `undefined` for none. */
  softLimitPct: Schema.UndefinedOr(Part),
  /**
   * Treatment of models without a price where money is limited: `deny` refuses them, `allow` limits only their tokens
   * and warns once per model. A price of 0 is a price.
   */
  unknownPrice: Schema.Literal("allow", "deny").annotations(says('must be "allow" or "deny"')),
  /**
   * Amounts of a resource a tenant may use in a window: requests, model calls, tool calls, tokens or US dollars. Used
   * when governance is built without a layer of quotas.
   */
  resourceUnits: Units,
  /** When limits cannot be read or written: true continues without them, false fails. */
  failOpenOnPersistenceError: Flag
}).annotations({ identifier: "effect-lexigram/governance/GovernanceConfig" })
/**
 * @since 0.1.0
 * @category models
 */
export interface GovernanceConfig extends Schema.Schema.Type<typeof GovernanceConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: GovernanceConfig = {
  enabled: true,
  monthlyBudget: undefined,
  monthlyTokens: undefined,
  maxRequestCost: undefined,
  maxTokensPerRequest: undefined,
  rpmLimit: undefined,
  tpmLimit: undefined,
  restrictedModels: [],
  modelAllowlist: {},
  modelDenylist: {},
  enforceBudget: true,
  softLimitPct: 0.8,
  unknownPrice: "deny",
  resourceUnits: [],
  failOpenOnPersistenceError: false
}

/**
 * Fields given in code. Omitted fields have their defaults.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = { readonly [K in keyof GovernanceConfig]?: GovernanceConfig[K] | undefined }

const validate = ParseResult.validateEither(GovernanceConfig, { errors: "all", onExcessProperty: "error" })

interface Issue {
  readonly field: string
  readonly message: string
}

const MAX_MESSAGE_LENGTH = 1000

const check = (options: Options | undefined): Either.Either<GovernanceConfig, ReadonlyArray<Issue>> => {
  const given: Record<string, unknown> = { ...defaults, ...options }
  for (const [name, value] of Object.entries(defaults)) {
    if (given[name] === undefined && name !== "softLimitPct") given[name] = value
  }
  const checked = validate(given)
  if (Either.isRight(checked)) {
    // Uses the given value: the copy made by validation loses a user or tenant named `__proto__`.
    const config = given as unknown as GovernanceConfig
    const issues = QuotaUnits.issuesOfConfig(config.resourceUnits)
    const message = `must be valid: ${issues.join("; ")}`.slice(0, MAX_MESSAGE_LENGTH)
    return issues.length === 0 ? Either.right(config) : Either.left([{ field: "resourceUnits", message }])
  }
  const issues = new Map<string, Issue>()
  for (const issue of ParseResult.ArrayFormatter.formatIssueSync(checked.left)) {
    const field = String(issue.path[0] ?? "")
    const at = issue.path.slice(1).map(String).join(".")
    const before = issues.get(field)
    const inside = at === "" ? issue.message : `${at}: ${issue.message}`
    const message =
      before !== undefined ? `${before.message}; ${inside}` : at === "" ? inside : `must be valid: ${inside}`
    const isKnown = Object.hasOwn(defaults, field)
    issues.set(field, { field, message: isKnown ? message.slice(0, MAX_MESSAGE_LENGTH) : "is not a field" })
  }
  return Either.left(Array.from(issues.values()))
}

/**
 * Returns the defaults with some fields replaced, or every invalid field and its rule.
 *
 * @example
 * ```ts
 * import { GovernanceConfig } from "effect-lexigram/governance"
 *
 * const config = GovernanceConfig.make({
 *   ...GovernanceConfig.rates,
 *   monthlyBudget: 100,
 *   maxRequestCost: 0.5,
 *   restrictedModels: ["openai/o1*"]
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Either.Either<GovernanceConfig, GovernanceConfigurationError> =>
  Either.mapLeft(
    check(options),
    (issues) =>
      new GovernanceConfigurationError({
        message: `Governance cannot be built: ${issues.map(({ field, message }) => `${field} ${message}`).join("; ")}`,
        hint: `Fields: ${Object.keys(defaults).join(", ")}`
      })
  )

/**
 * True if a configuration limits dollars, in budgets or quotas.
 *
 * @since 0.1.0
 * @category guards
 */
export const limitsMoney = ({ maxRequestCost, monthlyBudget, resourceUnits }: GovernanceConfig): boolean =>
  monthlyBudget !== undefined || maxRequestCost !== undefined || resourceUnits.some(({ kind }) => kind === "cost")

/**
 * The lowest cost quota of a tenant in US dollars; `undefined` without one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const costQuotaOf = (units: GovernanceConfig["resourceUnits"], tenantId: string): number | undefined => {
  let least: number | undefined
  for (const { kind, quotas } of units) {
    if (kind !== "cost") continue
    const quota = Object.hasOwn(quotas, tenantId) ? quotas[tenantId] : quotas["*"]
    if (quota !== undefined) least = Math.min(least ?? quota.limit, quota.limit)
  }
  return least
}

/**
 * Fails if money is limited and the context has no prices: every model would be refused.
 *
 * @since 0.1.0
 * @category combinators
 */
export const requirePrices = (config: GovernanceConfig): Effect.Effect<void, GovernanceConfigurationError> =>
  Effect.flatMap(Effect.context<never>(), (context) =>
    !config.enabled || !limitsMoney(config) || context.unsafeMap.has(CostEstimator.key)
      ? Effect.void
      : Effect.fail(
          new GovernanceConfigurationError({
            message: "Governance limits money, but there are no prices",
            hint: "Provide ModelPrices.layer or CostEstimator.layerPrices to its layer (`prices` of Agents.layerConfig), or limit tokens"
          })
        )
  )

const variableOf = EnvironmentFields.variableOf(ENV_PREFIX)

const parsed = (name: string, what: string, parse: (text: string) => unknown) =>
  Config.mapOrFail(Config.string(name), (text) =>
    Either.mapLeft(
      Either.try(() => parse(text)),
      () => ConfigError.InvalidData([name], `Expected ${what}`)
    )
  )

const list = (name: string) =>
  Config.map(Config.string(name), (text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "")
  )

const json = (name: string, example: string) =>
  parsed(name, `JSON such as ${example}`, (text) => JSON.parse(text) as unknown)

const aList = '{"*":["gpt-4o*"],"user-1":["*"]}'
const aUnit = '[{"name":"calls","kind":"model_calls","window":"1 hour","quotas":{"*":{"limit":100}}}]'

const part = (name: string) =>
  parsed(name, 'a number or "none"', (text) => {
    if (text.trim().toLowerCase() === "none") return undefined
    const value = text.trim() === "" ? Number.NaN : Number(text)
    if (Number.isNaN(value)) throw new Error("no number")
    return value
  })

const fields = {
  enabled: Config.boolean(variableOf("enabled")),
  monthlyBudget: Config.number(variableOf("monthlyBudget")),
  monthlyTokens: Config.integer(variableOf("monthlyTokens")),
  maxRequestCost: Config.number(variableOf("maxRequestCost")),
  maxTokensPerRequest: Config.integer(variableOf("maxTokensPerRequest")),
  rpmLimit: Config.integer(variableOf("rpmLimit")),
  tpmLimit: Config.integer(variableOf("tpmLimit")),
  restrictedModels: list(variableOf("restrictedModels")),
  modelAllowlist: json(variableOf("modelAllowlist"), aList),
  modelDenylist: json(variableOf("modelDenylist"), aList),
  enforceBudget: Config.boolean(variableOf("enforceBudget")),
  softLimitPct: part(variableOf("softLimitPct")),
  unknownPrice: Config.string(variableOf("unknownPrice")),
  resourceUnits: json(variableOf("resourceUnits"), aUnit),
  failOpenOnPersistenceError: Config.boolean(variableOf("failOpenOnPersistenceError"))
} satisfies { [K in keyof GovernanceConfig]: Config.Config<unknown> }

/**
 * Reads the configuration from variables such as `LEX_AI_GOVERNANCE__MONTHLY_BUDGET`; unset variables keep their
 * defaults. `RESTRICTED_MODELS` is separated by commas; `MODEL_ALLOWLIST`, `MODEL_DENYLIST` and `RESOURCE_UNITS` are
 * JSON; `SOFT_LIMIT_PCT=none` disables the warning. A value that cannot be read or is out of bounds is a `ConfigError`
 * that names its variable.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<GovernanceConfig, ConfigError.ConfigError> = Effect.flatMap(
  EnvironmentFields.read(fields),
  (given) =>
    Either.mapLeft(check(given as Options), (issues) =>
      EnvironmentFields.invalid(issues.map(({ field, message }) => ({ variable: variableOf(field), message })))
    )
)
