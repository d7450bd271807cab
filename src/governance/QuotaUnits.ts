/**
 * Compiles and validates units and quotas for counting.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import type { Options, ResourceQuota, ResourceUnit, UnitKind } from "./ResourceQuotas.js"

const NANO = 1_000_000_000
const MOST = Number.MAX_SAFE_INTEGER
/** Longer than any month, so that all use of a month remains until its end. */
const MONTH_MS = Duration.toMillis(Duration.days(32))
const NAME_PATTERN = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * Converts to stored amounts: whole numbers, billionths of a US dollar.
 *
 * @since 0.1.0
 * @category accessors
 */
export const toStored = (kind: UnitKind, amount: number): number => {
  if (!(amount > 0)) return 0
  return Math.min(kind === "cost" ? Math.round(amount * NANO) : Math.ceil(amount), MOST)
}

/**
 * Converts to amounts shown to tenants.
 *
 * @since 0.1.0
 * @category accessors
 */
export const toShown = (kind: UnitKind, amount: number): number => (kind === "cost" ? amount / NANO : amount)

/**
 * Limits of a quota; `most` and `soft` are stored amounts.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limit {
  readonly limit: number
  readonly most: number
  readonly soft: number
}

/**
 * A unit with the quotas of its tenants.
 *
 * @since 0.1.0
 * @category models
 */
export interface Unit {
  readonly name: string
  readonly kind: UnitKind
  readonly windowMs: number
  readonly isMonthly: boolean
  readonly limits: Map<string, Limit>
}

/**
 * A configured unit with its quotas by tenant.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfiguredUnit extends ResourceUnit {
  readonly quotas: { readonly [tenantId: string]: Omit<ResourceQuota, "tenantId" | "unit"> }
}

/**
 * Separates configured units from their quotas.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromConfig = (units: ReadonlyArray<ConfiguredUnit>): Options => ({
  units,
  quotas: units.flatMap(({ name, quotas }) =>
    Object.entries(quotas).map(([tenantId, quota]) => ({ tenantId, unit: name, ...quota }))
  )
})

/** Names of units and quotas in issues. */
interface Places {
  readonly unit: (index: number) => string
  readonly quota: (index: number) => string
}

const places: Places = { unit: (index) => `units[${index}]`, quota: (index) => `quotas[${index}]` }

/**
 * Returns all issues of units and quotas.
 *
 * @since 0.1.0
 * @category accessors
 */
export const issuesOf = ({ quotas, units }: Options, called: Places = places): ReadonlyArray<string> => {
  const issues: Array<string> = []
  const kinds = new Map<string, UnitKind>()
  units.forEach(({ kind, name, window, windowKind }, index) => {
    const at = called.unit(index)
    if (!NAME_PATTERN.test(name)) issues.push(`${at}.name: 1 to 64 letters, digits, _, . or -`)
    else if (kinds.has(name)) issues.push(`${at}.name: ${name} is declared twice`)
    kinds.set(name, kind)
    if (windowKind === "calendar-month") {
      if (window !== undefined) issues.push(`${at}.window: a calendar month has its own`)
    } else {
      const length = window === undefined ? undefined : Option.getOrUndefined(Duration.decodeUnknown(window))
      if (length === undefined || !(Duration.toMillis(length) >= 1 && Duration.toMillis(length) <= MOST))
        issues.push(`${at}.window: a sliding window needs a length, 1 ms or more`)
    }
  })
  const known = new Set<string>()
  quotas.forEach(({ limit, softThresholdPct, tenantId, unit }, index) => {
    const at = called.quota(index)
    if (!kinds.has(unit)) issues.push(`${at}.unit: no such unit`)
    if (tenantId === "") issues.push(`${at}.tenantId: empty`)
    const key = `${unit}:${tenantId}`
    if (known.has(key)) issues.push(`${at}: the tenant has a quota of ${unit} already`)
    known.add(key)
    const most = kinds.get(unit) === "cost" ? Math.floor(MOST / NANO) : MOST
    if (!(limit >= 0 && limit <= most)) issues.push(`${at}.limit: a number from 0 to ${most}`)
    if (softThresholdPct !== undefined && !(softThresholdPct > 0 && softThresholdPct <= 1)) {
      issues.push(`${at}.softThresholdPct: above 0, at most 1`)
    }
  })
  return issues
}

/**
 * Returns all issues of configured units.
 *
 * @since 0.1.0
 * @category accessors
 */
export const issuesOfConfig = (units: ReadonlyArray<ConfiguredUnit>): ReadonlyArray<string> => {
  const called = units.flatMap(({ quotas }, index) => Object.keys(quotas).map((tenant) => `${index}.quotas.${tenant}`))
  return issuesOf(fromConfig(units), { unit: String, quota: (index) => called[index] as string })
}

/**
 * Indexes valid units by name.
 *
 * @since 0.1.0
 * @category accessors
 */
export const unitsOf = ({ quotas, units }: Options): ReadonlyMap<string, Unit> =>
  new Map(
    units.map(({ kind, name, window, windowKind }) => {
      const limits = quotas
        .filter(({ unit }) => unit === name)
        .map(({ limit, softThresholdPct, tenantId }): [string, Limit] => [
          tenantId,
          {
            limit,
            most: kind === "cost" ? Math.round(limit * NANO) : Math.floor(limit),
            soft: softThresholdPct === undefined ? Number.POSITIVE_INFINITY : toStored(kind, limit * softThresholdPct)
          }
        ])
      const isMonthly = windowKind === "calendar-month"
      const windowMs = isMonthly ? MONTH_MS : Math.ceil(Duration.toMillis(window ?? 0))
      return [name, { name, kind, windowMs, isMonthly, limits: new Map(limits) }]
    })
  )

const monthOf = (now: number): DateTime.Utc => DateTime.startOf(DateTime.unsafeMake(now), "month")

/** A unit with a new kind or window starts from zero: the store has one window per key. */
const prefixOf = ({ isMonthly, kind, name, windowMs }: Unit): string =>
  `quota:${name}:${kind}:${isMonthly ? "month" : windowMs}:`

/**
 * Key under which the store counts a tenant's use.
 *
 * @since 0.1.0
 * @category accessors
 */
export const keyOf = (unit: Unit, tenantId: string, now: number): string =>
  unit.isMonthly
    ? `${prefixOf(unit)}${DateTime.formatIsoDateUtc(monthOf(now)).slice(0, 7)}:${tenantId}`
    : `${prefixOf(unit)}${tenantId}`

const quotaKey = /^quota:[^:]+:[^:]+:(?:month:\d{4}-\d{2}|[^:]+):(.*)$/s

/**
 * Tenant of a key; `undefined` for other keys.
 *
 * @since 0.1.0
 * @category accessors
 */
export const tenantOf = (key: string): string | undefined => quotaKey.exec(key)?.[1]

/**
 * True if the key belongs to this unit as counted now.
 *
 * @since 0.1.0
 * @category guards
 */
export const isKeyOf = (unit: Unit, key: string): boolean => key.startsWith(prefixOf(unit))

/**
 * Time by which all current use has left the window.
 *
 * @since 0.1.0
 * @category accessors
 */
export const resetsAt = (unit: Unit, now: number): number =>
  unit.isMonthly ? DateTime.toEpochMillis(DateTime.add(monthOf(now), { months: 1 })) : now + unit.windowMs

/**
 * The tenant's own quota, else the one for all tenants.
 *
 * @since 0.1.0
 * @category accessors
 */
export const limitOf = (unit: Unit, tenantId: string): Limit | undefined =>
  unit.limits.get(tenantId) ?? unit.limits.get("*")
