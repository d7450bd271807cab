/**
 * Rules about who may use what, as data or code.
 *
 * Policies are asked by priority, lower numbers first; of equal ones `deny` before `allow`, then as they were given.
 * The first `deny` that holds ends everything: the request is refused. The first `allow` that holds ends the questions
 * of its own scope: later policies of that scope are not asked any more, those of other scopes are. So an `allow` is an
 * exception to what stands behind it and never to what stands before it, and what no policy speaks about is allowed. A
 * closed list is `allow`s before a `deny` without conditions.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Glob from "../../internal/text/Glob.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import { Run } from "../../observability/Run.js"
import { GovernanceConfigurationError, PolicyViolationError } from "../store/GovernanceError.js"
import { GovernancePolicyEvaluated, PolicyEvaluatedEvent } from "../store/GovernanceEvents.js"
import * as PolicyMatch from "./PolicyMatch.js"

const NAME = "effect-lexigram/governance/PolicyEngine"

/**
 * What a policy is about, and when it is asked: `model` and `data_classification` before a run and, for `model`, before
 * each model call; `cost` before each model call, when it is known what it costs at most; `guardrail` when a guard
 * found something and the run would go on.
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

const list = <A, I>(item: Schema.Schema<A, I>) => Schema.optional(Schema.Array(item).pipe(Schema.minItems(1)))

const Pattern = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(Glob.MAX_PATTERN_LENGTH))

const patterns = list(Pattern)

/**
 * Conditions; all that are given must hold. Patterns know `*` (any text) and `?` (one character); one of a list must
 * fit. A request without a user, tenant, agent or classification fits no pattern of it, `*` neither.
 *
 * Whether a model that nobody named fits, or a cost that nobody knows reaches `minCost`, cannot be told: then the
 * condition holds in a `deny` and does not in an `allow`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PolicyConditions = Schema.Struct({
  /** Capital and small letters differ, as in all ids. */
  users: patterns,
  tenants: patterns,
  agents: patterns,
  /** Whatever the case, as in the names of models. */
  providers: patterns,
  /** The model, or `provider/model`. */
  models: patterns,
  /** US dollars that a call may cost at most, from which on the condition holds. Of the scope `cost` alone. */
  minCost: Schema.optional(Schema.Number.pipe(Schema.finite(), Schema.nonNegative())),
  /** One of the request must fit, whatever the case. Of the scope `data_classification` alone. */
  classifications: patterns,
  /** Of the scope `guardrail` alone, as the next two. */
  guards: patterns,
  stages: patterns,
  actions: list(Schema.Literal("warn", "redact"))
}).annotations({ identifier: `${NAME}/PolicyConditions` })
/**
 * @since 0.1.0
 * @category models
 */
export interface PolicyConditions extends Schema.Schema.Type<typeof PolicyConditions> {}

/**
 * A policy as data. Without conditions it always holds.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Policy = Schema.Struct({
  /** Unique among the policies of an engine; denials, hooks and events name it. */
  id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)),
  scope: PolicyScope,
  effect: Schema.Literal("allow", "deny"),
  /** Default 100; lower numbers are asked first. */
  priority: Schema.optional(Schema.Number.pipe(Schema.finite())),
  /** For people: a denial says it. */
  description: Schema.optional(Schema.String),
  when: Schema.optional(PolicyConditions)
}).annotations({ identifier: `${NAME}/Policy` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Policy extends Schema.Schema.Type<typeof Policy> {}

/**
 * A policy that asks a program, where its conditions hold. A program that fails or dies cannot tell: then the policy
 * denies, also one that would allow, and the failure is logged.
 *
 * @since 0.1.0
 * @category models
 */
export interface CodePolicy<out R = never> extends Policy {
  readonly holds: (request: PolicyRequest) => Effect.Effect<boolean, unknown, R>
}

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
  /**
   * Never fails: a policy that cannot tell denies. Each policy that decided is told to the hook
   * `GovernancePolicyEvaluated` and as a `PolicyEvaluatedEvent`, inside a run.
   */
  readonly evaluate: (request: PolicyRequest) => Effect.Effect<PolicyDecision>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class PolicyEngine extends Context.Tag("effect-lexigram/governance/PolicyEngine")<PolicyEngine, Service>() {}

const MAX_ISSUES = 20
const MAX_ISSUE_LENGTH = 300

const refused = (issues: ReadonlyArray<string>): GovernanceConfigurationError => {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => issue.slice(0, MAX_ISSUE_LENGTH))
  const more = issues.length > shown.length ? [`and ${issues.length - shown.length} more`] : []
  return new GovernanceConfigurationError({ message: `The policies are not valid: ${[...shown, ...more].join("; ")}` })
}

const parse = Schema.decodeUnknownEither(Schema.Array(Policy), { errors: "all", onExcessProperty: "error" })

/** Conditions about what a request of the scope never says: such a policy would never hold, and nobody would notice. */
const foreign: { readonly [Scope in PolicyScope]: ReadonlyArray<keyof PolicyConditions> } = {
  model: ["minCost", "classifications", "guards", "stages", "actions"],
  cost: ["classifications", "guards", "stages", "actions"],
  data_classification: ["minCost", "guards", "stages", "actions"],
  guardrail: ["providers", "models", "minCost", "classifications"]
}

const contradictions = (policies: ReadonlyArray<Policy>): ReadonlyArray<string> => {
  const issues: Array<string> = []
  const first = new Map<string, number>()
  policies.forEach(({ id, scope, when }, index) => {
    const known = first.get(id)
    if (known === undefined) first.set(id, index)
    else issues.push(`${index}.id: ${JSON.stringify(id)} is the id of ${known} too`)
    for (const name of foreign[scope]) {
      if (when?.[name] !== undefined) issues.push(`${index}.when.${name}: the scope ${scope} has no such condition`)
    }
  })
  return issues
}

/**
 * Policies from JSON text, or from what was parsed of it: an array. Fails with everything that is wrong: fields that
 * are missing, unknown or of the wrong type, ids that are given twice, conditions that a scope does not have.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decode = (input: unknown): Effect.Effect<ReadonlyArray<Policy>, GovernanceConfigurationError> =>
  Effect.suspend(() => {
    let value = input
    if (typeof input === "string") {
      try {
        value = JSON.parse(input)
      } catch {
        return Effect.fail(refused(["the text is not JSON"]))
      }
    }
    const parsed = parse(value)
    if (Either.isLeft(parsed)) {
      return Effect.fail(
        refused(
          ParseResult.ArrayFormatter.formatErrorSync(parsed.left).map(({ message, path }) =>
            path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`
          )
        )
      )
    }
    const issues = contradictions(parsed.right)
    return issues.length === 0 ? Effect.succeed(parsed.right) : Effect.fail(refused(issues))
  })

interface Compiled {
  readonly id: string
  readonly scope: PolicyScope
  readonly denies: boolean
  readonly denial: () => PolicyViolationError
  readonly fits: (request: PolicyRequest) => boolean
  readonly holds: CodePolicy["holds"] | undefined
}

const compile = (policy: Policy, holds: CodePolicy["holds"] | undefined): Compiled => {
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

const ordered = (policies: ReadonlyArray<Policy>): ReadonlyArray<number> =>
  policies
    .map((policy, index) => ({ index, priority: policy.priority ?? NORMAL, rank: policy.effect === "deny" ? 0 : 1 }))
    .sort((a, b) => a.priority - b.priority || a.rank - b.rank || a.index - b.index)
    .map(({ index }) => index)

const unable = (policy: Compiled, error: unknown): Effect.Effect<undefined> => {
  const info = errorInfo(error)
  return Effect.logWarning(`A policy could not tell, so it denies: ${info.message}`).pipe(
    Effect.annotateLogs({ module: "PolicyEngine", policy: policy.id, error: info.tag }),
    Effect.as(undefined)
  )
}

/** What the program says; `undefined` when it cannot tell. */
const ask = (
  policy: Compiled,
  holds: CodePolicy["holds"],
  request: PolicyRequest
): Effect.Effect<boolean | undefined> =>
  Effect.suspend(() => holds(request)).pipe(
    Effect.catchAllDefect((defect) => Effect.fail(defect)),
    Effect.catchAll((error) => unable(policy, error))
  )

const tell = (
  decided: ReadonlyArray<{ readonly id: string; readonly denied: boolean }>,
  request: PolicyRequest
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

const untouched = Effect.succeed<PolicyDecision>({ allowed: true, policies: [] })

const evaluator =
  (policies: ReadonlyArray<Compiled>): Service["evaluate"] =>
  (request) => {
    const decided: Array<{ readonly id: string; readonly denied: boolean }> = []
    const settled = new Set<PolicyScope>()
    const conclude = (error: PolicyViolationError | undefined): Effect.Effect<PolicyDecision> => {
      if (decided.length === 0) return untouched
      const ids = decided.map(({ id }) => id)
      return Effect.as(
        tell(decided, request),
        error === undefined
          ? { allowed: true, policies: ids }
          : { allowed: false, policies: ids, reason: error.message, error }
      )
    }
    /** The policy has decided: `true` when nothing is left to ask. */
    const decide = (policy: Compiled, denied: boolean): boolean => {
      decided.push({ id: policy.id, denied })
      settled.add(policy.scope)
      return denied
    }
    const from = (start: number): Effect.Effect<PolicyDecision> => {
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
 * Checks the policies as `decode` does, and prepares them once.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  policies: ReadonlyArray<Policy | CodePolicy<R>>
): Effect.Effect<Service, GovernanceConfigurationError, R> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const programs = policies.map((policy): CodePolicy["holds"] | undefined => {
      if (!("holds" in policy)) return undefined
      const { holds } = policy
      // The context of the caller wins, or spans of the program would hang under the wrong parent.
      return (request) => Effect.mapInputContext(holds(request), (now) => Context.merge(context, now))
    })
    const checked = yield* decode(
      policies.map((policy) => {
        if (!("holds" in policy)) return policy
        const { holds: _, ...data } = policy
        return data
      })
    )
    const compiled = ordered(checked).map((index) => compile(checked[index] as Policy, programs[index]))
    const evaluate = evaluator(compiled)
    // Each evaluation has a memory of its own, also when one effect is run twice.
    return { enabled: compiled.length > 0, evaluate: (request) => Effect.suspend(() => evaluate(request)) }
  })

/**
 * What programs of policies require.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<P> = P extends CodePolicy<infer R> ? R : never

/**
 * Fails with `GovernanceConfigurationError` when a policy is not valid.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const P extends ReadonlyArray<Policy | CodePolicy<any>>>(
  policies: P
): Layer.Layer<PolicyEngine, GovernanceConfigurationError, ServicesOf<P[number]>> =>
  Layer.effect(PolicyEngine, make<ServicesOf<P[number]>>(policies))

/**
 * No policies: everything is allowed.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<PolicyEngine> = Layer.succeed(PolicyEngine, {
  enabled: false,
  evaluate: () => untouched
})
