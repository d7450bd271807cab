/**
 * What governance decided and what runs did, written down.
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
 * One entry of the log. `metadata` is as its writer gave it: it belongs to who, what and how much, and never holds what
 * was said.
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
 * What to read. Every field that is given must fit. Without `userId` only what is nobody's is read, unless the caller
 * acts for the system (`SystemAccess`).
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
  /**
   * Stamps an entry and writes it down, then tells the hooks `GovernanceAuditRecorded` and, where it outlives the
   * process, `GovernancePersistenceWritten`, inside a run. Never fails: an entry that cannot be written is logged as
   * such, without what it says.
   */
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
 * What a store is asked for: the rule of who may read what is kept before it.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoreFilter extends Omit<Filter, "userId" | "limit"> {
  /** `null`: what is nobody's. Absent: whosever it is. */
  readonly userId?: UserId | null | undefined
  readonly limit: number
}

/**
 * Where a log is kept.
 *
 * @since 0.1.0
 * @category models
 */
export interface Store {
  /** Its name, as hooks and logs say it. */
  readonly backend: string
  /** Whether what is written outlives the process. */
  readonly isPersistent: boolean
  /** Adds an event behind all others. */
  readonly append: (event: AuditEvent) => Effect.Effect<void, unknown>
  /** The events that `accepts` takes, the last added first, as many as the limit. */
  readonly read: (filter: StoreFilter) => Effect.Effect<ReadonlyArray<AuditEvent>, GovernancePersistenceError>
}

/**
 * Whether an event is one a filter asks for, its limit apart.
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

/** How long a run waits for an entry to be written. */
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

const told = (store: Store, event: AuditEvent): Effect.Effect<void> =>
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
 * A log over a store. `patience` is how long a run waits for an entry to be written, 5 seconds unless set; then it is
 * as good as failed.
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
            Effect.flatMap((written) => (written ? told(store, event) : Effect.void))
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

/** The newest events, in a ring. */
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
 * In this process, and gone with it. `capacity` is how many events are kept, 10,000 unless set; the oldest go first.
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
 * One line of the log for each event, its fields as annotations. Where the lines go, and whether they are kept, is a
 * matter of the `Logger`; nothing can be read back.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerLogger: Layer.Layer<AuditLog> = Layer.succeed(
  AuditLog,
  make(loggerStore, { patience: Duration.infinity })
)

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
