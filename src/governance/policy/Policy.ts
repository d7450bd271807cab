/**
 * Policies as data: scopes, conditions and their validation.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Glob from "../../internal/text/Glob.js"
import { GovernanceConfigurationError } from "../store/GovernanceError.js"

const NAME = "effect-lexigram/governance/PolicyEngine"

/**
 * Subject of a policy and the time of its evaluation: `model` and `data_classification` before a run and, for `model`,
 * before each model call; `cost` before each model call, when its maximum cost is known; `guardrail` when a guard found
 * something and the run would continue.
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
 * Conditions; all given ones must hold. Patterns support `*` (any text) and `?` (one character); one pattern of a list
 * must match. A missing user, tenant, agent or classification matches no pattern, not even `*`.
 *
 * If the model or the cost of a request is unknown, a condition on the model or `minCost` cannot be decided: it then
 * holds in a `deny` and does not hold in an `allow`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PolicyConditions = Schema.Struct({
  /** Case-sensitive, as all ids. */
  users: patterns,
  tenants: patterns,
  agents: patterns,
  /** Case-insensitive, as model names. */
  providers: patterns,
  /** The model, or `provider/model`. */
  models: patterns,
  /** Maximum cost of a call, in US dollars, from which the condition holds. Scope `cost` only. */
  minCost: Schema.optional(Schema.Number.pipe(Schema.finite(), Schema.nonNegative())),
  /** One classification of the request must match, case-insensitively. Scope `data_classification` only. */
  classifications: patterns,
  /** Scope `guardrail` only, as the next two. */
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
  /** Unique among the policies of an engine; named in denials, hooks and events. */
  id: Schema.String.pipe(Schema.minLength(1), Schema.maxLength(128)),
  scope: PolicyScope,
  effect: Schema.Literal("allow", "deny"),
  /** Default 100; lower numbers are evaluated first. */
  priority: Schema.optional(Schema.Number.pipe(Schema.finite())),
  /** For people: included in denials. */
  description: Schema.optional(Schema.String),
  when: Schema.optional(PolicyConditions)
}).annotations({ identifier: `${NAME}/Policy` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Policy extends Schema.Schema.Type<typeof Policy> {}

/**
 * A policy that runs a program where its conditions hold. If the program fails or dies, the policy denies, even one
 * that would allow, and the failure is logged.
 *
 * @since 0.1.0
 * @category models
 */
export interface CodePolicy<out R = never> extends Policy {
  readonly holds: (request: PolicyRequest) => Effect.Effect<boolean, unknown, R>
}

/**
 * Facts of a request. An absent field is unknown or does not apply.
 *
 * @since 0.1.0
 * @category models
 */
export interface PolicyRequest {
  /** Evaluates policies of these scopes. */
  readonly scopes: ReadonlyArray<PolicyScope>
  readonly userId?: string | undefined
  readonly tenantId?: string | undefined
  readonly agent?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Maximum cost of the call, in US dollars; absent if the price is unknown. */
  readonly cost?: number | undefined
  readonly classifications?: ReadonlyArray<string> | undefined
  readonly guard?: string | undefined
  readonly stage?: string | undefined
  /** Action of the guard. */
  readonly action?: "warn" | "redact" | undefined
}

const MAX_ISSUES = 20
const MAX_ISSUE_LENGTH = 300

const refused = (issues: ReadonlyArray<string>): GovernanceConfigurationError => {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => issue.slice(0, MAX_ISSUE_LENGTH))
  const more = issues.length > shown.length ? [`and ${issues.length - shown.length} more`] : []
  return new GovernanceConfigurationError({ message: `The policies are invalid: ${[...shown, ...more].join("; ")}` })
}

const parse = Schema.decodeUnknownEither(Schema.Array(Policy), { errors: "all", onExcessProperty: "error" })

/** Conditions on fields that requests of the scope never have: such a policy would silently never hold. */
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
 * Decodes policies from JSON text or a parsed array. Fails with all issues: missing, unknown or mistyped fields,
 * duplicate ids, conditions a scope does not have.
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
