/**
 * Counts resource quotas in a `RateLimitStore`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { errorInfo } from "../domain/ErrorInfo.js"
import {
  isKeyOf,
  issuesOf,
  keyOf,
  type Limit,
  limitOf,
  resetsAt,
  toShown,
  toStored,
  type Unit,
  unitsOf
} from "./QuotaUnits.js"
import * as ResourceQuotas from "./ResourceQuotas.js"
import {
  GovernanceConfigurationError,
  type GovernancePersistenceError,
  ResourceExhaustedError
} from "./store/GovernanceError.js"
import * as RateLimitStore from "./store/RateLimitStore.js"

const snapshotOf = (
  unit: Unit,
  tenantId: string,
  limit: Limit,
  current: number,
  now: number
): ResourceQuotas.Snapshot => ({
  tenantId,
  unit: unit.name,
  current: toShown(unit.kind, current),
  limit: limit.limit,
  ...(current > 0 ? { windowResetsAt: resetsAt(unit, now) } : {})
})

type Entry = ResourceQuotas.Receipt["entries"][number]

interface Want {
  readonly unit: Unit
  readonly amount: number
}

interface Tenant {
  readonly tenantId: string
  readonly actorId?: string | undefined
}

/** Units by name, and the store that counts them. */
interface Quotas {
  readonly store: RateLimitStore.Service
  readonly units: ReadonlyMap<string, Unit>
}

const unitNamed = ({ units }: Quotas, name: string): Effect.Effect<Unit, GovernanceConfigurationError> => {
  const unit = units.get(name)
  return unit === undefined
    ? Effect.fail(new GovernanceConfigurationError({ message: "The resource unit is not declared" }))
    : Effect.succeed(unit)
}

const adjust = ({ store }: Quotas, entry: Entry, unit: Unit, to: number) =>
  store.adjust({ key: entry.key, at: entry.at, windowMs: unit.windowMs, from: entry.amount, to })

const wantsOf = ({ units }: Quotas, amounts: ResourceQuotas.Amounts): ReadonlyArray<Want> =>
  Array.from(units.values()).flatMap((unit) => {
    const amount = amounts[unit.kind]
    return amount === undefined ? [] : [{ unit, amount: toStored(unit.kind, amount) }]
  })

/** Failures are logged: use that is not given back counts against the tenant, never in its favor. */
const giveBack = (quotas: Quotas, entries: ReadonlyArray<Entry>): Effect.Effect<void> =>
  Effect.forEach(
    entries,
    (entry) =>
      Effect.catchAll(adjust(quotas, entry, quotas.units.get(entry.unit) as Unit, 0), (error) => {
        const info = errorInfo(error)
        return Effect.logWarning(`A quota was not given back: ${info.message}`).pipe(
          Effect.annotateLogs({ module: "ResourceQuotas", unit: entry.unit, error: info.tag })
        )
      }),
    { discard: true }
  )

const exhausted = (
  { amount, unit }: Want,
  { actorId, tenantId }: Tenant,
  snapshot: ResourceQuotas.Snapshot,
  limit: Limit,
  retryAfterMs: number | undefined
): ResourceQuotas.QuotaDecision => ({
  status: "exhausted",
  usage: [snapshot],
  error: new ResourceExhaustedError({
    message: `The quota of ${unit.name} is exhausted: ${snapshot.current} of ${limit.limit} used, ${toShown(unit.kind, amount)} requested`,
    tenantId,
    unitName: unit.name,
    limit: limit.limit,
    current: snapshot.current,
    actorId
  }),
  ...(retryAfterMs === undefined ? {} : { retryAfterMs })
})

/** Takes from each unit in turn. If a unit is exhausted or the store fails, gives back the other amounts. */
const consume = (
  quotas: Quotas,
  wants: ReadonlyArray<Want>,
  tenant: Tenant
): Effect.Effect<ResourceQuotas.QuotaDecision, GovernancePersistenceError> =>
  Effect.gen(function* () {
    const { tenantId } = tenant
    const now = yield* Clock.currentTimeMillis
    const entries: Array<Entry> = []
    const usage: Array<ResourceQuotas.Snapshot> = []
    const crossed: Array<string> = []
    for (const want of wants) {
      const { amount, unit } = want
      const limit = limitOf(unit, tenantId)
      if (limit === undefined) continue
      const key = keyOf(unit, tenantId, now)
      const taken = yield* Effect.tapError(
        quotas.store.take({ key, amount, windowMs: unit.windowMs, limit: limit.most }),
        () => giveBack(quotas, entries)
      )
      const snapshot = snapshotOf(unit, tenantId, limit, taken.current, now)
      if (!taken.allowed) {
        yield* giveBack(quotas, entries)
        const retryAfterMs =
          unit.isMonthly && taken.retryAfterMs !== undefined ? resetsAt(unit, now) - now : taken.retryAfterMs
        return exhausted(want, tenant, snapshot, limit, retryAfterMs)
      }
      entries.push({ unit: unit.name, key, at: taken.at, amount })
      usage.push(snapshot)
      if (taken.current - amount < limit.soft && taken.current >= limit.soft) crossed.push(unit.name)
    }
    const receipt: ResourceQuotas.Receipt = { tenantId, entries }
    const decision: ResourceQuotas.QuotaDecision =
      crossed.length === 0
        ? { status: "approved", usage, receipt }
        : { status: "soft_threshold_breach", usage, receipt, crossed }
    return decision
  }).pipe(Effect.uninterruptible)

const correct = (
  quotas: Quotas,
  receipt: ResourceQuotas.Receipt,
  amounts: ResourceQuotas.Amounts
): Effect.Effect<void, GovernancePersistenceError> =>
  Effect.forEach(
    receipt.entries,
    (entry) => {
      const unit = quotas.units.get(entry.unit)
      const amount = unit === undefined ? undefined : amounts[unit.kind]
      return unit === undefined || amount === undefined || !isKeyOf(unit, entry.key)
        ? Effect.void
        : adjust(quotas, entry, unit, toStored(unit.kind, amount))
    },
    { discard: true }
  )

const snapshot = (
  { store }: Quotas,
  tenantId: string,
  unit: Unit
): Effect.Effect<ResourceQuotas.Snapshot, GovernancePersistenceError> => {
  const limit = limitOf(unit, tenantId)
  if (limit === undefined) return Effect.succeed({ tenantId, unit: unit.name, current: 0 })
  return Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.map(store.peek({ key: keyOf(unit, tenantId, now), windowMs: unit.windowMs }), (current) =>
      snapshotOf(unit, tenantId, limit, current, now)
    )
  )
}

const makeService = (store: RateLimitStore.Service, units: ReadonlyMap<string, Unit>): ResourceQuotas.Service => {
  const quotas: Quotas = { store, units }
  return {
    enabled: Array.from(units.values()).some(({ limits }) => limits.size > 0),
    consume: (request) =>
      Effect.flatMap(unitNamed(quotas, request.unit), (unit) =>
        consume(quotas, [{ unit, amount: toStored(unit.kind, request.amount) }], request)
      ),
    consumeKind: (kind, request) =>
      Effect.suspend(() => consume(quotas, wantsOf(quotas, { [kind]: request.amount }), request)),
    consumeKinds: (request) => Effect.suspend(() => consume(quotas, wantsOf(quotas, request.amounts), request)),
    correct: (receipt, amounts) => correct(quotas, receipt, amounts),
    snapshot: (tenantId, name) => Effect.flatMap(unitNamed(quotas, name), (unit) => snapshot(quotas, tenantId, unit))
  }
}

/**
 * Makes quotas over a `RateLimitStore`, which counts the use. Fails with all issues of the units and quotas.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: ResourceQuotas.Options
): Effect.Effect<ResourceQuotas.Service, GovernanceConfigurationError, RateLimitStore.RateLimitStore> =>
  Effect.flatMap(RateLimitStore.RateLimitStore, (store) => {
    const issues = issuesOf(options)
    return issues.length === 0
      ? Effect.succeed(makeService(store, unitsOf(options)))
      : Effect.fail(new GovernanceConfigurationError({ message: `The quotas are invalid: ${issues.join("; ")}` }))
  })

/**
 * `make` as a layer.
 *
 * @example
 * ```ts
 * import { DefaultResourceQuotas, RateLimitStore } from "effect-lexigram/governance"
 * import * as Layer from "effect/Layer"
 *
 * const quotas = DefaultResourceQuotas.layer({
 *   units: [{ name: "exports", kind: "custom", window: "1 hour" }],
 *   quotas: [{ tenantId: "*", unit: "exports", limit: 10, softThresholdPct: 0.8 }]
 * }).pipe(Layer.provide(RateLimitStore.layerMemory()))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: ResourceQuotas.Options
): Layer.Layer<ResourceQuotas.ResourceQuotas, GovernanceConfigurationError, RateLimitStore.RateLimitStore> =>
  Layer.effect(ResourceQuotas.ResourceQuotas, make(options))
