/**
 * What governance decided and what runs did, written down.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId, UserId } from "../domain/Ids.js"
import type { GovernancePersistenceError } from "./GovernanceError.js"

const NAME = "effect-lexigram/governance/AuditLog"

/**
 * @since 0.1.0
 * @category schemas
 */
export const AuditEventType = Schema.Literal(
  "created",
  "llm_call",
  "model_denied",
  "budget_exceeded",
  "rate_limited",
  "tool_call",
  "agent_execution",
  "soft_limit_reached",
  "config_reloaded",
  "policy_denied",
  "quota_exhausted"
).annotations({ identifier: `${NAME}/AuditEventType` })
/**
 * @since 0.1.0
 * @category models
 */
export type AuditEventType = typeof AuditEventType.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const AuditStatus = Schema.Literal("success", "failure", "interrupted", "denied").annotations({
  identifier: `${NAME}/AuditStatus`
})
/**
 * @since 0.1.0
 * @category models
 */
export type AuditStatus = typeof AuditStatus.Type

/**
 * One entry of the log. `metadata` is as its writer gave it: it belongs to who, what and how much, and never holds what was said.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AuditEvent = Schema.Struct({
  eventId: Schema.String,
  eventType: AuditEventType,
  /** Milliseconds since the epoch. */
  timestamp: Schema.Number,
  status: AuditStatus,
  provider: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String),
  userId: Schema.optional(UserId),
  agent: Schema.optional(Schema.String),
  runId: Schema.optional(RunId),
  tokens: Schema.optional(Schema.Number),
  /** US dollars; absent when it is not known. */
  cost: Schema.optional(Schema.Number),
  latencyMs: Schema.optional(Schema.Number),
  metadata: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: `${NAME}/AuditEvent` })
/**
 * @since 0.1.0
 * @category models
 */
export interface AuditEvent extends Schema.Schema.Type<typeof AuditEvent> {}

/**
 * An event before the log stamps it. `status` is `success` where it is not given.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuditEntry extends Omit<AuditEvent, "eventId" | "timestamp" | "status"> {
  readonly status?: AuditStatus | undefined
}

/**
 * What to read. Every field that is given must fit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Filter {
  readonly eventTypes?: ReadonlyArray<AuditEventType> | undefined
  readonly status?: AuditStatus | undefined
  readonly userId?: UserId | undefined
  readonly agent?: string | undefined
  readonly runId?: RunId | undefined
  readonly model?: string | undefined
  /** From this time on, in milliseconds since the epoch. */
  readonly since?: number | undefined
  /** Before this time. */
  readonly until?: number | undefined
  /** Default 100, the newest ones. */
  readonly limit?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: nothing is written, and entries need not be made. Absent means that something is. */
  readonly enabled?: boolean | undefined
  /** Stamps an entry and writes it down. Never fails: an entry that cannot be written is logged as such, without what it says. */
  readonly record: (entry: AuditEntry) => Effect.Effect<void>
  /** The newest first. Empty where nothing that could be read is kept. */
  readonly read: (filter?: Filter | undefined) => Effect.Effect<ReadonlyArray<AuditEvent>, GovernancePersistenceError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class AuditLog extends Context.Tag("effect-lexigram/governance/AuditLog")<AuditLog, Service>() {}

/**
 * Writes nothing down.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<AuditLog> = Layer.succeed(AuditLog, {
  enabled: false,
  record: () => Effect.void,
  read: () => Effect.succeed([])
})
