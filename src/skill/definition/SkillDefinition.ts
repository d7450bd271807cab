/**
 * Skill definitions and results as data.
 *
 * @since 0.1.0
 */

import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type * as ParameterCodec from "../../tool/definition/Parameters.js"
import { SkillValidationError } from "./SkillError.js"

const NAME = "effect-lexigram/skill/SkillDefinition"

const Attributes = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const attributes = Schema.optionalWith(Attributes, { default: () => ({}) })
const flag = (value: boolean) => Schema.optionalWith(Schema.Boolean, { default: () => value })

/**
 * Default category of skills from folders with a `SKILL.md`.
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
 * The definition of a skill. `parametersSchema` and `returnsSchema` are JSON Schemas; an empty one accepts anything.
 * Unset retries and timeout come from the configuration.
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
  /** Whether each execution needs approval. */
  requiresConfirmation: flag(false),
  /** Whether results for the same parameters may be reused. */
  cacheable: flag(false),
  /** Whether reused results are shared by all users. Otherwise a user's results are reused for that user only. */
  shared: flag(false),
  /** Whether executing it twice has no more effect than once. Only then is it retried after a timeout. */
  idempotent: flag(false),
  /** Retries, whatever the failure. */
  maxRetries: Schema.optional(Schema.NonNegativeInt),
  /** For each attempt, in seconds. */
  timeoutSeconds: Schema.optional(Schema.Positive),
  /** Concurrent executions of this skill; the executor's limit if unset. */
  maxConcurrent: Schema.optional(Schema.Int.pipe(Schema.positive())),
  /** All of these are required. */
  permissions: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] }),
  metadata: attributes
}).annotations({ identifier: `${NAME}/SkillDefinition` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SkillDefinition extends Schema.Schema.Type<typeof SkillDefinition> {}

/**
 * The outcome of an execution. `error` is set when `success` is false: a composition that tolerates failures reports
 * them here.
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
 * A result with a typed output.
 *
 * @since 0.1.0
 * @category models
 */
export interface Executed<out A> extends Omit<SkillResult, "output"> {
  readonly output: A
}

/**
 * How a skill is executed. Unset timeout and retries come from the executor.
 *
 * @since 0.1.0
 * @category models
 */
export interface Traits {
  /** Default `general`. */
  readonly category?: string | undefined
  /** Results for the same parameters may be reused: per user, unless they are `shared`. */
  readonly cacheable?: boolean | undefined
  /** Results depend only on the parameters and are reused for every user who may execute the skill. */
  readonly shared?: boolean | undefined
  /** Executing it twice has no more effect than once. Only then is it retried after a timeout. */
  readonly idempotent?: boolean | undefined
  /** Retries, whatever the failure. */
  readonly maxRetries?: number | undefined
  /** For each attempt. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Concurrent executions of this skill. */
  readonly maxConcurrent?: number | undefined
  /** All of these are required. */
  readonly permissions?: ReadonlyArray<string> | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/**
 * Whether an execution needs approval, always or depending on its parameters; a predicate that throws counts as true.
 * The definition then says that confirmation is required.
 *
 * @since 0.1.0
 * @category models
 */
export interface Confirmation<in P> {
  readonly requiresConfirmation?: boolean | ((params: P) => boolean) | undefined
}

/**
 * Absent fields stay absent, so that a definition encodes to exactly what was given.
 *
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const makeDefinition = (
  name: string,
  description: string,
  parametersSchema: JsonSchema,
  returnsSchema: JsonSchema,
  traits: Traits & Confirmation<never>
): SkillDefinition => ({
  name,
  description,
  parametersSchema,
  returnsSchema,
  category: traits.category ?? "general",
  requiresConfirmation: (traits.requiresConfirmation ?? false) !== false,
  cacheable: traits.cacheable ?? false,
  shared: traits.shared ?? false,
  idempotent: traits.idempotent ?? false,
  permissions: [...new Set(traits.permissions)],
  metadata: traits.metadata ?? {},
  ...(traits.maxRetries === undefined ? {} : { maxRetries: traits.maxRetries }),
  ...(traits.timeout === undefined ? {} : { timeoutSeconds: Duration.toSeconds(traits.timeout) }),
  ...(traits.maxConcurrent === undefined ? {} : { maxConcurrent: traits.maxConcurrent })
})

const isCount = (value: number | undefined, least: number): boolean =>
  value === undefined || (Number.isSafeInteger(value) && value >= least)

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const checkDefinition = (
  definition: SkillDefinition,
  ...parts: ReadonlyArray<ParameterCodec.Problem | undefined>
): SkillValidationError | undefined => {
  const found = parts.filter((part) => part !== undefined)
  const errors = found.map(({ message }) => message)
  if (definition.name.trim() === "") errors.push("The name is empty")
  if (definition.description.trim() === "") errors.push("There is no description: models choose by it")
  if (!isCount(definition.maxRetries, 0)) errors.push("maxRetries is not a whole number from 0")
  if (!isCount(definition.maxConcurrent, 1)) errors.push("maxConcurrent is not a whole number from 1")
  if (definition.timeoutSeconds !== undefined && !(definition.timeoutSeconds > 0))
    errors.push("The timeout is not above 0")
  if (errors.length === 0) return undefined
  const [first] = found
  return new SkillValidationError({
    skillName: definition.name,
    errors,
    message: `The definition of the skill "${definition.name}" is invalid: ${errors.join("; ")}`,
    hint: first?.hint ?? "Correct the definition",
    ...(first?.cause === undefined ? {} : { cause: first.cause })
  })
}
