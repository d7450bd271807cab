/**
 * The resource quota port: limits a tenant's use of a resource in a window of time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type {
  GovernanceConfigurationError,
  GovernancePersistenceError,
  ResourceExhaustedError
} from "./store/GovernanceError.js"

const NAME = "effect-lexigram/governance/ResourceQuotas"

/**
 * Measure of a unit. `cost` is in US dollars; the application defines `custom`.
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
 * A counted unit. Every unit of a kind counts all use of that kind, each in its own window.
 *
 * @since 0.1.0
 * @category models
 */
export interface ResourceUnit {
  /** 1 to 64 letters, digits, `_`, `.` or `-`; unique. */
  readonly name: string
  readonly kind: UnitKind
  /**
   * `sliding` (default): use within the last `window`. `calendar-month`: use since the first of the month, in UTC;
   * without `window`.
   */
  readonly windowKind?: "sliding" | "calendar-month" | undefined
  readonly window?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ResourceQuota {
  /** `*`: every tenant without its own quota for the unit, each separately. */
  readonly tenantId: string
  readonly unit: string
  /** In the unit's measure; 0 allows nothing. */
  readonly limit: number
  /**
   * Fraction of the limit (for example 0.8) from which a use is reported as `soft_threshold_breach`, once, when
   * crossed. Default: never.
   */
  readonly softThresholdPct?: number | undefined
}

/**
 * A tenant's use of one unit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot {
  readonly tenantId: string
  readonly unit: string
  /** Used within the window; 0 if no quota limits the tenant, since nothing is counted then. */
  readonly current: number
  /** Absent if no quota limits the tenant. */
  readonly limit?: number | undefined
  /**
   * Time by which all current use has left the window, in milliseconds since the epoch: the end of a calendar month;
   * for a sliding window the latest possible time, within the precision of the store. Absent if nothing is used.
   */
  readonly windowResetsAt?: number | undefined
}

/**
 * Amounts used per unit: plain data for correcting the use.
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
 * `usage` is the tenant's state of each requested unit with a quota: after the use, or, if a unit is exhausted, the
 * unchanged state of that unit. `crossed` are the units whose soft threshold this use crossed.
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
      /** Names the first exhausted unit. */
      readonly error: ResourceExhaustedError
      /** Time until there is room if nothing else is used; absent if the amount alone exceeds the limit. */
      readonly retryAfterMs?: number | undefined
    }

/**
 * @since 0.1.0
 * @category models
 */
export interface Consume {
  readonly tenantId: string
  /**
   * US dollars are counted in billionths, everything else in whole numbers, rounded up. Negative and non-numeric values
   * count as 0.
   */
  readonly amount: number
  /** Who asks on behalf of the tenant. */
  readonly actorId?: string | undefined
}

/**
 * Amount per kind. Absent kinds are not used.
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
 * Concurrent uses never exceed a limit together. A use counts in every unit it needs, or in none: amounts taken from
 * earlier units are given back if a later one is exhausted. A concurrent use may be refused because of an amount about
 * to be given back.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** `false`: nothing is limited, and the service need not be called. Absent means that something is. */
  readonly enabled?: boolean | undefined
  /** Uses an amount of one unit. Fails with `GovernanceConfigurationError` for an undeclared unit. */
  readonly consume: (
    request: Consume & { readonly unit: string }
  ) => Effect.Effect<QuotaDecision, GovernancePersistenceError | GovernanceConfigurationError>
  /** Uses an amount of every unit of a kind. Approved if there is none. */
  readonly consumeKind: (kind: UnitKind, request: Consume) => Effect.Effect<QuotaDecision, GovernancePersistenceError>
  /** Uses amounts of every unit of several kinds, all or nothing. */
  readonly consumeKinds: (request: ConsumeKinds) => Effect.Effect<QuotaDecision, GovernancePersistenceError>
  /**
   * Replaces used amounts by the actual ones, at the time of that use; 0 gives the amount back, absent kinds stay.
   * Never refuses: it counts even past the limit. Use that has left its window, and receipts of removed units, change
   * nothing. A receipt is corrected once.
   */
  readonly correct: (receipt: Receipt, amounts: Amounts) => Effect.Effect<void, GovernancePersistenceError>
  /** Uses nothing. Fails with `GovernanceConfigurationError` for an undeclared unit. */
  readonly snapshot: (
    tenantId: string,
    unit: string
  ) => Effect.Effect<Snapshot, GovernancePersistenceError | GovernanceConfigurationError>
}

/**
 * @example
 * ```ts
 * import { ResourceQuotas } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const mayExport = (tenantId: string) =>
 *   Effect.gen(function* () {
 *     const quotas = yield* ResourceQuotas.ResourceQuotas
 *     const decision = yield* quotas.consume({ tenantId, unit: "exports", amount: 1 })
 *     return decision.status !== "exhausted"
 *   })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class ResourceQuotas extends Context.Tag("effect-lexigram/governance/ResourceQuotas")<
  ResourceQuotas,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly units: ReadonlyArray<ResourceUnit>
  readonly quotas: ReadonlyArray<ResourceQuota>
}

const approved = (tenantId: string): Effect.Effect<QuotaDecision> =>
  Effect.succeed({ status: "approved", usage: [], receipt: { tenantId, entries: [] } })

/**
 * Limits and counts nothing; any unit name is accepted.
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
