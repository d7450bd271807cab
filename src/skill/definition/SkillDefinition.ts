/**
 * Skills and their results as data.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const NAME = "effect-lexigram/skill/SkillDefinition"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const attributes = Schema.optionalWith(Attributes, { default: () => ({}) })
const flag = (value: boolean) => Schema.optionalWith(Schema.Boolean, { default: () => value })

/**
 * The category of skills that come from folders with a `SKILL.md`, unless they are given another one.
 *
 * @since 0.1.0
 * @category constants
 */
export const FOLDER_CATEGORY = "skill_source"

/**
 * One parameter. The bounds are inclusive and apply to numbers, `maxLength` to strings.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SkillParameter = Schema.Struct({
  name: Schema.NonEmptyString,
  type: Schema.Literal("string", "integer", "number", "boolean", "array", "object"),
  description: Schema.String,
  required: flag(true),
  default: Schema.optional(Schema.Unknown),
  enum: Schema.optional(Schema.Array(Schema.Unknown)),
  minValue: Schema.optional(Schema.Number),
  maxValue: Schema.optional(Schema.Number),
  maxLength: Schema.optional(Schema.NonNegativeInt)
}).annotations({ identifier: `${NAME}/SkillParameter` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SkillParameter extends Schema.Schema.Type<typeof SkillParameter> {}

/**
 * What a skill says about itself. `parametersSchema` and `returnsSchema` are JSON Schemas; an empty one accepts
 * anything. The retries and the timeout that a skill leaves out come from the configuration.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SkillDefinition = Schema.Struct({
  name: Schema.NonEmptyString,
  description: Schema.String,
  parametersSchema: attributes,
  returnsSchema: attributes,
  category: Schema.optionalWith(Schema.String, { default: () => "general" }),
  /** True: each execution is approved by somebody first. */
  requiresConfirmation: flag(false),
  /** True: results of the same parameters may be reused. */
  cacheable: flag(false),
  /** True: what is reused is everybody's. Otherwise the results of one user are reused for that user alone. */
  shared: flag(false),
  /** True: executing it twice does no more than once. Only then is it tried again after a timeout. */
  idempotent: flag(false),
  /** Further attempts after the first, whatever the failure. */
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  /** For each attempt, in seconds. */
  timeoutSeconds: Schema.optional(Schema.Positive),
  /** Executions of this skill at a time; as many as the executor allows unless set. */
  maxConcurrent: Schema.optional(Schema.Int.pipe(Schema.positive())),
  /** All of these are needed. */
  permissions: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  metadata: attributes
}).annotations({ identifier: `${NAME}/SkillDefinition` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SkillDefinition extends Schema.Schema.Type<typeof SkillDefinition> {}

/**
 * What came of an execution. `error` is there when `success` is false: a composition of skills that tolerates failures
 * says so here.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SkillResult = Schema.Struct({
  skillName: Schema.String,
  success: Schema.Boolean,
  output: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.String),
  /** Milliseconds; 0 when cached. */
  durationMs: Schema.optionalWith(Schema.NonNegative, { default: () => 0 }),
  cached: flag(false),
  /** The attempt that succeeded, from 1; 0 when cached. */
  attempt: Schema.optionalWith(Schema.NonNegativeInt, { default: () => 1 }),
  metadata: attributes
}).annotations({ identifier: `${NAME}/SkillResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SkillResult extends Schema.Schema.Type<typeof SkillResult> {}

/**
 * A result whose output has its type.
 *
 * @since 0.1.0
 * @category models
 */
export interface Executed<out A> extends Omit<SkillResult, "output"> {
  readonly output: A
}
