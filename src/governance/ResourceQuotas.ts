/**
 * How much of a resource a tenant may use in a window of time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type {
  GovernanceConfigurationError,
  GovernancePersistenceError,
  ResourceExhaustedError
} from "./GovernanceError.js"

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
 * How a tenant stands with one unit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Snapshot {
  readonly tenantId: string
  readonly unit: string
  /** Used within the window. */
  readonly current: number
  /** Absent when no quota limits the tenant. */
  readonly limit?: number | undefined
  /**
   * When the window is empty if nothing more is used, in milliseconds since the epoch; absent where nothing is used or the unit never
   * starts afresh.
   */
  readonly windowResetsAt?: number | undefined
}

/**
 * `usage` is how the tenant stands with each unit asked for that a quota limits: after what was used, or, when it is exhausted, as it was
 * left. `crossed` are the units whose soft threshold this very use crossed.
 *
 * @since 0.1.0
 * @category models
 */
export type QuotaDecision =
  | { readonly status: "approved"; readonly usage: ReadonlyArray<Snapshot> }
  | {
      readonly status: "soft_threshold_breach"
      readonly usage: ReadonlyArray<Snapshot>
      readonly crossed: ReadonlyArray<string>
    }
  | {
      readonly status: "exhausted"
      readonly usage: ReadonlyArray<Snapshot>
      /** Names the first unit that is not enough. */
      readonly error: ResourceExhaustedError
    }

/**
 * @since 0.1.0
 * @category models
 */
export interface Consume {
  readonly tenantId: string
  /** 0 or more. */
  readonly amount: number
  /** Who asks on behalf of the tenant. */
  readonly actorId?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ConsumeKinds {
  readonly tenantId: string
  readonly actorId?: string | undefined
  /** 0 or more for each kind; of a kind that is absent nothing is used. */
  readonly amounts: { readonly [Kind in UnitKind]?: number | undefined }
  /** A name under which this use can be corrected: unique among the uses of a tenant. Without it, it stands. */
  readonly id?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface CorrectKinds {
  readonly tenantId: string
  readonly id: string
  /** What was really used. Kinds that are absent stay as they are. */
  readonly amounts: { readonly [Kind in UnitKind]?: number | undefined }
}

/**
 * Of uses that happen at once none passes a limit together with another: a use is counted whole, in every unit it needs, or not at all.
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
   * Replaces the amounts of an earlier use by what was really used, at the time of that use; 0 gives them back. Never refuses: what was
   * used counts even past the limit. A use that is unknown or whose window has passed changes nothing.
   */
  readonly correctKinds: (request: CorrectKinds) => Effect.Effect<void, GovernancePersistenceError>
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

const approved = Effect.succeed<QuotaDecision>({ status: "approved", usage: [] })

/**
 * Nothing is limited and nothing is counted; any name is a unit.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ResourceQuotas> = Layer.succeed(ResourceQuotas, {
  enabled: false,
  consume: () => approved,
  consumeKind: () => approved,
  consumeKinds: () => approved,
  correctKinds: () => Effect.void,
  snapshot: (tenantId, unit) => Effect.succeed({ tenantId, unit, current: 0 })
})
