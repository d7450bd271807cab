/**
 * How much of a resource a tenant may use in a window of time.
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
