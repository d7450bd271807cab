/**
 * Decides whether a run may begin, whether it may call a tool, and whether it may continue after a guard's finding.
 *
 * @private
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { CheckGuardrail, CheckRequest, CheckToolCall } from "./Governance.js"
import type { Budgets } from "./GovernanceBudgets.js"
import * as GovernanceConfig from "./GovernanceConfig.js"
import {
  type About,
  aboutOf,
  orElse,
  type Parts,
  type Refusal,
  refused,
  reportCrossedQuota,
  subjectOf,
  tenantOf
} from "./GovernanceParts.js"
import type * as ResourceQuotas from "./ResourceQuotas.js"
import {
  type GovernanceError,
  type GovernancePersistenceError,
  RateLimitExceededError
} from "./store/GovernanceError.js"

const windowMs = Duration.toMillis(GovernanceConfig.WINDOW)

/**
 * The first refusal, or the rest of the month's budget.
 *
 * @since 0.1.0
 * @category models
 */
export interface Verdict {
  readonly refusal?: Refusal | undefined
  readonly remaining?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Checks {
  readonly request: (request: CheckRequest) => Effect.Effect<Verdict, GovernancePersistenceError>
  readonly guardrail: (request: CheckGuardrail) => Effect.Effect<Verdict, GovernancePersistenceError>
  readonly toolCall: (request: CheckToolCall) => Effect.Effect<Verdict, GovernancePersistenceError>
  /** False while every tool call passes uncounted. */
  readonly areToolCallsCounted: () => boolean
}

const passes: Verdict = {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (parts: Parts, budgets: Budgets): Checks => {
  const { policies, rates, rules } = parts

  const takeRequest = (request: CheckRequest) =>
    Effect.suspend(() => {
      const { rpmLimit } = rules().config
      if (rpmLimit === undefined) return Effect.void
      const take = { key: `rpm:${subjectOf(request.userId)}`, amount: 1, limit: rpmLimit, windowMs }
      return Effect.flatMap(orElse(parts, "check", rates.take(take), undefined), (taken) =>
        taken === undefined || taken.allowed
          ? Effect.void
          : Effect.fail(
              new RateLimitExceededError({
                message: `Too many requests: ${taken.current} of ${rpmLimit} in 60 seconds`,
                hint: "Try again later",
                limit: rpmLimit,
                current: taken.current,
                limitType: "rpm",
                retryAfterMs: taken.retryAfterMs
              })
            )
      )
    })

  const consumeQuotas = Effect.fnUntraced(function* (request: About, amounts: ResourceQuotas.Amounts) {
    const { quotas } = rules()
    if (quotas.enabled === false) return
    const consumed = quotas.consumeKinds({
      tenantId: tenantOf(request),
      amounts,
      ...(request.userId === undefined ? {} : { actorId: request.userId })
    })
    const decision = yield* orElse(parts, "check", consumed, undefined)
    if (decision?.status === "exhausted") return yield* Effect.fail(decision.error)
    if (decision?.status === "soft_threshold_breach") yield* reportCrossedQuota(parts, decision, request)
  })

  const evaluate = Effect.fnUntraced(function* (request: CheckRequest) {
    if (policies.enabled === false) return
    const { classifications, model } = request
    const decision = yield* policies.evaluate({
      // A model that is not known yet is checked when it is called.
      scopes: model === undefined ? ["data_classification"] : ["model", "data_classification"],
      ...aboutOf(request),
      tenantId: tenantOf(request),
      ...(classifications === undefined ? {} : { classifications })
    })
    if (!decision.allowed) return yield* Effect.fail(decision.error)
  })

  const decide = Effect.fnUntraced(function* (request: CheckRequest) {
    const { access } = rules()
    const denied = request.model !== undefined && access.isLimited ? access.check(request) : undefined
    if (denied !== undefined) return yield* Effect.fail(denied)
    yield* takeRequest(request)
    yield* evaluate(request)
    yield* consumeQuotas(request, { requests: 1 })
    const remaining = yield* budgets.remaining(request.userId)
    return remaining === undefined ? passes : { remaining }
  })

  const verdict = (
    decided: Effect.Effect<Verdict, GovernanceError>,
    about: CheckRequest | CheckGuardrail | CheckToolCall
  ): Effect.Effect<Verdict, GovernancePersistenceError> =>
    Effect.catchAll(decided, (error): Effect.Effect<Verdict, GovernancePersistenceError> => {
      if (error._tag === "GovernancePersistenceError") return Effect.fail(error)
      const refusal = Effect.as(refused(parts, error, about), { refusal: error })
      return error._tag === "BudgetExceededError" && error.budgetType === "monthly"
        ? Effect.map(refusal, (verdict) => ({ ...verdict, remaining: 0 }))
        : refusal
    })

  return {
    request: (request) =>
      Effect.suspend(() => (rules().config.enabled ? verdict(decide(request), request) : Effect.succeed(passes))),
    guardrail: (request) =>
      Effect.suspend(() => {
        if (!rules().config.enabled || policies.enabled === false) return Effect.succeed(passes)
        const { action, guard, stage } = request
        const decided = policies.evaluate({
          scopes: ["guardrail"],
          ...aboutOf(request),
          tenantId: tenantOf(request),
          guard,
          stage,
          action
        })
        return verdict(
          Effect.flatMap(decided, (decision) =>
            decision.allowed ? Effect.succeed(passes) : Effect.fail(decision.error)
          ),
          request
        )
      }),
    toolCall: (request) => verdict(Effect.as(consumeQuotas(request, { tool_calls: 1 }), passes), request),
    areToolCallsCounted: () => {
      const { config, quotas } = rules()
      return config.enabled && quotas.enabled !== false
    }
  }
}
