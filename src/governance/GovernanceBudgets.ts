/**
 * Monthly and run budgets over the cost ledger.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { RunId, UserId } from "../domain/Ids.js"
import type * as Usage from "../domain/Usage.js"
import type { Budget, CheckBudget, Reservation, ReserveRequest, Settlement, TrackCost } from "./Governance.js"
import { exceeded, limitsOf, months, runAccount } from "./GovernanceAmounts.js"
import * as GovernanceBookings from "./GovernanceBookings.js"
import { orElse, type Parts, tolerate } from "./GovernanceParts.js"
import * as GovernanceReservations from "./GovernanceReservations.js"
import * as GovernanceTakeover from "./GovernanceTakeover.js"
import * as CostLedger from "./store/CostLedger.js"
import type { BudgetExceededError, GovernanceError, GovernancePersistenceError } from "./store/GovernanceError.js"
import * as GovernanceMetrics from "./store/GovernanceMetrics.js"
import type * as HoldLeases from "./store/HoldLeases.js"

type Books = GovernanceReservations.Books

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
  readonly adopt: (reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>
  readonly refund: (reservation: Reservation) => Effect.Effect<void, GovernancePersistenceError>
  readonly trackCost: (options: TrackCost) => Effect.Effect<void, GovernancePersistenceError>
  readonly checkBudget: (options: CheckBudget) => Effect.Effect<boolean, GovernancePersistenceError>
  readonly getBudget: (userId?: UserId | undefined) => Effect.Effect<Budget, GovernancePersistenceError>
  readonly release: (rootRunId: RunId) => Effect.Effect<void>
  /** US dollars left this month; absent if not limited. Fails if nothing is left. */
  readonly remaining: (
    userId: UserId | undefined
  ) => Effect.Effect<number | undefined, BudgetExceededError | GovernancePersistenceError>
}

const nothing: CostLedger.Amount = { nanoUsd: 0, tokens: 0 }

const readMonth = ({ monthAccount, parts }: Books, userId: UserId | undefined) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => parts.ledger.read(monthAccount(userId, now)))

const getBudget = (books: Books, userId: UserId | undefined): ReturnType<Budgets["getBudget"]> =>
  Effect.map(readMonth(books, userId), ({ reserved, spent }) => {
    const limit = limitsOf(books.parts.rules().config).month.nanoUsd
    const budget = { spent: CostLedger.toUsd(spent.nanoUsd), reserved: CostLedger.toUsd(reserved.nanoUsd) }
    if (limit === undefined) return budget
    const left = Math.max(0, limit - spent.nanoUsd - reserved.nanoUsd)
    return { ...budget, limit: CostLedger.toUsd(limit), remaining: CostLedger.toUsd(left) }
  })

const used = ({ reserved, spent }: CostLedger.Balance, unit: keyof CostLedger.Amount) => spent[unit] + reserved[unit]

const checkBudget = (books: Books, { cost, userId }: CheckBudget): ReturnType<Budgets["checkBudget"]> =>
  Effect.suspend(() => {
    const { config } = books.parts.rules()
    if (!config.enabled || !config.enforceBudget) return Effect.succeed(true)
    const asked = CostLedger.fromUsd(cost)
    const limits = limitsOf(config)
    if (limits.run.nanoUsd !== undefined && asked > limits.run.nanoUsd) return Effect.succeed(false)
    const limit = limits.month.nanoUsd
    if (limit === undefined) return Effect.succeed(true)
    return orElse(
      books.parts,
      "check",
      Effect.map(readMonth(books, userId), (balance) => used(balance, "nanoUsd") + asked <= limit),
      true
    )
  })

const remaining = Effect.fnUntraced(function* (books: Books, userId: UserId | undefined) {
  const { config } = books.parts.rules()
  const limits = limitsOf(config).month
  if (limits.nanoUsd === undefined && limits.tokens === undefined) return undefined
  const balance = (yield* orElse(books.parts, "check", readMonth(books, userId), undefined)) ?? {
    spent: nothing,
    reserved: nothing
  }
  for (const unit of ["nanoUsd", "tokens"] as const) {
    const limit = limits[unit]
    if (!config.enforceBudget || limit === undefined || used(balance, unit) < limit) continue
    return yield* Effect.fail(exceeded("month", unit, limit, used(balance, unit)))
  }
  return limits.nanoUsd === undefined
    ? undefined
    : CostLedger.toUsd(Math.max(0, limits.nanoUsd - used(balance, "nanoUsd")))
})

const release = ({ heldRuns, leases, parts }: Books, rootRunId: RunId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const account = runAccount(rootRunId)
    const isHeld = heldRuns.delete(account)
    if (!isHeld && GovernanceReservations.enforced(parts.rules().config) === undefined) return Effect.void
    leases.endAll(account)
    return tolerate(
      "releasing a run",
      Effect.map(parts.ledger.close(account), (open) => GovernanceMetrics.reserved(-open))
    )
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (parts: Parts, leases: HoldLeases.HoldLeases): Budgets => {
  const books: Books = {
    parts,
    leases,
    monthAccount: months(),
    warned: new Set(),
    unheld: new Set(),
    heldRuns: new Set()
  }
  return {
    reserve: (request) => GovernanceReservations.reserve(books, request),
    settle: (reservation, usage, settlement) => GovernanceBookings.settle(books, reservation, usage, settlement),
    adopt: (reservation) => GovernanceTakeover.adopt(books, reservation),
    refund: (reservation) => GovernanceBookings.refund(books, reservation),
    trackCost: (options) => GovernanceBookings.trackCost(books, options),
    checkBudget: (options) => checkBudget(books, options),
    getBudget: (userId) => getBudget(books, userId),
    release: (rootRunId) => release(books, rootRunId),
    remaining: (userId) => remaining(books, userId)
  }
}
