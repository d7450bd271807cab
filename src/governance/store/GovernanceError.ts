/**
 * Errors of governance.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Reached } from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"

/** `partial`: results of the run before it was stopped. */
const stopped = { partial: Schema.optional(Reached) }

/**
 * A budget does not cover the request. `budgetType` names the budget: `monthly` and `monthly_tokens` of the user's
 * month, `request` and `tokens` of one run with all it starts, `unknown_price` if money is limited and the price is
 * unknown. `limit` and `used` are in its unit: US dollars for costs, tokens for tokens. `used` includes reserved
 * amounts.
 *
 * @since 0.1.0
 * @category errors
 */
export class BudgetExceededError extends ErrorCode.TaggedError<BudgetExceededError>(
  "effect-lexigram/governance/GovernanceError/BudgetExceededError"
)("BudgetExceededError", {
  ...ErrorCode.fields("LEX_ERR_AGT_010"),
  budgetType: Schema.String,
  limit: Schema.Number,
  used: Schema.Number,
  ...stopped
}) {}

/**
 * A policy denies the request.
 *
 * @since 0.1.0
 * @category errors
 */
export class PolicyViolationError extends ErrorCode.TaggedError<PolicyViolationError>(
  "effect-lexigram/governance/GovernanceError/PolicyViolationError"
)("PolicyViolationError", {
  ...ErrorCode.fields("LEX_ERR_GOV_003"),
  /** The denying policy. */
  policy: Schema.optional(Schema.String),
  ...stopped
}) {}

/**
 * Too many requests (`rpm`) or tokens (`tpm`) within a minute.
 *
 * @since 0.1.0
 * @category errors
 */
export class RateLimitExceededError extends ErrorCode.TaggedError<RateLimitExceededError>(
  "effect-lexigram/governance/GovernanceError/RateLimitExceededError"
)("RateLimitExceededError", {
  ...ErrorCode.fields("LEX_ERR_GOV_006"),
  limit: Schema.Number,
  current: Schema.Number,
  limitType: Schema.Literal("rpm", "tpm"),
  /** Time until there is room again if nothing else is requested; absent if the request alone exceeds the limit. */
  retryAfterMs: Schema.optional(Schema.Number),
  ...stopped
}) {}

/**
 * The model may not be used by this user.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModelAccessDeniedError extends ErrorCode.TaggedError<ModelAccessDeniedError>(
  "effect-lexigram/governance/GovernanceError/ModelAccessDeniedError"
)("ModelAccessDeniedError", {
  ...ErrorCode.fields("LEX_ERR_GOV_007"),
  model: Schema.String,
  reason: Schema.Literal("restricted", "not_in_allowlist", "in_denylist"),
  ...stopped
}) {}

/**
 * Spent or reserved amounts could not be read or written.
 *
 * @since 0.1.0
 * @category errors
 */
export class GovernancePersistenceError extends ErrorCode.TaggedError<GovernancePersistenceError>(
  "effect-lexigram/governance/GovernanceError/GovernancePersistenceError"
)("GovernancePersistenceError", ErrorCode.fields("LEX_ERR_GOV_008")) {}

/**
 * A tenant has used up its quota of a resource unit.
 *
 * @since 0.1.0
 * @category errors
 */
export class ResourceExhaustedError extends ErrorCode.TaggedError<ResourceExhaustedError>(
  "effect-lexigram/governance/GovernanceError/ResourceExhaustedError"
)("ResourceExhaustedError", {
  ...ErrorCode.fields("LEX_ERR_GOV_010"),
  tenantId: Schema.String,
  unitName: Schema.String,
  limit: Schema.Number,
  current: Schema.Number,
  /** Who asked on behalf of the tenant. */
  actorId: Schema.optional(Schema.String),
  ...stopped
}) {}

/**
 * Governance cannot be built from its configuration.
 *
 * @since 0.1.0
 * @category errors
 */
export class GovernanceConfigurationError extends ErrorCode.TaggedError<GovernanceConfigurationError>(
  "effect-lexigram/governance/GovernanceError/GovernanceConfigurationError"
)("GovernanceConfigurationError", ErrorCode.fields("LEX_ERR_GOV_100")) {}

/**
 * Any governance failure (family code `LEX_ERR_GOV_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const GovernanceError = ErrorCode.Union(
  BudgetExceededError,
  PolicyViolationError,
  RateLimitExceededError,
  ModelAccessDeniedError,
  GovernancePersistenceError,
  ResourceExhaustedError
)
/**
 * @since 0.1.0
 * @category models
 */
export type GovernanceError = typeof GovernanceError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isGovernanceError: (u: unknown) => u is GovernanceError = ErrorCode.is(GovernanceError)
