/**
 * The configuration of memory, from code or from the environment.
 *
 * @since 0.1.0
 */

import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as EnvironmentFields from "../internal/EnvironmentFields.js"
import { MemorySystemError } from "./entry/MemoryError.js"

const NAME = "effect-lexigram/memory/MemoryConfig"

/**
 * Prefix of the environment variables. Groups follow it, as in `LEX_AI_MEMORY__WORKING__MAX_RECENT_TURNS`.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_MEMORY__"

const says = (text: string) => ({ message: () => ({ message: text, override: true }) })

const Flag = Schema.Boolean.annotations(says("must be true or false"))
const Share = Schema.Number.pipe(Schema.between(0, 1)).annotations(says("must be a number from 0 to 1"))
const count = (least: number, most: number) =>
  Schema.Number.pipe(Schema.int(), Schema.between(least, most)).annotations(
    says(`must be a whole number from ${least} to ${most}`)
  )
/** A hundred years. */
const longest = 3_155_760_000
const seconds = Schema.Number.pipe(Schema.between(0, longest)).annotations(
  says(`must be seconds, from 0 (never) to ${longest}`)
)
const hours = Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThanOrEqualTo(longest / 3600)).annotations(
  says(`must be hours, above 0, no more than ${longest / 3600}`)
)

/**
 * How working memory assembles a context.
 *
 * @since 0.1.0
 * @category schemas
 */
export const WorkingMemoryConfig = Schema.Struct({
  /** Tokens for the system prompt, before all other sections. */
  systemPromptTokens: count(0, 1_000_000),
  /** Fraction of the rest for the newest turns. All four fractions are at most 1 in total. */
  recentTurnsFraction: Share,
  /** For recalled entries. */
  episodicFraction: Share,
  /** For facts. */
  semanticFraction: Share,
  /** For procedures and tools. */
  toolDescriptionsFraction: Share,
  /** Maximum number of turns. */
  maxRecentTurns: count(1, 10_000)
}).annotations({ identifier: `${NAME}/WorkingMemoryConfig` })
/**
 * @since 0.1.0
 * @category models
 */
export interface WorkingMemoryConfig extends Schema.Schema.Type<typeof WorkingMemoryConfig> {}

/**
 * How episodic memory recalls. The weights apply to queries that set none.
 *
 * @since 0.1.0
 * @category schemas
 */
export const EpisodicMemoryConfig = Schema.Struct({
  /** Number of results of a query that does not set it. */
  defaultTopK: count(1, 10_000),
  recencyWeight: Share,
  importanceWeight: Share,
  relevanceWeight: Share,
  /** The age at which the recency of an entry is one half. */
  recencyHalfLifeHours: hours,
  /** The share of vectors in the relevance of what words and vectors find. */
  vectorWeight: Share,
  /** How long an entry is kept; 0: as long as the store keeps it. */
  ttlSeconds: seconds
}).annotations({ identifier: `${NAME}/EpisodicMemoryConfig` })
/**
 * @since 0.1.0
 * @category models
 */
export interface EpisodicMemoryConfig extends Schema.Schema.Type<typeof EpisodicMemoryConfig> {}

/**
 * Which facts semantic memory returns.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SemanticMemoryConfig = Schema.Struct({
  /** Facts below it are stored, but returned only on request. */
  minConfidence: Share,
  /** Maximum open facts of one subject. The least certain are deleted first. */
  maxFactsPerEntity: count(1, 1_000_000),
  /**
   * Facts are extracted when a session has had no turn for so long; 0: only when it ends, or with consolidation. No
   * model is asked unless one is given as `extractor`.
   */
  extractAfterSeconds: seconds,
  /** Facts of a busy session are extracted at the latest so long after its first turn. */
  extractMaxWaitSeconds: seconds
}).annotations({ identifier: `${NAME}/SemanticMemoryConfig` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SemanticMemoryConfig extends Schema.Schema.Type<typeof SemanticMemoryConfig> {}

/**
 * How memory is consolidated.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ConsolidationConfig = Schema.Struct({
  /** If false, nothing is consolidated automatically, only on request. */
  enabled: Flag,
  intervalSeconds: Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThanOrEqualTo(longest)).annotations(
    says(`must be seconds, above 0, no more than ${longest}`)
  ),
  /** Younger entries do not change. */
  ageThresholdHours: hours,
  /** The strength of an entry halves after this time without a recall. Below 0.05 it is removed. */
  halfLifeHours: hours,
  /** Less important entries are removed unless they are recalled. */
  importancePruneThreshold: Share,
  /** Maximum entries per summary. */
  batchSize: count(1, 10_000)
}).annotations({ identifier: `${NAME}/ConsolidationConfig` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ConsolidationConfig extends Schema.Schema.Type<typeof ConsolidationConfig> {}

/**
 * Where entries are stored.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Backend = Schema.Literal("in_memory", "cache", "database", "vector")
/**
 * @since 0.1.0
 * @category models
 */
export type Backend = typeof Backend.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const MemoryConfig = Schema.Struct({
  /** If false, nothing is remembered. */
  enabled: Flag,
  /** In this process, or in what `DefaultMemory.layer` is given. */
  defaultBackend: Backend.annotations(says('must be "in_memory", "cache", "database" or "vector"')),
  /** How long anything is kept; 0: until it is deleted. */
  ttlSeconds: seconds,
  /** Whether an entry that is recalled in the second half of its life lives for as long again. */
  renewOnRecall: Flag,
  /** How long an entry that is renewed lives at most after it was stored. */
  maxAgeSeconds: Schema.Number.pipe(Schema.greaterThan(0), Schema.lessThanOrEqualTo(longest)).annotations(
    says(`must be seconds, above 0, no more than ${longest}`)
  ),
  working: WorkingMemoryConfig,
  episodic: EpisodicMemoryConfig,
  semantic: SemanticMemoryConfig,
  consolidation: ConsolidationConfig
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryConfig extends Schema.Schema.Type<typeof MemoryConfig> {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults: MemoryConfig = {
  enabled: true,
  defaultBackend: "in_memory",
  ttlSeconds: 2_592_000,
  renewOnRecall: false,
  maxAgeSeconds: 31_536_000,
  working: {
    systemPromptTokens: 512,
    recentTurnsFraction: 0.4,
    episodicFraction: 0.3,
    semanticFraction: 0.2,
    toolDescriptionsFraction: 0.1,
    maxRecentTurns: 20
  },
  episodic: {
    defaultTopK: 10,
    recencyWeight: 0.3,
    importanceWeight: 0.2,
    relevanceWeight: 0.5,
    recencyHalfLifeHours: 720,
    vectorWeight: 0.25,
    ttlSeconds: 0
  },
  semantic: { minConfidence: 0.5, maxFactsPerEntity: 100, extractAfterSeconds: 0, extractMaxWaitSeconds: 600 },
  consolidation: {
    enabled: true,
    intervalSeconds: 3600,
    ageThresholdHours: 24,
    halfLifeHours: 720,
    importancePruneThreshold: 0.1,
    batchSize: 100
  }
}

const groups = ["working", "episodic", "semantic", "consolidation"] as const

type Group = (typeof groups)[number]

/**
 * Fields to replace. Those of a group are replaced one by one.
 *
 * @since 0.1.0
 * @category models
 */
export type Options = {
  readonly [K in keyof MemoryConfig]?:
    | (K extends Group ? { readonly [F in keyof MemoryConfig[K]]?: MemoryConfig[K][F] | undefined } : MemoryConfig[K])
    | undefined
}

const Fractions = MemoryConfig.pipe(
  Schema.filter(({ working }) => {
    const { episodicFraction, recentTurnsFraction, semanticFraction, toolDescriptionsFraction } = working
    const sum = recentTurnsFraction + episodicFraction + semanticFraction + toolDescriptionsFraction
    return sum <= 1 + 1e-9
      ? undefined
      : { path: ["working"], message: `must have fractions of at most 1 in total, not ${Number(sum.toFixed(6))}` }
  }),
  Schema.filter(({ episodic }) =>
    episodic.recencyWeight + episodic.importanceWeight + episodic.relevanceWeight > 0
      ? undefined
      : { path: ["episodic"], message: "must have a weight above 0" }
  )
)

const validate = ParseResult.validateEither(Fractions, { errors: "all", onExcessProperty: "error" })

interface Issue {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

const isGroup = (name: string): name is Group => (groups as ReadonlyArray<string>).includes(name)

const replaced = (base: object, options: object): Record<string, unknown> => {
  const result: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(options)) if (value !== undefined) result[name] = value
  return result
}

const isKnown = ([field = "", inner]: ReadonlyArray<string>): boolean =>
  Object.hasOwn(defaults, field) && (inner === undefined || (isGroup(field) && Object.hasOwn(defaults[field], inner)))

const check = (options: Options | undefined): Either.Either<MemoryConfig, ReadonlyArray<Issue>> => {
  const given = replaced(defaults, options ?? {})
  for (const group of groups) {
    const value = given[group]
    if (Predicate.isReadonlyRecord(value)) given[group] = replaced(defaults[group], value)
  }
  return Either.mapLeft(validate(given), (error) => {
    const issues = new Map<string, Issue>()
    for (const issue of ParseResult.ArrayFormatter.formatIssueSync(error)) {
      const path = issue.path.map(String)
      const key = path.join(".")
      if (!issues.has(key)) issues.set(key, { path, message: isKnown(path) ? issue.message : "is not a field" })
    }
    return Array.from(issues.values())
  })
}

/**
 * The defaults with some fields replaced. Fails with an error that lists every invalid field and its requirement. A
 * field that is `undefined` keeps its default.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { MemoryConfig } from "effect-lexigram/memory"
 * import * as Either from "effect/Either"
 *
 * const config = MemoryConfig.make({ ttlSeconds: 604_800, working: { maxRecentTurns: 10 } })
 *
 * const turns = Either.map(config, ({ working }) => working.maxRecentTurns)
 * // right(10); `MemoryConfig.make({ ttlSeconds: -1 })` is a left that names `ttlSeconds`
 * ```
 */
export const make = (options?: Options | undefined): Either.Either<MemoryConfig, MemorySystemError> =>
  Either.mapLeft(
    check(options),
    (issues) =>
      new MemorySystemError({
        message: `Memory cannot be built: ${issues.map(({ message, path }) => `${path.join(".")} ${message}`).join("; ")}`,
        hint: `Fields: ${Object.keys(defaults).join(", ")}`
      })
  )

const prefixOf = (group: Group | undefined): string =>
  group === undefined ? ENV_PREFIX : `${ENV_PREFIX}${group.toUpperCase()}__`

const variableOf = (path: ReadonlyArray<string>): string => {
  const [field = "", inner] = path
  return isGroup(field) && inner !== undefined
    ? EnvironmentFields.variableOf(prefixOf(field))(inner)
    : EnvironmentFields.variableOf(prefixOf(undefined))(field)
}

const reader = (value: unknown) => (variable: string) => {
  switch (typeof value) {
    case "boolean":
      return Config.boolean(variable)
    case "number":
      return Config.number(variable)
    default:
      return Config.map(Config.string(variable), (text) => text.trim().toLowerCase())
  }
}

const read = (group: Group | undefined, fields: object) => {
  const variable = EnvironmentFields.variableOf(prefixOf(group))
  return EnvironmentFields.read(
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => typeof value !== "object")
        .map(([name, value]) => [name, reader(value)(variable(name))])
    )
  )
}

/**
 * The configuration from variables such as `LEX_AI_MEMORY__TTL_SECONDS`. Unset variables keep their default. An
 * unreadable or invalid value is a `ConfigError` that names its variable.
 *
 * @since 0.1.0
 * @category constructors
 */
export const config: Effect.Effect<MemoryConfig, ConfigError.ConfigError> = Effect.gen(function* () {
  const given = yield* read(undefined, defaults)
  for (const group of groups) given[group] = yield* read(group, defaults[group])
  return yield* Either.mapLeft(check(given as Options), (issues) =>
    EnvironmentFields.invalid(issues.map(({ message, path }) => ({ variable: variableOf(path), message })))
  )
})
