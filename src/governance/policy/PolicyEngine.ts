/**
 * The port that decides who may use what.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { PolicyViolationError } from "../store/GovernanceError.js"
import type * as Policy from "./Policy.js"

/**
 * `policies` are the ids of the deciding policies, in order.
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
      /** Names the denying policy. */
      readonly error: PolicyViolationError
    }

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: there are no policies, and evaluation can be skipped. Absent means that there are. */
  readonly enabled?: boolean | undefined
  /**
   * Never fails: a policy that cannot decide denies. Within a run, each deciding policy is reported to the hook
   * `GovernancePolicyEvaluated` and as a `PolicyEvaluatedEvent`.
   */
  readonly evaluate: (request: Policy.PolicyRequest) => Effect.Effect<PolicyDecision>
}

/**
 * @example
 * ```ts
 * import { PolicyEngine } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const decide = Effect.flatMap(PolicyEngine.PolicyEngine, (engine) =>
 *   engine.evaluate({ scopes: ["data_classification"], provider: "openrouter", classifications: ["secret"] })
 * )
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class PolicyEngine extends Context.Tag("effect-lexigram/governance/PolicyEngine")<PolicyEngine, Service>() {}

/**
 * No policies: everything is allowed.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<PolicyEngine> = Layer.succeed(PolicyEngine, {
  enabled: false,
  evaluate: () => Effect.succeed({ allowed: true, policies: [] })
})
