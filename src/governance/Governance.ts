/**
 * The governance port: who may use which model for what, and at what cost.
 *
 * Around a model call: `reserve` its maximum amount, call, then `settle` with the actual amount, or `refund` if it was
 * not made. So spent plus reserved never exceeds a limit, however many calls run at once.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId, UserId } from "../domain/Ids.js"
import type { Usage } from "../domain/Usage.js"
import * as ResourceQuotas from "./ResourceQuotas.js"
import { GovernanceError, type GovernancePersistenceError } from "./store/GovernanceError.js"

const NAME = "effect-lexigram/governance/Governance"

/**
 * The request may proceed. `remainingBudget` is the rest in US dollars, absent without a limit.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Allowed = Schema.Struct({
  allowed: Schema.Literal(true),
  remainingBudget: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Allowed` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Allowed extends Schema.Schema.Type<typeof Allowed> {}

/**
 * The request is refused. `reason` is for people; the run fails with `error`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Denied = Schema.Struct({
  allowed: Schema.Literal(false),
  reason: Schema.String,
  error: GovernanceError,
  remainingBudget: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Denied` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Denied extends Schema.Schema.Type<typeof Denied> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const GovernanceDecision = Schema.Union(Allowed, Denied)
/**
 * @since 0.1.0
 * @category models
 */
export type GovernanceDecision = Allowed | Denied

/**
 * Money and tokens reserved for one model call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reservation = Schema.Struct({
  /** Unique per reservation if anything is tracked. */
  id: Schema.String,
  runId: RunId,
  rootRunId: Schema.optional(RunId),
  agent: Schema.optional(Schema.String),
  tenantId: Schema.optional(Schema.String),
  provider: Schema.optional(Schema.String),
  userId: Schema.optional(UserId),
  model: Schema.optional(Schema.String),
  inputTokens: Schema.Number,
  maxOutputTokens: Schema.Number,
  /** Reserved US dollars; absent if the price is unknown. */
  cost: Schema.optional(Schema.Number),
  /** Time of creation, in milliseconds since the epoch. */
  at: Schema.optional(Schema.Number),
  /** Time from which its tokens count against the minute; absent without a rate limit. */
  takenAt: Schema.optional(Schema.Number),
  /** Used resource quotas. */
  receipt: Schema.optional(ResourceQuotas.Receipt),
  /** As in the request. */
  recorded: Schema.optional(Schema.Boolean),
  /** The accounts of its hold, the month last; absent without a hold. */
  accounts: Schema.optional(Schema.Array(Schema.String))
}).annotations({ identifier: `${NAME}/Reservation` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Reservation extends Schema.Schema.Type<typeof Reservation> {}

/**
 * State of a budget, in US dollars. Without `limit` and `remaining` nothing is limited.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Budget = Schema.Struct({
  spent: Schema.Number,
  reserved: Schema.Number,
  limit: Schema.optional(Schema.Number),
  /** `limit - spent - reserved`, never negative. */
  remaining: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/Budget` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Budget extends Schema.Schema.Type<typeof Budget> {}

/**
 * A run to be started.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckRequest {
  readonly runId: RunId
  /** The outermost run under this governance, whose budget this one shares; default `runId`. */
  readonly rootRunId?: RunId | undefined
  readonly agent: string
  /** The client's provider name: `openai`, `anthropic`, … */
  readonly provider: string
  /** Absent for the provider's default model. */
  readonly model?: string | undefined
  readonly userId?: UserId | undefined
  /** Tenant of the resource quotas; default the user. */
  readonly tenantId?: string | undefined
  /** Data classifications of the request: `confidential`, `pii`, … */
  readonly classifications?: ReadonlyArray<string> | undefined
}

/**
 * A guard's finding after which the run would continue.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckGuardrail {
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
  /** Default: the user. */
  readonly tenantId?: string | undefined
  readonly guard: string
  readonly stage: string
  readonly action: "warn" | "redact"
}

/**
 * A tool call to be made for a model.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckToolCall {
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
  /** Tenant of the resource quotas; default the user. */
  readonly tenantId?: string | undefined
  readonly toolName: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CheckBudget {
  /** US dollars. */
  readonly cost: number
  readonly userId?: UserId | undefined
}

/**
 * A model call to be made.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReserveRequest {
  readonly runId: RunId
  /** The outermost run under this governance, whose budget this one shares; default `runId`. */
  readonly rootRunId?: RunId | undefined
  readonly agent?: string | undefined
  readonly userId?: UserId | undefined
  readonly tenantId?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  /** Counted exactly if the model's tokenizer is known. */
  readonly inputTokens: number
  readonly maxOutputTokens: number
  /**
   * True for a call of a durable run: another process may settle the reservation, and may settle it again. Default
   * false.
   */
  readonly recorded?: boolean | undefined
}

/**
 * Facts of a completed call. Omitted fields are as reserved.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settlement {
  /** US dollars. Default: computed from the usage if the price is known. */
  readonly cost?: number | undefined
  /** Provider that answered, if not the reserved one, for example after a fallback. */
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TrackCost {
  /** US dollars. */
  readonly cost: number
  readonly usage: Usage
  readonly model?: string | undefined
  readonly userId?: UserId | undefined
}

/**
 * Activity of a run, reported by the executor.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuditEntry {
  readonly type: "tool_call" | "agent_execution"
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly status: "success" | "failure" | "interrupted"
  readonly tokens?: number | undefined
  /** US dollars. */
  readonly cost?: number | undefined
  readonly latencyMs: number
  readonly metadata?: { readonly [key: string]: unknown } | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: allows everything and books nothing, so it need not be called. Absent means that it is in force. */
  readonly enabled?: boolean | undefined
  /**
   * Checks a run before its first model call: model access, then rates, then budget; the first denial wins. A denial is
   * a value, never a failure. It counts as one request against the rate, so a second check of the same run counts
   * again.
   */
  readonly checkRequest: (request: CheckRequest) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * True if the budget covers this cost on top of spent and reserved amounts. Reserves nothing: the answer may be
   * outdated immediately.
   */
  readonly checkBudget: (options: CheckBudget) => Effect.Effect<boolean, GovernancePersistenceError>
  /** Decides whether a run may continue after a guard's finding. */
  readonly checkGuardrail: (request: CheckGuardrail) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * Checks a tool call, which uses one of each unit of the kind `tool_calls`. A denial is a value and uses nothing.
   * Each check counts, including the second one of a call that was suspended and resumed with its run.
   */
  readonly checkToolCall: (request: CheckToolCall) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * Reserves the maximum a call may use: its input and its longest output. The model is checked as in a request. Check
   * and reservation are one step; on failure or interruption nothing is reserved. Settle or refund each reservation
   * once, also when the call failed or was interrupted: reserve where interruption is masked, as
   * `Effect.acquireUseRelease` does. `release` gives lost reservations back.
   */
  readonly reserve: (request: ReserveRequest) => Effect.Effect<Reservation, GovernanceError>
  /**
   * Replaces a reservation by the actual amount: unreported tokens, and a cost that cannot be computed, count as
   * reserved. Booked in the month of the reservation. Never refuses: use is booked even past the limit, and even if the
   * run was released before its call ended. A settled, refunded or unknown reservation changes nothing.
   * `estimatedTokens` of the usage are recorded in the audit log.
   */
  readonly settle: (
    reservation: Reservation,
    usage: Usage,
    settlement?: Settlement | undefined
  ) => Effect.Effect<void, GovernancePersistenceError>
  /**
   * Takes over a recorded reservation whose process ended, before its call is made again: what expired is held again,
   * without a check, and is renewed by this process. Absent where reservations need no renewal.
   */
  readonly adopt?: ((reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>) | undefined
  /** Gives a reservation back. A settled, refunded or unknown reservation changes nothing. */
  readonly refund: (reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>
  /** Books a cost without a reservation, even past the limit. Each call books again. */
  readonly trackCost: (options: TrackCost) => Effect.Effect<void, GovernancePersistenceError>
  /**
   * Records activity of a run: the executor reports tool calls and runs, governance records the rest itself. Never
   * fails: a failed write is logged.
   */
  readonly audit: (entry: AuditEntry) => Effect.Effect<void>
  /**
   * Ends the outermost run: deletes its budget state and gives open reservations back. A reservation whose call still
   * runs is settled when the call ends.
   */
  readonly release: (rootRunId: RunId) => Effect.Effect<void>
  /** Budget of a user, or the shared one without a user. Zeros if nothing was spent. */
  readonly getBudget: (userId?: UserId | undefined) => Effect.Effect<Budget, GovernancePersistenceError>
}

/**
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { Governance } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const left = Effect.gen(function* () {
 *   const governance = yield* Governance.Governance
 *   const { remaining, spent } = yield* governance.getBudget(Ids.UserId.make("ada"))
 *   return `$${spent.toFixed(2)} spent, $${remaining?.toFixed(2) ?? "any amount"} left`
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class Governance extends Context.Tag("effect-lexigram/governance/Governance")<Governance, Service>() {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const allow = (options?: { readonly remainingBudget?: number | undefined }): Allowed =>
  options?.remainingBudget === undefined
    ? { allowed: true }
    : { allowed: true, remainingBudget: options.remainingBudget }

/**
 * Makes a denial with the message of the error.
 *
 * @since 0.1.0
 * @category constructors
 */
export const deny = (error: GovernanceError, options?: { readonly remainingBudget?: number | undefined }): Denied => ({
  allowed: false,
  reason: error.message,
  error,
  ...(options?.remainingBudget === undefined ? {} : { remainingBudget: options.remainingBudget })
})

const allowed = Effect.succeed(allow())

/**
 * Allows everything and tracks nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<Governance> = Layer.succeed(Governance, {
  enabled: false,
  checkRequest: () => allowed,
  checkBudget: () => Effect.succeed(true),
  reserve: (request) => Effect.succeed({ id: "untracked", ...request }),
  checkGuardrail: () => allowed,
  checkToolCall: () => allowed,
  settle: () => Effect.void,
  refund: () => Effect.void,
  trackCost: () => Effect.void,
  audit: () => Effect.void,
  release: () => Effect.void,
  getBudget: () => Effect.succeed({ spent: 0, reserved: 0 })
})
