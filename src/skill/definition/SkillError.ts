/**
 * Errors of skills.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * No skill has this name.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillNotFoundError extends ErrorCode.TaggedError<SkillNotFoundError>(
  "effect-lexigram/skill/SkillError/SkillNotFoundError"
)("SkillNotFoundError", { ...ErrorCode.fields("LEX_ERR_SKILL_002"), skillName: Schema.String }) {}

/**
 * A skill with this name is already registered.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillAlreadyRegisteredError extends ErrorCode.TaggedError<SkillAlreadyRegisteredError>(
  "effect-lexigram/skill/SkillError/SkillAlreadyRegisteredError"
)("SkillAlreadyRegisteredError", { ...ErrorCode.fields("LEX_ERR_SKILL_003"), skillName: Schema.String }) {}

/**
 * The parameters, the result or the definition of a skill is invalid. `errors` has one text per issue.
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
 * The user lacks permissions that the skill requires; `required` lists all of them.
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
 * The skill did not finish in time.
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
 * No route of a router fits, and it has no fallback.
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
 * The execution was not approved.
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillConfirmationDeniedError extends ErrorCode.TaggedError<SkillConfirmationDeniedError>(
  "effect-lexigram/skill/SkillError/SkillConfirmationDeniedError"
)("SkillConfirmationDeniedError", { ...ErrorCode.fields("LEX_ERR_SKILL_105"), skillName: Schema.String }) {}

/**
 * Any error of skills (family code `LEX_ERR_SKILL_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const SkillError = ErrorCode.Union(
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
export const isSkillError: (u: unknown) => u is SkillError = ErrorCode.is(SkillError)
