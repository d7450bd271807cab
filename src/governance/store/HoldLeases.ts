/**
 * Renews the holds of running calls, so that those of a dead process expire within seconds.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CostLedger from "./CostLedger.js"

/** A hold that is neither settled nor released is renewed no longer than this: no model call takes that long. */
const LONGEST = Duration.toMillis("1 hour")

/**
 * @since 0.1.0
 * @category models
 */
export interface HoldLeases {
  /** Starts to renew a hold of these accounts. */
  readonly begin: (id: string, accounts: ReadonlyArray<string>, now: number) => void
  /** Ends a hold and returns its state, `undefined` if unknown. */
  readonly end: (id: string) => Ended | undefined
  /** Closes an account. The calls of its holds may still run; their use is booked in their other accounts. */
  readonly endAll: (account: string) => void
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Ended {
  /** Accounts that are still open. */
  readonly accounts: ReadonlyArray<string>
  /** True if the hold was released before its call ended because its account was closed. */
  readonly isReleased: boolean
}

/**
 * Makes the leases. The renewing fiber waits without a timer while there is nothing to renew. A failed renewal is
 * retried after a third of `holdTtl`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (ledger: CostLedger.Service): Effect.Effect<HoldLeases, never, Scope.Scope> =>
  Effect.gen(function* () {
    const leases = new Map<string, { readonly accounts: ReadonlyArray<string>; readonly until: number }>()
    // Roughly in order of creation: an entry that is never ended is removed after the same time as a lease.
    const released = new Map<string, { readonly accounts: ReadonlyArray<string>; readonly until: number }>()
    const sweep = (now: number): void => {
      for (const [id, { until }] of released) {
        if (until > now) return
        released.delete(id)
      }
    }
    const busy = yield* Effect.makeLatch(false)
    const renew = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const [id, { until }] of leases) if (until <= now) leases.delete(id)
      if (leases.size === 0) {
        // Synchronous with the check: a hold that begins later reopens the latch.
        busy.unsafeClose()
        return
      }
      yield* ledger.renew(Array.from(leases.keys()))
    }).pipe(
      Effect.catchAll((error) =>
        Effect.annotateLogs(Effect.logWarning("Holds of running calls were not renewed"), {
          module: "Governance",
          message: error.message
        })
      )
    )
    yield* busy.await.pipe(
      Effect.zipRight(Effect.sleep(Duration.times(ledger.holdTtl, 1 / 3))),
      Effect.zipRight(renew),
      Effect.forever,
      Effect.forkScoped
    )
    return {
      begin: (id, accounts, now) => {
        sweep(now)
        leases.set(id, { accounts, until: now + LONGEST })
        busy.unsafeOpen()
      },
      end: (id) => {
        const lease = leases.get(id)
        const gone = released.get(id)
        leases.delete(id)
        released.delete(id)
        if (lease !== undefined) return { accounts: lease.accounts, isReleased: false }
        return gone === undefined ? undefined : { accounts: gone.accounts, isReleased: true }
      },
      endAll: (account) => {
        for (const [id, { accounts, until }] of leases) {
          if (!accounts.includes(account)) continue
          leases.delete(id)
          released.set(id, { accounts: accounts.filter((one) => one !== account), until })
        }
      }
    }
  })
