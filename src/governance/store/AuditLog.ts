/**
 * The audit log port: records governance decisions and activity of runs.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import { RunId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import { Run } from "../../observability/Run.js"
import type { GovernancePersistenceError } from "./GovernanceError.js"
import { GovernanceAuditRecorded, GovernancePersistenceWritten } from "./GovernanceEvents.js"

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

/** Time a run waits for an entry to be written. */
const PATIENCE = Duration.seconds(5)

const lost = (store: Store, event: AuditEvent, error: unknown): Effect.Effect<false> => {
  const info = errorInfo(error)
  return Effect.logError(`An audit event was not written: ${info.message}`).pipe(
    Effect.annotateLogs({
      module: "AuditLog",
      backend: store.backend,
      eventType: event.eventType,
      eventId: event.eventId,
      error: info.tag
    }),
    Effect.as(false)
  )
}

const reportRecord = (store: Store, event: AuditEvent): Effect.Effect<void> =>
  Effect.flatMap(Run, ({ hooks }) => {
    const recorded = hooks.has(GovernanceAuditRecorded)
      ? hooks.call(GovernanceAuditRecorded, { eventType: event.eventType })
      : Effect.void
    return store.isPersistent && hooks.has(GovernancePersistenceWritten)
      ? Effect.zipRight(recorded, hooks.call(GovernancePersistenceWritten, { backend: store.backend }))
      : recorded
  })

const DEFAULT_LIMIT = 100

/**
 * Makes a log over a store. `patience` is how long a run waits for a write, 5 seconds by default; after that the write
 * counts as failed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  store: Store,
  options?: { readonly patience?: Duration.DurationInput | undefined } | undefined
): Service => {
  const patience = Duration.toMillis(options?.patience ?? PATIENCE)
  const limits = {
    whole: Number.isFinite(patience) ? patience : undefined,
    onTimeout: () => new Cause.TimeoutException(`no end within ${patience} ms`)
  }
  return {
    record: (entry) =>
      Effect.flatMap(IdGenerator.generate, (eventId) =>
        Effect.flatMap(Clock.currentTimeMillis, (timestamp) => {
          const event: AuditEvent = { ...entry, eventId, timestamp, status: entry.status ?? "success" }
          return Deadline.run(() => store.append(event), limits).pipe(
            Effect.as(true),
            Effect.catchAllDefect((defect) => Effect.fail(defect)),
            Effect.catchAll((error) => lost(store, event, error)),
            Effect.flatMap((written) => (written ? reportRecord(store, event) : Effect.void))
          )
        })
      ),
    read: (filter) =>
      Effect.flatMap(SystemAccess.isGranted, (granted) =>
        store.read({
          ...filter,
          userId: filter?.userId ?? (granted ? undefined : null),
          limit: count(filter?.limit, DEFAULT_LIMIT, 0)
        })
      )
  }
}

/** Keeps the newest events in a ring. */
const memoryStore = (capacity: number): Store => {
  const ring: Array<AuditEvent> = []
  let next = 0
  return {
    backend: "memory",
    isPersistent: false,
    append: (event) =>
      Effect.sync(() => {
        ring[next] = event
        next = (next + 1) % capacity
      }),
    read: (filter) =>
      Effect.sync(() => {
        const found: Array<AuditEvent> = []
        for (let back = 1; back <= ring.length && found.length < filter.limit; back++) {
          const event = ring[(next - back + ring.length) % ring.length] as AuditEvent
          if (accepts(filter, event)) found.push(event)
        }
        return found
      })
  }
}

/**
 * Keeps events in this process; lost when it ends. `capacity` is the number of events kept, 10,000 by default; the
 * oldest are dropped first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: { readonly capacity?: number | undefined } | undefined): Layer.Layer<AuditLog> =>
  Layer.sync(AuditLog, () =>
    make(memoryStore(Math.min(count(options?.capacity, 10_000, 1), Number.MAX_SAFE_INTEGER)), {
      patience: Duration.infinity
    })
  )

const loggerStore: Store = {
  backend: "logger",
  isPersistent: false,
  append: (event) => Effect.annotateLogs(Effect.logInfo(`audit ${event.eventType}`), { module: "AuditLog", ...event }),
  read: () => Effect.succeed([])
}

/**
 * Writes one log line per event, with its fields as annotations. The `Logger` decides where lines go; nothing can be
 * read back.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerLogger: Layer.Layer<AuditLog> = Layer.succeed(
  AuditLog,
  make(loggerStore, { patience: Duration.infinity })
)

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
