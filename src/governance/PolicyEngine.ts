/**
 * Rules about who may use what, as data or code.
 *
 * Policies are asked by priority, lower numbers first; of equal ones `deny` before `allow`, then as they were given. The first `deny` that
 * holds ends everything: the request is refused. The first `allow` that holds ends the questions of its own scope: later policies of that
 * scope are not asked any more, those of other scopes are. So an `allow` is an exception to what stands behind it and never to what stands
 * before it, and what no policy speaks about is allowed. A closed list is `allow`s before a `deny` without conditions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { PolicyViolationError } from "./GovernanceError.js"

const NAME = "effect-lexigram/governance/PolicyEngine"

/**
 * What a policy is about, and when it is asked: `model` and `data_classification` before a run and, for `model`, before each model call;
 * `cost` before each model call, when it is known what it costs at most; `guardrail` when a guard found something and the run would go on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PolicyScope = Schema.Literal("model", "cost", "guardrail", "data_classification").annotations({
  identifier: `${NAME}/PolicyScope`
})
/**
 * @since 0.1.0
 * @category models
 */
export type PolicyScope = typeof PolicyScope.Type

/**
 * What is known about a request. A field that is absent is not known or does not apply.
 *
 * @since 0.1.0
 * @category models
 */
export interface PolicyRequest {
  /** Policies of these scopes are asked. */
  readonly scopes: ReadonlyArray<PolicyScope>
  readonly userId?: string | undefined
  readonly tenantId?: string | undefined
  readonly agent?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** What the call may cost at most, in US dollars; absent when the price is not known. */
  readonly cost?: number | undefined
  readonly classifications?: ReadonlyArray<string> | undefined
  readonly guard?: string | undefined
  readonly stage?: string | undefined
  /** What the guard does about it. */
  readonly action?: "warn" | "redact" | undefined
}

/**
 * `policies` are the ids of those that decided, in order.
 *
 * @since 0.1.0
 * @category models
 */
export type PolicyDecision =
  | { readonly allowed: true; readonly policies: ReadonlyArray<string> }
  | {
      readonly allowed: false
      readonly policies: ReadonlyArray<string>
      readonly reason: string
      /** Names the policy that denied. */
      readonly error: PolicyViolationError
    }

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: there are no policies, and nobody need ask. Absent means that there are. */
  readonly enabled?: boolean | undefined
  /** Never fails: a policy that cannot tell denies. */
  readonly evaluate: (request: PolicyRequest) => Effect.Effect<PolicyDecision>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PolicyEngine extends Context.Tag("effect-lexigram/governance/PolicyEngine")<PolicyEngine, Service>() {}

const allowed = Effect.succeed<PolicyDecision>({ allowed: true, policies: [] })

/**
 * No policies: everything is allowed.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<PolicyEngine> = Layer.succeed(PolicyEngine, {
  enabled: false,
  evaluate: () => allowed
})
