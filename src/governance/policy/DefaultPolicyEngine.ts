/**
 * The policy engine: evaluates rules about who may use what, given as data or code.
 *
 * Policies are evaluated by priority, lower numbers first; at equal priority `deny` before `allow`, then in the given
 * order. The first `deny` that holds refuses the request. The first `allow` that holds ends its own scope: later
 * policies of that scope are skipped, those of other scopes are not. So an `allow` is an exception to later policies,
 * never to earlier ones, and requests that match no policy are allowed. A closed list is a set of `allow`s before a
 * `deny` without conditions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import { Run } from "../../observability/Run.js"
import { type GovernanceConfigurationError, PolicyViolationError } from "../store/GovernanceError.js"
import { GovernancePolicyEvaluated, PolicyEvaluatedEvent } from "../store/GovernanceEvents.js"
import * as Policy from "./Policy.js"
import * as PolicyEngine from "./PolicyEngine.js"
import * as PolicyMatch from "./PolicyMatch.js"

interface Compiled {
  readonly id: string
  readonly scope: Policy.PolicyScope
  readonly denies: boolean
  readonly denial: () => PolicyViolationError
  readonly fits: (request: Policy.PolicyRequest) => boolean
  readonly holds: Policy.CodePolicy["holds"] | undefined
}

const compile = (policy: Policy.Policy, holds: Policy.CodePolicy["holds"] | undefined): Compiled => {
  const denies = policy.effect === "deny"
  const why = policy.description === undefined ? "" : `: ${policy.description}`
  return {
    id: policy.id,
    scope: policy.scope,
    denies,
    denial: () => new PolicyViolationError({ message: `Denied by the policy ${policy.id}${why}`, policy: policy.id }),
    fits: PolicyMatch.compile(policy.when ?? {}, denies),
    holds
  }
}

const NORMAL = 100

const evaluationOrder = (policies: ReadonlyArray<Policy.Policy>): ReadonlyArray<number> =>
  policies
    .map((policy, index) => ({ index, priority: policy.priority ?? NORMAL, rank: policy.effect === "deny" ? 0 : 1 }))
    .sort((a, b) => a.priority - b.priority || a.rank - b.rank || a.index - b.index)
    .map(({ index }) => index)

const unable = (policy: Compiled, error: unknown): Effect.Effect<undefined> => {
  const info = errorInfo(error)
  return Effect.logWarning(`A policy could not decide, so it denies: ${info.message}`).pipe(
    Effect.annotateLogs({ module: "PolicyEngine", policy: policy.id, error: info.tag }),
    Effect.as(undefined)
  )
}

/** Runs the program; `undefined` if it cannot decide. */
const ask = (
  policy: Compiled,
  holds: Policy.CodePolicy["holds"],
  request: Policy.PolicyRequest
): Effect.Effect<boolean | undefined> =>
  Effect.suspend(() => holds(request)).pipe(
    Effect.catchAllDefect((defect) => Effect.fail(defect)),
    Effect.catchAll((error) => unable(policy, error))
  )

const tell = (
  decided: ReadonlyArray<{ readonly id: string; readonly denied: boolean }>,
  request: Policy.PolicyRequest
): Effect.Effect<void> =>
  Effect.flatMap(Run, (run) => {
    for (const { denied, id } of decided) {
      run.announce(() =>
        DomainEvent.make(PolicyEvaluatedEvent, {
          aggregateId: id,
          actorId: request.userId,
          fields: { policyId: id, decision: denied ? "deny" : "allow" }
        })
      )
    }
    return run.hooks.has(GovernancePolicyEvaluated)
      ? Effect.forEach(decided, ({ id }) => run.hooks.call(GovernancePolicyEvaluated, { policyName: id }), {
          discard: true
        })
      : Effect.void
  })

const untouched = Effect.succeed<PolicyEngine.PolicyDecision>({ allowed: true, policies: [] })

const evaluator =
  (policies: ReadonlyArray<Compiled>): PolicyEngine.Service["evaluate"] =>
  (request) => {
    const decided: Array<{ readonly id: string; readonly denied: boolean }> = []
    const settled = new Set<Policy.PolicyScope>()
    const conclude = (error: PolicyViolationError | undefined): Effect.Effect<PolicyEngine.PolicyDecision> => {
      if (decided.length === 0) return untouched
      const ids = decided.map(({ id }) => id)
      return Effect.as(
        tell(decided, request),
        error === undefined
          ? { allowed: true, policies: ids }
          : { allowed: false, policies: ids, reason: error.message, error }
      )
    }
    /** Records a decision; `true` when nothing is left to evaluate. */
    const decide = (policy: Compiled, denied: boolean): boolean => {
      decided.push({ id: policy.id, denied })
      settled.add(policy.scope)
      return denied
    }
    const from = (start: number): Effect.Effect<PolicyEngine.PolicyDecision> => {
      for (let index = start; index < policies.length; index++) {
        const policy = policies[index] as Compiled
        if (settled.has(policy.scope) || !request.scopes.includes(policy.scope) || !policy.fits(request)) continue
        if (policy.holds === undefined) {
          if (decide(policy, policy.denies)) return conclude(policy.denial())
        } else {
          return Effect.flatMap(ask(policy, policy.holds, request), (answer) =>
            answer !== false && decide(policy, policy.denies || answer === undefined)
              ? conclude(policy.denial())
              : from(index + 1)
          )
        }
      }
      return conclude(undefined)
    }
    return from(0)
  }

/**
 * Validates the policies as `decode` does, and compiles them once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  policies: ReadonlyArray<Policy.Policy | Policy.CodePolicy<R>>
): Effect.Effect<PolicyEngine.Service, GovernanceConfigurationError, R> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const programs = policies.map((policy): Policy.CodePolicy["holds"] | undefined => {
      if (!("holds" in policy)) return undefined
      const { holds } = policy
      // The caller's context overrides: otherwise spans of the program would have the wrong parent.
      return (request) => Effect.mapInputContext(holds(request), (now) => Context.merge(context, now))
    })
    const checked = yield* Policy.decode(
      policies.map((policy) => {
        if (!("holds" in policy)) return policy
        const { holds: _, ...data } = policy
        return data
      })
    )
    const compiled = evaluationOrder(checked).map((index) => compile(checked[index] as Policy.Policy, programs[index]))
    const evaluate = evaluator(compiled)
    // Each evaluation has its own state, even if one effect runs twice.
    return { enabled: compiled.length > 0, evaluate: (request) => Effect.suspend(() => evaluate(request)) }
  })

/**
 * Requirements of the programs of policies.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<P> = P extends Policy.CodePolicy<infer R> ? R : never

/**
 * Fails with `GovernanceConfigurationError` if a policy is invalid.
 *
 * @example
 * ```ts
 * import { DefaultPolicyEngine } from "effect-lexigram/governance"
 *
 * const policies = DefaultPolicyEngine.layer([
 *   {
 *     id: "no-secrets-abroad",
 *     scope: "data_classification",
 *     effect: "deny",
 *     when: { classifications: ["secret"], providers: ["openrouter"] }
 *   }
 * ])
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const P extends ReadonlyArray<Policy.Policy | Policy.CodePolicy<any>>>(
  policies: P
): Layer.Layer<PolicyEngine.PolicyEngine, GovernanceConfigurationError, ServicesOf<P[number]>> =>
  Layer.effect(PolicyEngine.PolicyEngine, make<ServicesOf<P[number]>>(policies))
