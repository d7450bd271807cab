/**
 * Model access lists: decides which user may use which model.
 *
 * A name in a list is a pattern: `*` matches any text, `?` one character. It is compared with the whole of `model` and
 * of `provider/model`, case-insensitively, because gateways that ignore case would otherwise bypass the list; user ids
 * are compared exactly. A user with a list of a kind is judged by that list only; all others, and callers without an
 * id, by the list of `"*"`.
 *
 * @since 0.1.0
 */
import * as Glob from "../../internal/text/Glob.js"
import { ModelAccessDeniedError } from "../store/GovernanceError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Models that nobody may use. */
  readonly restrictedModels?: ReadonlyArray<string> | undefined
  /** Models a user may use, exclusively. */
  readonly modelAllowlist?: { readonly [userId: string]: ReadonlyArray<string> } | undefined
  /** Models a user may not use. */
  readonly modelDenylist?: { readonly [userId: string]: ReadonlyArray<string> } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly userId?: string | undefined
  readonly provider?: string | undefined
  /** Absent if unknown: every refusing list applies, and an allowlist allows it only by `*` or `provider/*`. */
  readonly model?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelAccess {
  /** False without any list; the check can be skipped. */
  readonly isLimited: boolean
  /**
   * Returns why the model may not be used, `undefined` if it may. Checked in this order: restricted, allowlist,
   * denylist.
   */
  readonly check: (request: Request) => ModelAccessDeniedError | undefined
}

const reasons = {
  restricted: "may not be used by anybody",
  not_in_allowlist: "is not among the models that this user may use",
  in_denylist: "is among the models that this user may not use"
} as const

const denied = (request: Request, reason: ModelAccessDeniedError["reason"]): ModelAccessDeniedError => {
  const model = (request.model ?? "").slice(0, Glob.MAX_PATTERN_LENGTH)
  const name = request.model === undefined ? "The provider's default model" : `The model ${model}`
  return new ModelAccessDeniedError({
    message: `${name} ${reasons[reason]}`,
    hint:
      request.model === undefined
        ? "Name the agent's model"
        : "Use another model, or change the model lists of governance",
    model,
    reason
  })
}

interface List {
  readonly isEmpty: boolean
  readonly matcher: Glob.Matcher
}

const compile = (patterns: ReadonlyArray<string>): List => ({
  isEmpty: patterns.length === 0,
  matcher: Glob.compile(patterns, { ignoreCase: true })
})

const byUser = (lists: Options["modelAllowlist"]): ((userId: string | undefined) => List | undefined) => {
  const matchers = new Map(Object.entries(lists ?? {}).map(([userId, patterns]) => [userId, compile(patterns)]))
  const fallback = matchers.get("*")
  return (userId) => (userId === undefined ? fallback : (matchers.get(userId) ?? fallback))
}

/**
 * Compiles the lists once; a check then costs only the applicable patterns.
 *
 * @example
 * ```ts
 * import { ModelAccess } from "effect-lexigram/governance"
 *
 * const access = ModelAccess.make({ modelAllowlist: { "*": ["openai/gpt-4.1*"], ada: ["*"] } })
 *
 * access.check({ userId: "bob", provider: "openai", model: "o3" }) // ModelAccessDeniedError
 * access.check({ userId: "ada", provider: "openai", model: "o3" }) // undefined
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): ModelAccess => {
  const restricted = compile(options.restrictedModels ?? [])
  const allowed = byUser(options.modelAllowlist)
  const forbidden = byUser(options.modelDenylist)
  return {
    isLimited:
      !restricted.isEmpty ||
      Object.keys(options.modelAllowlist ?? {}).length > 0 ||
      Object.keys(options.modelDenylist ?? {}).length > 0,
    check: (request) => {
      const { model = "", provider, userId } = request
      const full = provider === undefined ? undefined : `${provider}/${model}`
      const has = (matcher: Glob.Matcher) => matcher(model) || (full !== undefined && matcher(full))
      const means = (list: List) => !list.isEmpty && (request.model === undefined || has(list.matcher))
      if (means(restricted)) return denied(request, "restricted")
      const own = allowed(userId)
      if (own !== undefined && !has(own.matcher)) return denied(request, "not_in_allowlist")
      const not = forbidden(userId)
      return not !== undefined && means(not) ? denied(request, "in_denylist") : undefined
    }
  }
}
