/**
 * The audit log port: records governance decisions and activity of runs.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { RunId, UserId } from "../../domain/Ids.js"
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
 * One entry of the log. `metadata` is stored as given: it describes who, what and how much, and never contains
 * messages.
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
  /** US dollars; absent if unknown. */
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
 * An event before the log stamps it. Default of `status`: `success`.
 *
 * @since 0.1.0
 * @category models
 */
export interface AuditEntry extends Omit<AuditEvent, "eventId" | "timestamp" | "status"> {
  readonly status?: AuditStatus | undefined
}

/**
 * Query of events; all given fields must match. Without `userId` only events without a user are returned, unless the
 * caller has `SystemAccess`.
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
  /** Earliest time, in milliseconds since the epoch. */
  readonly since?: number | undefined
  /** Latest time, exclusive. */
  readonly until?: number | undefined
  /** Default 100, the newest ones. */
  readonly limit?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: nothing is recorded, and entries need not be built. Absent means that something is. */
  readonly enabled?: boolean | undefined
  /**
   * Stamps and writes an entry, then, within a run, calls the hooks `GovernanceAuditRecorded` and, for a persistent
   * log, `GovernancePersistenceWritten`. Never fails: a failed write is logged without the entry's content.
   */
  readonly record: (entry: AuditEntry) => Effect.Effect<void>
  /** Newest first. Empty if the log cannot be read back. */
  readonly read: (filter?: Filter | undefined) => Effect.Effect<ReadonlyArray<AuditEvent>, GovernancePersistenceError>
}

/**
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { AuditLog } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const denials = Effect.gen(function* () {
 *   const log = yield* AuditLog.AuditLog
 *   const events = yield* log.read({ userId: Ids.UserId.make("ada") })
 *   return events.filter(({ status }) => status === "denied")
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class AuditLog extends Context.Tag("effect-lexigram/governance/AuditLog")<AuditLog, Service>() {}

/**
 * Query of a store, with the access rule already applied.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoreFilter extends Omit<Filter, "userId" | "limit"> {
  /** `null`: events without a user. Absent: events of all users. */
  readonly userId?: UserId | null | undefined
  readonly limit: number
}

/**
 * Storage of an audit log.
 *
 * @since 0.1.0
 * @category models
 */
export interface Store {
  /** Name in hooks and logs. */
  readonly backend: string
  /** True if written data survives the process. */
  readonly isPersistent: boolean
  /** Appends an event. */
  readonly append: (event: AuditEvent) => Effect.Effect<void, unknown>
  /** The events that `accepts` matches, last added first, up to the limit. */
  readonly read: (filter: StoreFilter) => Effect.Effect<ReadonlyArray<AuditEvent>, GovernancePersistenceError>
}

/**
 * True if an event matches a filter, ignoring its limit.
 *
 * @since 0.1.0
 * @category guards
 */
export const accepts = (filter: Omit<StoreFilter, "limit">, event: AuditEvent): boolean =>
  (filter.eventTypes === undefined || filter.eventTypes.includes(event.eventType)) &&
  (filter.status === undefined || filter.status === event.status) &&
  (filter.userId === undefined || filter.userId === (event.userId ?? null)) &&
  (filter.agent === undefined || filter.agent === event.agent) &&
  (filter.runId === undefined || filter.runId === event.runId) &&
  (filter.model === undefined || filter.model === event.model) &&
  (filter.since === undefined || filter.since <= event.timestamp) &&
  (filter.until === undefined || filter.until > event.timestamp)

/**
 * Records nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<AuditLog> = Layer.succeed(AuditLog, {
  enabled: false,
  record: () => Effect.void,
  read: () => Effect.succeed([])
})
