/**
 * Who may ask which model for what, and what it may cost.
 *
 * Around a model call: `reserve` what it may cost at most, call, then `settle` with what it used, or `refund` when it
 * was not made. So spent plus reserved never passes a limit, however many calls run at once.
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
 * The request may go on. `remainingBudget` is what is left afterwards in US dollars, absent when nothing limits it.
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
 * The request is refused. `reason` is for people, `error` what the run fails with.
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
 * Money and tokens set aside for one model call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reservation = Schema.Struct({
  /** Unique per reservation where anything is tracked. */
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
  /** What is set aside in US dollars; absent when the price is not known. */
  cost: Schema.optional(Schema.Number),
  /** When it was made, in milliseconds since the epoch. */
  at: Schema.optional(Schema.Number),
  /** When its tokens began to count against the minute; absent when no rate limits them. */
  takenAt: Schema.optional(Schema.Number),
  /** What it used of resource quotas. */
  receipt: Schema.optional(ResourceQuotas.Receipt)
}).annotations({ identifier: `${NAME}/Reservation` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Reservation extends Schema.Schema.Type<typeof Reservation> {}

/**
 * A budget as it stands, in US dollars. Without `limit` and `remaining` nothing is limited.
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
 * What a run is about to do.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckRequest {
  readonly runId: RunId
  /** The outermost run under this governance, whose budget this one shares; default `runId`. */
  readonly rootRunId?: RunId | undefined
  readonly agent: string
  /** The provider as the client names itself: `openai`, `anthropic`, … */
  readonly provider: string
  /** Absent when the provider's default model will answer. */
  readonly model?: string | undefined
  readonly userId?: UserId | undefined
  /** Whose resource quotas count; default the user. */
  readonly tenantId?: string | undefined
  /** How the data of the request is classified: `confidential`, `pii`, … */
  readonly classifications?: ReadonlyArray<string> | undefined
}

/**
 * A guard found something, and the run would go on.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckGuardrail {
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
  /** Default the user. */
  readonly tenantId?: string | undefined
  readonly guard: string
  readonly stage: string
  readonly action: "warn" | "redact"
}

/**
 * A model asked for a tool, and the tool is about to be called.
 *
 * @since 0.1.0
 * @category models
 */
export interface CheckToolCall {
  readonly runId: RunId
  readonly agent: string
  readonly userId?: UserId | undefined
  /** Whose resource quotas count; default the user. */
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
 * A model call as it is known before it is made.
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
  /** Counted, not guessed, where the tokenizer of the model is known. */
  readonly inputTokens: number
  readonly maxOutputTokens: number
}

/**
 * What is known of a call that was made. What is left out is as it was reserved.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settlement {
  /** US dollars. Without it the cost is computed from the usage where the price is known. */
  readonly cost?: number | undefined
  /** Who answered, where it is not the one that was asked: after a fallback, say. */
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
 * What the executor tells about a run.
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
  /** `false`: allows everything and books nothing, so that nobody need ask. Absent means that it is in force. */
  readonly enabled?: boolean | undefined
  /**
   * Decides about a run before its first model call: model access first, then rates, then budget; the first denial
   * wins. A denial is a value, never a failure. It counts as one request against the rate, so a second check of the
   * same run counts again.
   */
  readonly checkRequest: (request: CheckRequest) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * True if the budget covers this cost beside what is spent and reserved. Reserves nothing: the answer may be old at
   * once.
   */
  readonly checkBudget: (options: CheckBudget) => Effect.Effect<boolean, GovernancePersistenceError>
  /** Whether a run may go on after what a guard found. */
  readonly checkGuardrail: (request: CheckGuardrail) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * Whether a tool may be called: it uses one of each unit of the kind `tool_calls`. A denial is a value and uses
   * nothing. Each check counts, also that of a call which is put to sleep and asked for again when its run goes on.
   */
  readonly checkToolCall: (request: CheckToolCall) => Effect.Effect<GovernanceDecision, GovernancePersistenceError>
  /**
   * Sets aside what a call may use at most: its input and its longest output. The model of the call is checked like
   * that of a request. Checked and reserved in one step; on failure or interruption nothing is reserved. Each
   * reservation must be settled or refunded once, also when the call failed or was interrupted: reserve where
   * interruption is masked, as `Effect.acquireUseRelease` does. One that was lost all the same is given back by
   * `release`.
   */
  readonly reserve: (request: ReserveRequest) => Effect.Effect<Reservation, GovernanceError>
  /**
   * Replaces a reservation by what the call used: tokens that are not reported count as they were reserved, and so does
   * a cost that cannot be computed. Booked in the month of the reservation. Never refuses: what was used is booked even
   * past the limit, and also where the run was released before its call ended. A reservation that is settled, refunded
   * or unknown changes nothing. `estimatedTokens` of the usage are told to the audit.
   */
  readonly settle: (
    reservation: Reservation,
    usage: Usage,
    settlement?: Settlement | undefined
  ) => Effect.Effect<void, GovernancePersistenceError>
  /** Gives a reservation back whole. One that is settled, refunded or unknown changes nothing. */
  readonly refund: (reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>
  /** Books a cost that had no reservation, past the limit too. Each call books again. */
  readonly trackCost: (options: TrackCost) => Effect.Effect<void, GovernancePersistenceError>
  /**
   * Writes down what happened in a run: tool calls and runs are told by the executor, the rest Governance writes by
   * itself. Never fails: an audit that cannot be written is logged.
   */
  readonly audit: (entry: AuditEntry) => Effect.Effect<void>
  /**
   * The outermost run has ended: what was kept for its budget may go, reservations that are still open are given back.
   * One whose call still runs is settled all the same when that ends.
   */
  readonly release: (rootRunId: RunId) => Effect.Effect<void>
  /** The budget of a user, or the one without a user. Nobody spent anything: zeros. */
  readonly getBudget: (userId?: UserId | undefined) => Effect.Effect<Budget, GovernancePersistenceError>
}

/**
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
 * A denial that says what the error says.
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
