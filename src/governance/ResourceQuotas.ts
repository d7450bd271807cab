/**
 * How much of a resource a tenant may use in a window of time.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { errorInfo } from "../domain/ErrorInfo.js"
import {
  isKeyOf,
  issuesOf,
  keyOf,
  type Limit,
  limitOf,
  resetsAt,
  shown,
  stored,
  type Unit,
  unitsOf
} from "./QuotaUnits.js"
import {
  GovernanceConfigurationError,
  type GovernancePersistenceError,
  ResourceExhaustedError
} from "./store/GovernanceError.js"
import * as RateLimitStore from "./store/RateLimitStore.js"

const NAME = "effect-lexigram/governance/ResourceQuotas"

/**
 * What a unit counts. `cost` is in US dollars; what `custom` counts is known to the application alone.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UnitKind = Schema.Literal("requests", "model_calls", "tool_calls", "tokens", "cost", "custom").annotations(
  {
    identifier: `${NAME}/UnitKind`
  }
)
/**
 * @since 0.1.0
 * @category models
 */
export type UnitKind = typeof UnitKind.Type

/**
 * What is counted. Every unit of a kind counts what happens of that kind, each in its own window.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceUnit {
  /** 1 to 64 letters, digits, `_`, `.` or `-`; unique. */
  readonly name: string
  readonly kind: UnitKind
  /**
   * `sliding` (default): what was used within the last `window`. `calendar-month`: since the first of the month, in
   * UTC; without `window`.
   */
  readonly windowKind?: "sliding" | "calendar-month" | undefined
  readonly window?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResourceQuota {
  /** `*`: every tenant that has no quota of its own for the unit, each for itself. */
  readonly tenantId: string
  readonly unit: string
  /** In what the unit counts; 0 allows nothing. */
  readonly limit: number
  /**
   * The part of the limit (0.8, say) from which on a use is reported as `soft_threshold_breach`: once, when it is
   * crossed. Default: never.
   */
  readonly softThresholdPct?: number | undefined
}

/**
 * How a tenant stands with one unit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot {
  readonly tenantId: string
  readonly unit: string
  /** Used within the window; 0 where no quota limits the tenant, for then nothing is counted. */
  readonly current: number
  /** Absent when no quota limits the tenant. */
  readonly limit?: number | undefined
  /**
   * By when all that is used now has left the window, in milliseconds since the epoch: the end of a calendar month; for
   * a sliding window the latest time it can be, but for the precision of the store. Absent when nothing is used.
   */
  readonly windowResetsAt?: number | undefined
}

/**
 * What was used of which units: plain data, with which the use can be corrected.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Receipt = Schema.Struct({
  tenantId: Schema.String,
  entries: Schema.Array(
    Schema.Struct({ unit: Schema.String, at: Schema.Number, amount: Schema.Number, key: Schema.String })
  )
}).annotations({ identifier: `${NAME}/Receipt` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Receipt extends Schema.Schema.Type<typeof Receipt> {}

/**
 * `usage` is how the tenant stands with each unit asked for that a quota limits: after the use, or, when a unit is
 * exhausted, how it stands with that one as it was left. `crossed` are the units whose soft threshold this very use
 * crossed.
 *
 * @since 0.1.0
 * @category models
 */
export type QuotaDecision =
  | { readonly status: "approved"; readonly usage: ReadonlyArray<Snapshot>; readonly receipt: Receipt }
  | {
      readonly status: "soft_threshold_breach"
      readonly usage: ReadonlyArray<Snapshot>
      readonly receipt: Receipt
      readonly crossed: ReadonlyArray<string>
    }
  | {
      readonly status: "exhausted"
      readonly usage: ReadonlyArray<Snapshot>
      /** Names the first unit that is not enough. */
      readonly error: ResourceExhaustedError
      /** When there will be room if nothing else is used; absent when the amount alone is past the limit. */
      readonly retryAfterMs?: number | undefined
    }

/**
 * @since 0.1.0
 * @category models
 */
export interface Consume {
  readonly tenantId: string
  /**
   * US dollars are counted in billionths, everything else in whole numbers, rounded up. What is negative or no number
   * counts as 0.
   */
  readonly amount: number
  /** Who asks on behalf of the tenant. */
  readonly actorId?: string | undefined
}

/**
 * How much of each kind. Of a kind that is absent nothing is used.
 *
 * @since 0.1.0
 * @category models
 */
export type Amounts = { readonly [Kind in UnitKind]?: number | undefined }

/**
 * @since 0.1.0
 * @category models
 */
export interface ConsumeKinds {
  readonly tenantId: string
  readonly amounts: Amounts
  /** Who asks on behalf of the tenant. */
  readonly actorId?: string | undefined
}

/**
 * Uses that happen at once never pass a limit together. A use counts in every unit it needs, or in none: what it took
 * of the first units is given back when a later one is not enough. Another use that comes between may be refused for
 * what is about to be given back.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: nothing is limited, and nobody need ask. Absent means that something is. */
  readonly enabled?: boolean | undefined
  /** Uses some of one unit. Fails with `GovernanceConfigurationError` for a unit that is not declared. */
  readonly consume: (
    request: Consume & { readonly unit: string }
  ) => Effect.Effect<QuotaDecision, GovernancePersistenceError | GovernanceConfigurationError>
  /** Uses some of every unit of a kind. Without such a unit it is approved. */
  readonly consumeKind: (kind: UnitKind, request: Consume) => Effect.Effect<QuotaDecision, GovernancePersistenceError>
  /** Uses some of every unit of several kinds: all or nothing. */
  readonly consumeKinds: (request: ConsumeKinds) => Effect.Effect<QuotaDecision, GovernancePersistenceError>
  /**
   * Replaces what was used by what it really came to, at the time of that use; 0 gives it back, kinds that are absent
   * stay as they are. Never refuses: it counts even past the limit. What has left its window changes nothing, nor does
   * a receipt of a unit that is no more. A receipt is corrected once.
   */
  readonly correct: (receipt: Receipt, amounts: Amounts) => Effect.Effect<void, GovernancePersistenceError>
  /** Uses nothing. Fails with `GovernanceConfigurationError` for a unit that is not declared. */
  readonly snapshot: (
    tenantId: string,
    unit: string
  ) => Effect.Effect<Snapshot, GovernancePersistenceError | GovernanceConfigurationError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ResourceQuotas extends Context.Tag("effect-lexigram/governance/ResourceQuotas")<
  ResourceQuotas,
  Service
>() {}

const snapshotOf = (unit: Unit, tenantId: string, limit: Limit, current: number, now: number): Snapshot => ({
  tenantId,
  unit: unit.name,
  current: shown(unit.kind, current),
  limit: limit.limit,
  ...(current > 0 ? { windowResetsAt: resetsAt(unit, now) } : {})
})

interface Want {
  readonly unit: Unit
  readonly amount: number
}

const over = (store: RateLimitStore.Service, units: ReadonlyMap<string, Unit>): Service => {
  const unitNamed = (name: string): Effect.Effect<Unit, GovernanceConfigurationError> => {
    const unit = units.get(name)
    return unit === undefined
      ? Effect.fail(new GovernanceConfigurationError({ message: "The unit of the resource is not declared" }))
      : Effect.succeed(unit)
  }

  const change = (entry: Receipt["entries"][number], unit: Unit, to: number) =>
    store.adjust({ key: entry.key, at: entry.at, windowMs: unit.windowMs, from: entry.amount, to })

  const wantsOf = (amounts: Amounts): ReadonlyArray<Want> =>
    Array.from(units.values()).flatMap((unit) => {
      const amount = amounts[unit.kind]
      return amount === undefined ? [] : [{ unit, amount: stored(unit.kind, amount) }]
    })

  /** What is not given back counts against the tenant, never for it. */
  const giveBack = (entries: Receipt["entries"]): Effect.Effect<void> =>
    Effect.forEach(
      entries,
      (entry) =>
        Effect.catchAll(change(entry, units.get(entry.unit) as Unit, 0), (error) => {
          const info = errorInfo(error)
          return Effect.logWarning(`A quota was not given back: ${info.message}`).pipe(
            Effect.annotateLogs({ module: "ResourceQuotas", unit: entry.unit, error: info.tag })
          )
        }),
      { discard: true }
    )

  const consume = (
    wants: ReadonlyArray<Want>,
    { actorId, tenantId }: { readonly tenantId: string; readonly actorId?: string | undefined }
  ): Effect.Effect<QuotaDecision, GovernancePersistenceError> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const entries: Array<Receipt["entries"][number]> = []
      const usage: Array<Snapshot> = []
      const crossed: Array<string> = []
      for (const { amount, unit } of wants) {
        const limit = limitOf(unit, tenantId)
        if (limit === undefined) continue
        const key = keyOf(unit, tenantId, now)
        const taken = yield* Effect.tapError(
          store.take({ key, amount, windowMs: unit.windowMs, limit: limit.most }),
          () => giveBack(entries)
        )
        const snapshot = snapshotOf(unit, tenantId, limit, taken.current, now)
        if (!taken.allowed) {
          yield* giveBack(entries)
          const error = new ResourceExhaustedError({
            message: `The quota of ${unit.name} is used up: ${snapshot.current} of ${limit.limit}, and ${shown(unit.kind, amount)} asked for`,
            tenantId,
            unitName: unit.name,
            limit: limit.limit,
            current: snapshot.current,
            actorId
          })
          const retryAfterMs =
            unit.isMonthly && taken.retryAfterMs !== undefined ? resetsAt(unit, now) - now : taken.retryAfterMs
          const exhausted: QuotaDecision = {
            status: "exhausted",
            usage: [snapshot],
            error,
            ...(retryAfterMs === undefined ? {} : { retryAfterMs })
          }
          return exhausted
        }
        entries.push({ unit: unit.name, key, at: taken.at, amount })
        usage.push(snapshot)
        if (taken.current - amount < limit.soft && taken.current >= limit.soft) crossed.push(unit.name)
      }
      const receipt: Receipt = { tenantId, entries }
      const allowed: QuotaDecision =
        crossed.length === 0
          ? { status: "approved", usage, receipt }
          : { status: "soft_threshold_breach", usage, receipt, crossed }
      return allowed
    }).pipe(Effect.uninterruptible)

  return {
    enabled: Array.from(units.values()).some(({ limits }) => limits.size > 0),
    consume: (request) =>
      Effect.flatMap(unitNamed(request.unit), (unit) =>
        consume([{ unit, amount: stored(unit.kind, request.amount) }], request)
      ),
    consumeKind: (kind, request) => Effect.suspend(() => consume(wantsOf({ [kind]: request.amount }), request)),
    consumeKinds: (request) => Effect.suspend(() => consume(wantsOf(request.amounts), request)),
    correct: (receipt, amounts) =>
      Effect.forEach(
        receipt.entries,
        (entry) => {
          const unit = units.get(entry.unit)
          const amount = unit === undefined ? undefined : amounts[unit.kind]
          return unit === undefined || amount === undefined || !isKeyOf(unit, entry.key)
            ? Effect.void
            : change(entry, unit, stored(unit.kind, amount))
        },
        { discard: true }
      ),
    snapshot: (tenantId, name) =>
      Effect.flatMap(unitNamed(name), (unit) => {
        const limit = limitOf(unit, tenantId)
        if (limit === undefined) return Effect.succeed({ tenantId, unit: name, current: 0 })
        return Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(store.peek({ key: keyOf(unit, tenantId, now), windowMs: unit.windowMs }), (current) =>
            snapshotOf(unit, tenantId, limit, current, now)
          )
        )
      })
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly units: ReadonlyArray<ResourceUnit>
  readonly quotas: ReadonlyArray<ResourceQuota>
}

/**
 * Quotas over a `RateLimitStore`, which keeps what was used. Fails with everything that is wrong with the units and
 * quotas.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Service, GovernanceConfigurationError, RateLimitStore.RateLimitStore> =>
  Effect.flatMap(RateLimitStore.RateLimitStore, (store) => {
    const issues = issuesOf(options)
    return issues.length === 0
      ? Effect.succeed(over(store, unitsOf(options)))
      : Effect.fail(new GovernanceConfigurationError({ message: `The quotas are not valid: ${issues.join("; ")}` }))
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<ResourceQuotas, GovernanceConfigurationError, RateLimitStore.RateLimitStore> =>
  Layer.effect(ResourceQuotas, make(options))

const approved = (tenantId: string): Effect.Effect<QuotaDecision> =>
  Effect.succeed({ status: "approved", usage: [], receipt: { tenantId, entries: [] } })

/**
 * Nothing is limited and nothing is counted; any name is a unit.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ResourceQuotas> = Layer.succeed(ResourceQuotas, {
  enabled: false,
  consume: ({ tenantId }) => approved(tenantId),
  consumeKind: (_kind, { tenantId }) => approved(tenantId),
  consumeKinds: ({ tenantId }) => approved(tenantId),
  correct: () => Effect.void,
  snapshot: (tenantId, unit) => Effect.succeed({ tenantId, unit, current: 0 })
})
