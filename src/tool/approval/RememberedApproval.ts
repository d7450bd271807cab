/**
 * Matches requests with remembered decisions.
 *
 * @private
 * @since 0.1.0
 */
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { ApprovalDecision, ApprovalRequest } from "./ApprovalGate.js"
import type { Remembered, Scope } from "./ApprovalStore.js"

/** The narrowest scope first. */
const scopes: ReadonlyArray<Scope> = ["run", "session", "user", "tool"]

const scopeIdOf = (request: ApprovalRequest, scope: Scope): string | undefined => {
  switch (scope) {
    case "run":
      // Outside a run the run id is empty and equal for everybody.
      return (request.rootRunId ?? request.runId) || undefined
    case "session":
      return request.sessionId
    case "user":
      return request.userId
    case "tool":
      return ""
  }
}

/** A session or run of another user is a different one even under the same id. Decisions for a tool cover all users. */
const ownerOf = (request: ApprovalRequest, scope: Scope): string | undefined =>
  scope === "tool" ? undefined : request.userId

/** One text for equal arguments; none for arguments without such a text. */
const canonical = (params: unknown): string | undefined => {
  try {
    return CanonicalJson.stringify(params)
  } catch {
    return undefined
  }
}

const keyOf = (request: ApprovalRequest, scope: Scope, scopeId: string, args: string | null): string =>
  CanonicalJson.hash([scope, scopeId, ownerOf(request, scope) ?? null, request.agent, request.tool, args])

/**
 * The keys of the decisions that would answer a request: those for equal arguments first, each kind by narrowest scope.
 *
 * @since 0.1.0
 * @category accessors
 */
export const keys = (request: ApprovalRequest): ReadonlyArray<string> => {
  const args = canonical(request.params)
  const exact: Array<string> = []
  const any: Array<string> = []
  for (const scope of scopes) {
    const scopeId = scopeIdOf(request, scope)
    if (scopeId === undefined) continue
    if (args !== undefined) exact.push(keyOf(request, scope, scopeId, args))
    any.push(keyOf(request, scope, scopeId, null))
  }
  return [...exact, ...any]
}

/**
 * `null` when the request has nothing of that scope. Arguments chosen for one call cover no other arguments.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  request: ApprovalRequest,
  decision: ApprovalDecision,
  options: {
    readonly scope: Scope
    readonly exact: boolean
    readonly at: number
    readonly by?: string | undefined
  }
): Remembered | null => {
  const { at, by, scope } = options
  const scopeId = scopeIdOf(request, scope)
  const exact = options.exact || (decision._tag === "Approved" && decision.params !== undefined)
  const args = exact ? canonical(request.params) : null
  if (scopeId === undefined || args === undefined) return null
  const userId = ownerOf(request, scope)
  return {
    key: keyOf(request, scope, scopeId, args),
    scope,
    ...(scope === "tool" ? {} : { scopeId }),
    ...(userId === undefined ? {} : { userId }),
    agent: request.agent,
    tool: request.tool,
    exact,
    decision,
    at,
    ...(by === undefined ? {} : { by })
  }
}

/**
 * Whether a repeated request is for the same call as before.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSameCall = (first: ApprovalRequest, again: ApprovalRequest): boolean => {
  if (
    first.runId !== again.runId ||
    first.userId !== again.userId ||
    first.agent !== again.agent ||
    first.tool !== again.tool
  )
    return false
  const args = canonical([first.params, first.question ?? null])
  return args !== undefined && args === canonical([again.params, again.question ?? null])
}
