/**
 * Who may use which model, decided by lists of names.
 *
 * A name in a list is a pattern: `*` stands for any text, `?` for one character. It is compared with the whole of
 * `model` and the whole of `provider/model`, without regard to case, since gateways that take a name in any case would
 * otherwise be a way around a list; ids of users are compared exactly. A user who has a list of a kind is judged by it
 * alone, every other one, and whoever has no id, by the list of `"*"`.
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
  /** Models that a user may use, and no others. */
  readonly modelAllowlist?: { readonly [userId: string]: ReadonlyArray<string> } | undefined
  /** Models that a user may not use. */
  readonly modelDenylist?: { readonly [userId: string]: ReadonlyArray<string> } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly userId?: string | undefined
  readonly provider?: string | undefined
  /**
   * Not known: every list that refuses is taken to mean it, and an allowlist to mean it by `*` or `provider/*` alone.
   */
  readonly model?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelAccess {
  /** False when there is no list at all, and nobody need ask. */
  readonly isLimited: boolean
  /** Why the model may not be used, `undefined` when it may. Asked in this order: restricted, allowlist, denylist. */
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
        ? "Name the model of the agent"
        : "Use another model, or change the lists of governance",
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
 * Compiles the lists once; a question then costs no more than the patterns that apply.
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
