/**
 * Books the amounts model calls used and gives back the rest.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Usage from "../domain/Usage.js"
import type { Reservation, Settlement, TrackCost } from "./Governance.js"
import { costOf, limitsOf, names, tokensOf } from "./GovernanceAmounts.js"
import { type About, aboutOf, estimatorOf, orElse, record, reportSoftLimit, reportWrite } from "./GovernanceParts.js"
import { adjustTokens, type Books, correctQuotas, UNTRACKED } from "./GovernanceReservations.js"
import * as GovernanceTakeover from "./GovernanceTakeover.js"
import * as CostLedger from "./store/CostLedger.js"
import type { GovernancePersistenceError } from "./store/GovernanceError.js"
import * as GovernanceMetrics from "./store/GovernanceMetrics.js"

/**
 * Warns if this booking crossed the soft limit of a month. Bookings are serialized, so exactly one does.
 */
const crossings = (
  { parts }: Books,
  bookings: ReadonlyArray<CostLedger.Booking>,
  about: About
): Effect.Effect<void> => {
  const { config } = parts.rules()
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
      reportSoftLimit(
        parts,
        { budget: names.month[unit], account: month.account, limit: shown(limit), used: shown(used) },
        about
      )
    )
  }
  return warnings
}

const booked = Effect.fnUntraced(function* (
  books: Books,
  bookings: ReadonlyArray<CostLedger.Booking>,
  about: About,
  call: {
    readonly amount: CostLedger.Amount
    readonly cost: number | undefined
    readonly latencyMs?: number | undefined
    readonly estimatedTokens?: number | undefined
  }
) {
  const { parts } = books
  GovernanceMetrics.booked(CostLedger.toUsd(call.amount.nanoUsd), call.amount.tokens)
  if (parts.ledger.isPersistent) yield* reportWrite(parts)
  if (parts.rules().config.softLimitPct !== undefined) yield* crossings(books, bookings, about)
  if (parts.audit.enabled === false) return
  yield* record(parts, () => ({
    eventType: "llm_call",
    ...aboutOf(about),
    tokens: call.amount.tokens,
    ...(call.cost === undefined ? {} : { cost: call.cost }),
    ...(call.latencyMs === undefined ? {} : { latencyMs: call.latencyMs }),
    ...(call.estimatedTokens === undefined ? {} : { metadata: { estimatedTokens: call.estimatedTokens } })
  }))
})

/** Subject of a settlement: the model that answered, else the reserved one. */
const answeredBy = (reservation: Reservation, settlement: Settlement | undefined): About => {
  const { agent, runId, tenantId, userId } = reservation
  return {
    runId,
    agent,
    userId,
    tenantId,
    provider: settlement?.provider ?? reservation.provider,
    model: settlement?.model ?? reservation.model
  }
}

/** Books a call that had no hold in its month; again if that fails and is tried again. */
const bookUnheld = ({ monthAccount, parts, unheld }: Books, reservation: Reservation, amount: CostLedger.Amount) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    unheld.delete(reservation.id)
    const month = monthAccount(reservation.userId, reservation.at ?? now)
    return Effect.tapError(parts.ledger.book([month], amount), () => Effect.sync(() => void unheld.add(reservation.id)))
  })

const isHeldIn = ({ unheld }: Books, { accounts, id, recorded }: Reservation): boolean =>
  recorded === true ? accounts !== undefined : !unheld.has(id)

export const settle = (
  books: Books,
  reservation: Reservation,
  usage: Usage.Usage,
  settlement: Settlement | undefined
): Effect.Effect<void, GovernancePersistenceError> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      if (reservation.id === UNTRACKED) return
      const { leases, parts } = books
      const { audit, ledger } = parts
      const estimator = yield* estimatorOf(parts)
      const answered = answeredBy(reservation, settlement)
      const cost = costOf(estimator, answered, reservation, usage, settlement)
      const amount = CostLedger.amount({ usd: cost, tokens: tokensOf(reservation, usage) })
      const isHeld = isHeldIn(books, reservation)
      const ended = leases.end(reservation.id)
      // A hold not renewed in time, or whose run ended first, no longer exists. The call still used the amount.
      const settled = reservation.recorded
        ? GovernanceTakeover.settle(books, reservation, amount, ended)
        : isHeld
          ? Effect.flatMap(ledger.settle(reservation.id, amount), (bookings) =>
              bookings === undefined && ended !== undefined
                ? ledger.book(ended.accounts, amount)
                : Effect.succeed(bookings)
            )
          : bookUnheld(books, reservation, amount)
      const bookings = yield* orElse(parts, "settle", settled, undefined)
      if (bookings === undefined) return
      if (isHeld && ended?.isReleased !== true) GovernanceMetrics.reserved(-1)
      if (reservation.takenAt !== undefined) yield* adjustTokens(books, reservation, amount.tokens)
      if (reservation.receipt !== undefined) {
        yield* correctQuotas(books, reservation, { tokens: amount.tokens, ...(cost === undefined ? {} : { cost }) })
      }
      const now = audit.enabled === false ? 0 : yield* Clock.currentTimeMillis
      const latencyMs = reservation.at === undefined ? undefined : Math.max(0, now - reservation.at)
      const { estimatedTokens } = usage
      yield* booked(books, bookings, answered, { amount, cost, latencyMs, estimatedTokens })
    })
  )

export const refund = (books: Books, reservation: Reservation): Effect.Effect<void, GovernancePersistenceError> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      if (reservation.id === UNTRACKED) return
      const { leases, parts } = books
      const isHeld = isHeldIn(books, reservation)
      books.unheld.delete(reservation.id)
      if (!isHeld) {
        yield* adjustTokens(books, reservation, 0)
        return yield* correctQuotas(books, reservation, { model_calls: 0, tokens: 0, cost: 0 })
      }
      const isReleased = leases.end(reservation.id)?.isReleased === true
      const isOpen = yield* orElse(parts, "refund", parts.ledger.release(reservation.id), false)
      if (!isOpen && !isReleased) return
      if (isOpen) GovernanceMetrics.reserved(-1)
      yield* adjustTokens(books, reservation, 0)
      yield* correctQuotas(books, reservation, { model_calls: 0, tokens: 0, cost: 0 })
      yield* reportWrite(parts)
    })
  )

export const trackCost = (books: Books, tracked: TrackCost): Effect.Effect<void, GovernancePersistenceError> =>
  Effect.uninterruptible(
    Effect.gen(function* () {
      const { monthAccount, parts } = books
      if (!parts.rules().config.enabled) return
      const amount = CostLedger.amount({ usd: tracked.cost, tokens: Usage.total(tracked.usage) })
      const account = monthAccount(tracked.userId, yield* Clock.currentTimeMillis)
      const bookings = yield* orElse(parts, "track", parts.ledger.book([account], amount), undefined)
      if (bookings === undefined) return
      yield* booked(books, bookings, { userId: tracked.userId, model: tracked.model }, { amount, cost: tracked.cost })
    })
  )
