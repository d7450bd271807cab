/**
 * Decides approvals by rules that are plain data.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as Glob from "../../internal/text/Glob.js"
import { ApprovalError } from "./ApprovalError.js"
import * as ApprovalGate from "./ApprovalGate.js"

const NAME = "effect-lexigram/tool/ApprovalPolicy"

const Pattern = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(Glob.MAX_PATTERN_LENGTH))

const Patterns = Schema.NonEmptyArray(Pattern)

const tests = ["equals", "in", "min", "max", "matches"] as const

/**
 * A condition on one argument; every field must hold. A missing argument, or one of another type, does not meet it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ArgumentCondition = Schema.Struct({
  /** Which argument, as a JSON Pointer (RFC 6901): `/amount`, `/items/0/price`. Empty: the arguments as a whole. */
  pointer: Schema.String.pipe(
    Schema.maxLength(1024),
    Schema.filter((pointer) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(pointer) || "a JSON Pointer is empty or begins with /")
  ),
  /** Equal as JSON, whatever the order of keys. */
  equals: Schema.optional(Schema.Unknown),
  in: Schema.optional(Schema.Array(Schema.Unknown)),
  /** A number of at least this. */
  min: Schema.optional(Schema.JsonNumber),
  /** A number of at most this. */
  max: Schema.optional(Schema.JsonNumber),
  /** A text that matches one of the patterns as a whole: `*` is any text, `?` one character. */
  matches: Schema.optional(Patterns)
})
  .pipe(
    Schema.filter((condition) => tests.some((test) => Object.hasOwn(condition, test)) || `one of ${tests.join(", ")}`)
  )
  .annotations({ identifier: `${NAME}/ArgumentCondition` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ArgumentCondition extends Schema.Schema.Type<typeof ArgumentCondition> {}

/**
 * - `approve`, `deny`: decides the request
 * - `ask`: the gate below decides
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = Schema.Literal("approve", "deny", "ask").annotations({ identifier: `${NAME}/Verdict` })
/**
 * @since 0.1.0
 * @category models
 */
export type Verdict = typeof Verdict.Type

/**
 * The decision on requests that meet all of its conditions. Names are patterns (`*` is any text, `?` one character);
 * without patterns every name matches. Requests without a user match no `users`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalRule = Schema.Struct({
  tools: Schema.optional(Patterns),
  agents: Schema.optional(Patterns),
  users: Schema.optional(Patterns),
  arguments: Schema.optional(Schema.Array(ArgumentCondition)),
  decision: Verdict,
  /** The reason, for the model. */
  reason: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/ApprovalRule` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRule extends Schema.Schema.Type<typeof ApprovalRule> {}

const parse = ParseResult.decodeUnknownEither(Schema.Array(ApprovalRule), {
  errors: "all",
  // A misspelled condition would otherwise be ignored.
  onExcessProperty: "error"
})

/**
 * Reads rules from untrusted data. Fails with the reason `policy` and lists every issue; unknown fields are issues.
 *
 * @since 0.1.0
 * @category constructors
 */
export const decode = (input: unknown): Either.Either<ReadonlyArray<ApprovalRule>, ApprovalError> =>
  Either.mapLeft(parse(input), (issue) => {
    const issues = ParseResult.ArrayFormatter.formatIssueSync(issue)
    const texts = issues
      .slice(0, 20)
      .map(({ message, path }) => `${path.join(".").slice(0, 200)}: ${message.slice(0, 300)}`)
    return new ApprovalError({
      reason: "policy",
      message: `The approval rules are invalid: ${texts.join("; ")}`,
      hint: `See ${NAME}/ApprovalRule for the fields of a rule`
    })
  })

const absent = Symbol()

const resolve = (params: unknown, path: ReadonlyArray<string>): unknown => {
  let value = params
  for (const key of path) {
    if (typeof value !== "object" || value === null) return absent
    if (Array.isArray(value) && !/^(?:0|[1-9]\d{0,15})$/.test(key)) return absent
    if (!Object.hasOwn(value, key)) return absent
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** `undefined` where there is no such text: it equals nothing then. */
const canonical = (value: unknown): string | undefined => {
  try {
    return CanonicalJson.stringify(value)
  } catch {
    return undefined
  }
}

type Test = (request: ApprovalGate.ApprovalRequest) => boolean

const compileCondition = (condition: ArgumentCondition): Test => {
  const path = condition.pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
  const { max, min } = condition
  const isOne = (values: ReadonlyArray<unknown>) => {
    const texts = new Set(values.map(canonical))
    return (value: unknown) => {
      const text = canonical(value)
      return text !== undefined && texts.has(text)
    }
  }
  const all: Array<(value: unknown) => boolean> = []
  if (Object.hasOwn(condition, "equals")) all.push(isOne([condition.equals]))
  if (condition.in !== undefined) all.push(isOne(condition.in))
  if (min !== undefined) all.push((value) => typeof value === "number" && value >= min)
  if (max !== undefined) all.push((value) => typeof value === "number" && value <= max)
  if (condition.matches !== undefined) {
    const matches = Glob.compile(condition.matches)
    all.push((value) => typeof value === "string" && matches(value))
  }
  return ({ params }) => {
    const value = resolve(params, path)
    return value !== absent && all.every((test) => test(value))
  }
}

const compile = (rule: ApprovalRule): Test => {
  const all: Array<Test> = []
  const name = (
    patterns: ReadonlyArray<string> | undefined,
    of: (request: ApprovalGate.ApprovalRequest) => string | undefined
  ) => {
    if (patterns === undefined) return
    const matches = Glob.compile(patterns)
    all.push((request) => {
      const value = of(request)
      return value !== undefined && matches(value)
    })
  }
  name(rule.tools, (request) => request.tool)
  name(rule.agents, (request) => request.agent)
  name(rule.users, (request) => request.userId)
  for (const condition of rule.arguments ?? []) all.push(compileCondition(condition))
  return (request) => all.every((test) => test(request))
}

const gateOf = (
  rules: ReadonlyArray<ApprovalRule>,
  otherwise: Verdict,
  ask: ApprovalGate.Service["request"]
): ApprovalGate.Service => {
  const compiled = rules.map((rule) => ({ rule, matches: compile(rule) }))
  return {
    request: (request) =>
      Effect.suspend(() => {
        const rule = compiled.find(({ matches }) => matches(request))?.rule
        switch (rule?.decision ?? otherwise) {
          case "approve":
            return Effect.succeed(ApprovalGate.approve())
          case "deny":
            return Effect.succeed(
              ApprovalGate.deny({ reason: rule?.reason ?? `The approval policy does not allow it` })
            )
          case "ask":
            return ask(rule?.reason === undefined ? request : { ...request, reason: rule.reason })
        }
      })
  }
}

const nobody: ApprovalGate.Service["request"] = ({ reason }) =>
  Effect.succeed(ApprovalGate.deny({ reason: reason ?? "It requires approval, and there is no approver" }))

/**
 * Decides by rules alone; the first match wins. Without a match `otherwise` decides, by default `deny`. `ask` denies,
 * because there is nobody to ask.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { ApprovalPolicy } from "effect-lexigram"
 *
 * const approvals = ApprovalPolicy.layer([
 *   { tools: ["read_*", "list_*"], decision: "approve" },
 *   { tools: ["pay"], arguments: [{ pointer: "/amount", min: 0, max: 100 }], decision: "approve" },
 *   { tools: ["pay"], decision: "deny", reason: "More than 100 is paid by hand" }
 * ])
 * ```
 */
export const layer = (
  rules: ReadonlyArray<ApprovalRule>,
  options?: { readonly otherwise?: "approve" | "deny" | undefined }
): Layer.Layer<ApprovalGate.ApprovalGate, ApprovalError> =>
  Layer.effect(
    ApprovalGate.ApprovalGate,
    Effect.map(decode(rules), (rules) => gateOf(rules, options?.otherwise ?? "deny", nobody))
  )

/**
 * Decides by rules, and passes requests marked `ask` to the gate below with the reason of the rule. Without a match
 * `otherwise` decides, by default `ask`. Rules are about calls: questions of tools go to the gate below.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerOver = (
  rules: ReadonlyArray<ApprovalRule>,
  options?: { readonly otherwise?: Verdict | undefined }
): Layer.Layer<ApprovalGate.ApprovalGate, ApprovalError, ApprovalGate.ApprovalGate> =>
  Layer.effect(
    ApprovalGate.ApprovalGate,
    Effect.gen(function* () {
      const inner = yield* ApprovalGate.ApprovalGate
      const { elicit } = inner
      const gate = gateOf(yield* decode(rules), options?.otherwise ?? "ask", inner.request)
      return elicit === undefined ? gate : { ...gate, elicit }
    })
  )
