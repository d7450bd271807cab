/**
 * Sets money and tokens aside for model calls, and books what they used.
 *
 * @internal
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as IdGenerator from "../domain/IdGenerator.js"
import type { RunId, UserId } from "../domain/Ids.js"
import * as Usage from "../domain/Usage.js"
import type { Budget, CheckBudget, Reservation, ReserveRequest, Settlement, TrackCost } from "./Governance.js"
import {
  costOf,
  counted,
  exceeded,
  limitsOf,
  months,
  mostOf,
  names,
  runAccount,
  tokensOf
} from "./GovernanceAmounts.js"
import * as GovernanceConfig from "./GovernanceConfig.js"
import {
  type About,
  aboutOf,
  estimatorOf,
  orElse,
  type Parts,
  quotaCrossed,
  record,
  refused,
  softLimit,
  subjectOf,
  tenantOf,
  tolerate,
  warn,
  written
} from "./GovernanceParts.js"
import type * as ResourceQuotas from "./ResourceQuotas.js"
import * as CostLedger from "./store/CostLedger.js"
import {
  BudgetExceededError,
  type GovernanceError,
  type GovernancePersistenceError,
  RateLimitExceededError
} from "./store/GovernanceError.js"
import * as GovernanceMetrics from "./store/GovernanceMetrics.js"
import type * as HoldLeases from "./store/HoldLeases.js"

/** The id of reservations that were made while governance was off. */
const UNTRACKED = "untracked"

const windowMs = Duration.toMillis(GovernanceConfig.WINDOW)

/**
 * @since 0.1.0
 * @category models
 */
export interface Budgets {
  readonly reserve: (request: ReserveRequest) => Effect.Effect<Reservation, GovernanceError>
  readonly settle: (
    reservation: Reservation,
    usage: Usage.Usage,
    settlement?: Settlement | undefined
  ) => Effect.Effect<void, GovernancePersistenceError>
  readonly refund: (reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>
  readonly trackCost: (options: TrackCost) => Effect.Effect<void, GovernancePersistenceError>
  readonly checkBudget: (options: CheckBudget) => Effect.Effect<boolean, GovernancePersistenceError>
  readonly getBudget: (userId?: UserId | undefined) => Effect.Effect<Budget, GovernancePersistenceError>
  readonly release: (rootRunId: RunId) => Effect.Effect<void>
  /** US dollars that are left this month, absent when they are not limited. Fails when nothing is left. */
  readonly remaining: (
    userId: UserId | undefined
  ) => Effect.Effect<number | undefined, BudgetExceededError | GovernancePersistenceError>
}

const nothing: CostLedger.Amount = { nanoUsd: 0, tokens: 0 }

/** Names of models that were warned about; past so many they are forgotten and warned about again. */
const keptWarnings = 1000

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (parts: Parts, leases: HoldLeases.HoldLeases): Budgets => {
  const { audit, ledger, policies, rates, rules } = parts
  const monthAccount = months()
  const warned = new Set<string>()

  /** What cannot be priced is limited by its tokens alone, or not at all, when money is limited. */
  const unpriced = (request: ReserveRequest): Effect.Effect<void, BudgetExceededError> => {
    const { config, units } = rules()
    const budget = config.enforceBudget ? (config.maxRequestCost ?? config.monthlyBudget) : undefined
    const limit = budget ?? GovernanceConfig.costQuotaOf(units, tenantOf(request))
    if (limit === undefined) return Effect.void
    const model = `${request.provider ?? "?"}/${request.model ?? "?"}`.slice(0, 256)
    if (config.unknownPrice === "deny") {
      return Effect.fail(
        new BudgetExceededError({
          message: `The price of ${model} is not known, and money is limited`,
          hint: "Give CostEstimator its price (0 where it costs nothing), or set unknownPrice to allow",
          budgetType: "unknown_price",
          limit,
          used: 0
        })
      )
    }
    if (warned.has(model)) return Effect.void
    if (warned.size >= keptWarnings) warned.clear()
    warned.add(model)
    return warn("a model without a price is used where money is limited: only its tokens count", { model })
  }

  const takeTokens = (about: About, tokens: number) =>
    Effect.suspend(() => {
      const { tpmLimit } = rules().config
      if (tpmLimit === undefined) return Effect.succeed(undefined)
      const take = { key: `tpm:${subjectOf(about.userId)}`, amount: tokens, limit: tpmLimit, windowMs }
      return Effect.flatMap(orElse(parts, "reserve", rates.take(take), undefined), (taken) => {
        if (taken === undefined) return Effect.succeed(undefined)
        if (taken.allowed) return Effect.succeed(taken.at)
        return Effect.fail(
          new RateLimitExceededError({
            message: `${tokens} tokens are too many: ${taken.current} of ${tpmLimit} are used within 60 seconds`,
            hint: taken.retryAfterMs === undefined ? "Ask for a shorter answer, or raise tpmLimit" : "Try again later",
            limit: tpmLimit,
            current: taken.current,
            limitType: "tpm",
            retryAfterMs: taken.retryAfterMs
          })
        )
      })
    })

  const adjustTokens = (reservation: Reservation, tokens: number): Effect.Effect<void> =>
    reservation.takenAt === undefined
      ? Effect.void
      : tolerate(
          "correcting the tokens of the minute",
          rates.adjust({
            key: `tpm:${subjectOf(reservation.userId)}`,
            at: reservation.takenAt,
            windowMs,
            from: amountOf(reservation).tokens,
            to: tokens
          })
        )

  const amountOf = ({ cost, inputTokens, maxOutputTokens }: Reservation): CostLedger.Amount =>
    CostLedger.amount({ usd: cost, tokens: counted(inputTokens) + counted(maxOutputTokens) })

  const correctQuotas = (reservation: Reservation, amounts: ResourceQuotas.Amounts): Effect.Effect<void> =>
    reservation.receipt === undefined
      ? Effect.void
      : tolerate("correcting quotas", rules().quotas.correct(reservation.receipt, amounts))

  const consumeQuotas = Effect.fnUntraced(function* (made: Reservation, amount: CostLedger.Amount) {
    const { quotas } = rules()
    if (quotas.enabled === false) return made
    const consumed = quotas.consumeKinds({
      tenantId: tenantOf(made),
      amounts: { model_calls: 1, tokens: amount.tokens, ...(made.cost === undefined ? {} : { cost: made.cost }) },
      ...(made.userId === undefined ? {} : { actorId: made.userId })
    })
    const decision = yield* orElse(parts, "reserve", consumed, undefined)
    if (decision === undefined) return made
    if (decision.status === "exhausted") return yield* Effect.fail(decision.error)
    if (decision.status === "soft_threshold_breach") yield* quotaCrossed(parts, decision, made)
    return { receipt: decision.receipt, ...made }
  })

  const hold = Effect.fnUntraced(function* (reservation: Reservation, amount: CostLedger.Amount, now: number) {
    const { config } = rules()
    const limits = config.enforceBudget ? limitsOf(config) : undefined
    const run = runAccount(reservation.rootRunId ?? reservation.runId)
    const month = monthAccount(reservation.userId, now)
    const held = yield* orElse(
      parts,
      "reserve",
      ledger.hold({
        id: reservation.id,
        amount,
        accounts: [
          { account: run, limit: limits?.run },
          { account: month, limit: limits?.month }
        ]
      }),
      undefined
    )
    if (held === undefined) return
    if (held._tag === "Refused") {
      return yield* Effect.fail(exceeded(held.account === run ? "run" : "month", held.unit, held.limit, held.used))
    }
    leases.begin(reservation.id, [run, month], now)
    GovernanceMetrics.reserved(1)
    yield* written(parts)
  })

  /** All or nothing: what was taken before something refuses or fails is given back. */
  const setAside = (request: ReserveRequest, cost: number | undefined) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const id = yield* IdGenerator.generate
      // The rest is spread last throughout: first, it costs thirty times as much.
      const made: Reservation = cost === undefined ? { id, at: now, ...request } : { id, at: now, cost, ...request }
      const amount = amountOf(made)
      const consumed = yield* consumeQuotas(made, amount)
      const rest = Effect.gen(function* () {
        const takenAt = yield* takeTokens(consumed, amount.tokens)
        const reservation: Reservation = takenAt === undefined ? consumed : { takenAt, ...consumed }
        yield* Effect.onError(hold(reservation, amount, now), () => adjustTokens(reservation, 0))
        return reservation
      })
      return yield* Effect.onError(rest, () => correctQuotas(consumed, { model_calls: 0, tokens: 0, cost: 0 }))
    })

  const tryReserve = Effect.fnUntraced(function* (request: ReserveRequest) {
    const { access } = rules()
    const denied = access.isLimited ? access.check(request) : undefined
    if (denied !== undefined) return yield* Effect.fail(denied)
    const estimator = yield* estimatorOf(parts)
    const cost = mostOf(estimator, request)
    if (cost === undefined) yield* unpriced(request)
    if (policies.enabled !== false) {
      const decision = yield* policies.evaluate({
        scopes: ["model", "cost"],
        ...aboutOf(request),
        tenantId: tenantOf(request),
        ...(cost === undefined ? {} : { cost })
      })
      if (!decision.allowed) return yield* Effect.fail(decision.error)
    }
    return yield* Effect.uninterruptible(setAside(request, cost))
  })

  const reserve = (request: ReserveRequest): Effect.Effect<Reservation, GovernanceError> =>
    Effect.suspend(() =>
      rules().config.enabled
        ? Effect.tapError(tryReserve(request), (error: GovernanceError) =>
            error._tag === "GovernancePersistenceError" ? Effect.void : refused(parts, error, request)
          )
        : Effect.succeed({ id: UNTRACKED, ...request })
    )

  /**
   * Warns when this very booking took a month past its soft limit: bookings are one after another, so one of them does.
   */
  const crossings = (bookings: ReadonlyArray<CostLedger.Booking>, about: About): Effect.Effect<void> => {
    const { config } = rules()
    const month = bookings[bookings.length - 1]
    if (config.softLimitPct === undefined || month === undefined) return Effect.void
    const limits = limitsOf(config).month
    let warnings: Effect.Effect<void> = Effect.void
    for (const unit of ["nanoUsd", "tokens"] as const) {
      const limit = limits[unit]
      if (limit === undefined) continue
      const used = month.balance.spent[unit]
      const soft = limit * config.softLimitPct
      if (used < soft || used - month.booked[unit] >= soft) continue
      const shown = unit === "nanoUsd" ? CostLedger.toUsd : (tokens: number) => tokens
      warnings = Effect.zipRight(
        warnings,
        softLimit(
          parts,
          { budget: names.month[unit], account: month.account, limit: shown(limit), used: shown(used) },
          about
        )
      )
    }
    return warnings
  }

  const booked = (
    bookings: ReadonlyArray<CostLedger.Booking>,
    about: About,
    call: {
      readonly amount: CostLedger.Amount
      readonly cost: number | undefined
      readonly latencyMs?: number | undefined
      readonly estimatedTokens?: number | undefined
    }
  ): Effect.Effect<void> => {
    GovernanceMetrics.booked(CostLedger.toUsd(call.amount.nanoUsd), call.amount.tokens)
    const audited = record(parts, () => ({
      eventType: "llm_call",
      ...aboutOf(about),
      tokens: call.amount.tokens,
      ...(call.cost === undefined ? {} : { cost: call.cost }),
      ...(call.latencyMs === undefined ? {} : { latencyMs: call.latencyMs }),
      ...(call.estimatedTokens === undefined ? {} : { metadata: { estimatedTokens: call.estimatedTokens } })
    }))
    return Effect.zipRight(Effect.zipRight(written(parts), crossings(bookings, about)), audited)
  }

  const settle: Budgets["settle"] = (reservation, usage, settlement) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        if (reservation.id === UNTRACKED) return
        const estimator = yield* estimatorOf(parts)
        const { agent, runId, tenantId, userId } = reservation
        const answered: About = {
          runId,
          agent,
          userId,
          tenantId,
          provider: settlement?.provider ?? reservation.provider,
          model: settlement?.model ?? reservation.model
        }
        const cost = costOf(estimator, answered, reservation, usage, settlement)
        const amount = CostLedger.amount({ usd: cost, tokens: tokensOf(reservation, usage) })
        const ended = leases.end(reservation.id)
        // A hold that could not be renewed in time, or whose run ended first, is gone; what it was for was used all the
        // same.
        const settled = Effect.flatMap(ledger.settle(reservation.id, amount), (bookings) =>
          bookings === undefined && ended !== undefined ? ledger.book(ended.accounts, amount) : Effect.succeed(bookings)
        )
        const bookings = yield* orElse(parts, "settle", settled, undefined)
        if (bookings === undefined) return
        if (ended?.isReleased !== true) GovernanceMetrics.reserved(-1)
        yield* adjustTokens(reservation, amount.tokens)
        yield* correctQuotas(reservation, { tokens: amount.tokens, ...(cost === undefined ? {} : { cost }) })
        const now = audit.enabled === false ? 0 : yield* Clock.currentTimeMillis
        const latencyMs = reservation.at === undefined ? undefined : Math.max(0, now - reservation.at)
        const { estimatedTokens } = usage
        yield* booked(bookings, answered, { amount, cost, latencyMs, estimatedTokens })
      })
    )

  const refund: Budgets["refund"] = (reservation) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        if (reservation.id === UNTRACKED) return
        const isReleased = leases.end(reservation.id)?.isReleased === true
        const isOpen = yield* orElse(parts, "refund", ledger.release(reservation.id), false)
        if (!isOpen && !isReleased) return
        if (isOpen) GovernanceMetrics.reserved(-1)
        yield* adjustTokens(reservation, 0)
        yield* correctQuotas(reservation, { model_calls: 0, tokens: 0, cost: 0 })
        yield* written(parts)
      })
    )

  const trackCost: Budgets["trackCost"] = (tracked) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        if (!rules().config.enabled) return
        const amount = CostLedger.amount({ usd: tracked.cost, tokens: Usage.total(tracked.usage) })
        const account = monthAccount(tracked.userId, yield* Clock.currentTimeMillis)
        const bookings = yield* orElse(parts, "track", ledger.book([account], amount), undefined)
        if (bookings === undefined) return
        yield* booked(bookings, { userId: tracked.userId, model: tracked.model }, { amount, cost: tracked.cost })
      })
    )

  const month = (userId: UserId | undefined) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => ledger.read(monthAccount(userId, now)))

  const getBudget: Budgets["getBudget"] = (userId) =>
    Effect.map(month(userId), ({ reserved, spent }) => {
      const limit = limitsOf(rules().config).month.nanoUsd
      const budget = { spent: CostLedger.toUsd(spent.nanoUsd), reserved: CostLedger.toUsd(reserved.nanoUsd) }
      if (limit === undefined) return budget
      const left = Math.max(0, limit - spent.nanoUsd - reserved.nanoUsd)
      return { ...budget, limit: CostLedger.toUsd(limit), remaining: CostLedger.toUsd(left) }
    })

  const used = ({ reserved, spent }: CostLedger.Balance, unit: keyof CostLedger.Amount) => spent[unit] + reserved[unit]

  const checkBudget: Budgets["checkBudget"] = ({ cost, userId }) =>
    Effect.suspend(() => {
      const { config } = rules()
      if (!config.enabled || !config.enforceBudget) return Effect.succeed(true)
      const asked = CostLedger.fromUsd(cost)
      const limits = limitsOf(config)
      if (limits.run.nanoUsd !== undefined && asked > limits.run.nanoUsd) return Effect.succeed(false)
      const limit = limits.month.nanoUsd
      if (limit === undefined) return Effect.succeed(true)
      return orElse(
        parts,
        "check",
        Effect.map(month(userId), (balance) => used(balance, "nanoUsd") + asked <= limit),
        true
      )
    })

  const remaining: Budgets["remaining"] = Effect.fnUntraced(function* (userId) {
    const { config } = rules()
    const limits = limitsOf(config).month
    if (limits.nanoUsd === undefined && limits.tokens === undefined) return undefined
    const balance = (yield* orElse(parts, "check", month(userId), undefined)) ?? { spent: nothing, reserved: nothing }
    for (const unit of ["nanoUsd", "tokens"] as const) {
      const limit = limits[unit]
      if (!config.enforceBudget || limit === undefined || used(balance, unit) < limit) continue
      return yield* Effect.fail(exceeded("month", unit, limit, used(balance, unit)))
    }
    return limits.nanoUsd === undefined
      ? undefined
      : CostLedger.toUsd(Math.max(0, limits.nanoUsd - used(balance, "nanoUsd")))
  })

  const release: Budgets["release"] = (rootRunId) =>
    Effect.suspend(() => {
      const account = runAccount(rootRunId)
      leases.endAll(account)
      return tolerate(
        "releasing a run",
        Effect.map(ledger.close(account), (open) => GovernanceMetrics.reserved(-open))
      )
    })

  return { reserve, settle, refund, trackCost, checkBudget, getBudget, release, remaining }
}
