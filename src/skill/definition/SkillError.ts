/**
 * How skills fail.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * There is no skill of this name.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillNotFoundError extends ErrorCode.TaggedError<SkillNotFoundError>(
  "effect-lexigram/skill/SkillError/SkillNotFoundError"
)("SkillNotFoundError", { ...ErrorCode.fields("LEX_ERR_SKILL_002"), skillName: Schema.String }) {}

/**
 * There is a skill of this name already.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillAlreadyRegisteredError extends ErrorCode.TaggedError<SkillAlreadyRegisteredError>(
  "effect-lexigram/skill/SkillError/SkillAlreadyRegisteredError"
)("SkillAlreadyRegisteredError", { ...ErrorCode.fields("LEX_ERR_SKILL_003"), skillName: Schema.String }) {}

/**
 * The parameters, the result or the definition of a skill is not as it should be. `errors` says what is wrong, one text
 * each.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillValidationError extends ErrorCode.TaggedError<SkillValidationError>(
  "effect-lexigram/skill/SkillError/SkillValidationError"
)("SkillValidationError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_004"),
  skillName: Schema.String,
  errors: Schema.Array(Schema.String)
}) {}

/**
 * The user lacks permissions that the skill needs; `required` are all it needs.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillPermissionDeniedError extends ErrorCode.TaggedError<SkillPermissionDeniedError>(
  "effect-lexigram/skill/SkillError/SkillPermissionDeniedError"
)("SkillPermissionDeniedError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_005"),
  skillName: Schema.String,
  required: Schema.Array(Schema.String)
}) {}

/**
 * The skill did not end in time.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillTimeoutError extends ErrorCode.TaggedError<SkillTimeoutError>(
  "effect-lexigram/skill/SkillError/SkillTimeoutError"
)("SkillTimeoutError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_006"),
  skillName: Schema.String,
  timeoutSeconds: Schema.Number
}) {}

/**
 * No route of a router fits and it has no fallback.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillRoutingError extends ErrorCode.TaggedError<SkillRoutingError>(
  "effect-lexigram/skill/SkillError/SkillRoutingError"
)("SkillRoutingError", ErrorCode.fields("LEX_ERR_SKILL_007")) {}

/**
 * The skill itself failed, after its last attempt.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillExecutionError extends ErrorCode.TaggedError<SkillExecutionError>(
  "effect-lexigram/skill/SkillError/SkillExecutionError"
)("SkillExecutionError", { ...ErrorCode.fields("LEX_ERR_SKILL_008"), skillName: Schema.optional(Schema.String) }) {}

/**
 * Somebody was asked whether the skill may be executed, and did not allow it.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillConfirmationDeniedError extends ErrorCode.TaggedError<SkillConfirmationDeniedError>(
  "effect-lexigram/skill/SkillError/SkillConfirmationDeniedError"
)("SkillConfirmationDeniedError", { ...ErrorCode.fields("LEX_ERR_SKILL_105"), skillName: Schema.String }) {}

/**
 * Any failure of skills (family code `LEX_ERR_SKILL_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const SkillError = Schema.Union(
  SkillNotFoundError,
  SkillAlreadyRegisteredError,
  SkillValidationError,
  SkillPermissionDeniedError,
  SkillTimeoutError,
  SkillRoutingError,
  SkillExecutionError,
  SkillConfirmationDeniedError
)
/**
 * @since 0.1.0
 * @category models
 */
export type SkillError = typeof SkillError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isSkillError: (u: unknown) => u is SkillError = Schema.is(SkillError)
