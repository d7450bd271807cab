/**
 * The audit log over a store: in this process, on the logger, or any other.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as IdGenerator from "../../domain/IdGenerator.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import { Run } from "../../observability/Run.js"
import * as AuditLog from "./AuditLog.js"
import { GovernanceAuditRecorded, GovernancePersistenceWritten } from "./GovernanceEvents.js"

/** Time a run waits for an entry to be written. */
const PATIENCE = Duration.seconds(5)

const lost = (store: AuditLog.Store, event: AuditLog.AuditEvent, error: unknown): Effect.Effect<false> => {
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

const reportRecord = (store: AuditLog.Store, event: AuditLog.AuditEvent): Effect.Effect<void> =>
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
  store: AuditLog.Store,
  options?: { readonly patience?: Duration.DurationInput | undefined } | undefined
): AuditLog.Service => {
  const patience = Duration.toMillis(options?.patience ?? PATIENCE)
  const limits = {
    whole: Number.isFinite(patience) ? patience : undefined,
    onTimeout: () => new Cause.TimeoutException(`no end within ${patience} ms`)
  }
  return {
    record: (entry) =>
      Effect.flatMap(IdGenerator.generate, (eventId) =>
        Effect.flatMap(Clock.currentTimeMillis, (timestamp) => {
          const event: AuditLog.AuditEvent = { ...entry, eventId, timestamp, status: entry.status ?? "success" }
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
const memoryStore = (capacity: number): AuditLog.Store => {
  const ring: Array<AuditLog.AuditEvent> = []
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
        const found: Array<AuditLog.AuditEvent> = []
        for (let back = 1; back <= ring.length && found.length < filter.limit; back++) {
          const event = ring[(next - back + ring.length) % ring.length] as AuditLog.AuditEvent
          if (AuditLog.accepts(filter, event)) found.push(event)
        }
        return found
      })
  }
}

/**
 * Keeps events in this process; lost when it ends. `capacity` is the number of events kept, 10,000 by default; the
 * oldest are dropped first.
 *
 * @example
 * ```ts
 * import { DefaultAuditLog, DefaultGovernance } from "effect-lexigram/governance"
 *
 * const audit = DefaultAuditLog.layerMemory({ capacity: 1000 })
 *
 * const governance = DefaultGovernance.layerWith({ config: { monthlyBudget: 100 }, audit })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (
  options?: { readonly capacity?: number | undefined } | undefined
): Layer.Layer<AuditLog.AuditLog> =>
  Layer.sync(AuditLog.AuditLog, () =>
    make(memoryStore(Math.min(count(options?.capacity, 10_000, 1), Number.MAX_SAFE_INTEGER)), {
      patience: Duration.infinity
    })
  )

const loggerStore: AuditLog.Store = {
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
export const layerLogger: Layer.Layer<AuditLog.AuditLog> = Layer.succeed(
  AuditLog.AuditLog,
  make(loggerStore, { patience: Duration.infinity })
)
