/**
 * Policies as data: scopes, conditions, and their validation.
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
