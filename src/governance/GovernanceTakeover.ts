/**
 * Reservations of durable runs: the process that ends a call may be another one than the process that began it.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reservation } from "./Governance.js"
import { orElse } from "./GovernanceParts.js"
import { amountOf, type Books, remember } from "./GovernanceReservations.js"
import type * as CostLedger from "./store/CostLedger.js"
import type { GovernancePersistenceError } from "./store/GovernanceError.js"
import * as GovernanceMetrics from "./store/GovernanceMetrics.js"
import type * as HoldLeases from "./store/HoldLeases.js"

type Booked = ReadonlyArray<CostLedger.Booking> | undefined

/** Booked together with the use: tells a later process that it is booked. */
const markOf = ({ id }: Reservation): string => `settled:${id}`

const isMarked = (ledger: CostLedger.Service, reservation: Reservation) =>
  Effect.map(ledger.read(markOf(reservation)), ({ spent }) => spent.nanoUsd + spent.tokens > 0)

/**
 * Replaces the hold by the actual amount, once, whichever processes try. The amount is booked before the hold is
 * released, so that both count for a moment and no limit is exceeded. A ledger that ends with its process has no other
 * process to tell.
 */
export const settle = (
  { monthAccount, parts: { ledger }, unheld }: Books,
  reservation: Reservation,
  amount: CostLedger.Amount,
  ended: HoldLeases.Ended | undefined
): Effect.Effect<Booked, GovernancePersistenceError> =>
  Effect.gen(function* () {
    const { accounts, at, id } = reservation
    const now = yield* Clock.currentTimeMillis
    const of = ended?.accounts ?? accounts ?? [monthAccount(reservation.userId, at ?? now)]
    unheld.delete(id)
    if (!ledger.isPersistent) {
      const settled = accounts === undefined ? undefined : yield* ledger.settle(id, amount)
      return settled ?? (yield* ledger.book(of, amount))
    }
    const isBooked = yield* isMarked(ledger, reservation)
    const bookings = isBooked ? undefined : yield* ledger.book([...of, markOf(reservation)], amount)
    if (accounts !== undefined) yield* ledger.release(id)
    return bookings?.slice(0, -1)
  })

/** Holds the amount of a reservation again if it expired, and renews it. It was admitted: no limit refuses it. */
export const adopt = (
  { heldRuns, leases, parts }: Books,
  reservation: Reservation
): Effect.Effect<void, GovernancePersistenceError> =>
  Effect.suspend(() => {
    const { accounts, id } = reservation
    if (accounts === undefined) return Effect.void
    const hold = { id, amount: amountOf(reservation), accounts: accounts.map((account) => ({ account })) }
    return Effect.uninterruptible(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const held = yield* orElse(parts, "reserve", parts.ledger.hold(hold), undefined)
        if (held === undefined) return
        for (const account of accounts) if (account.startsWith("run:")) remember(heldRuns, account)
        leases.begin(id, accounts, now)
        GovernanceMetrics.reserved(1)
      })
    )
  })
