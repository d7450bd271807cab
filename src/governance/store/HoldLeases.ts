/**
 * Renews the holds of calls that are running, so that those of a process that died end within seconds.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as CostLedger from "./CostLedger.js"

/** A hold that nobody settles or gives back is not renewed for longer: no model call takes that long. */
const LONGEST = Duration.toMillis("1 hour")

/**
 * @since 0.1.0
 * @category models
 */
export interface HoldLeases {
  /** A hold of these accounts was made: it is renewed from now on. */
  readonly begin: (id: string, accounts: ReadonlyArray<string>, now: number) => void
  /** What stood of a hold that ends now, `undefined` if it was not known. */
  readonly end: (id: string) => Ended | undefined
  /**
   * The account is closed. The calls of its holds may still run, and what they use is booked in their other accounts.
   */
  readonly endAll: (account: string) => void
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Ended {
  /** Those that are still open. */
  readonly accounts: ReadonlyArray<string>
  /** The hold was given back before its call ended: its account was closed. */
  readonly isReleased: boolean
}

/**
 * The fiber that renews waits without a timer while there is nothing to renew. A renewal that fails is tried again
 * after a third of the time for which a hold stands.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (ledger: CostLedger.Service): Effect.Effect<HoldLeases, never, Scope.Scope> =>
  Effect.gen(function* () {
    const leases = new Map<string, { readonly accounts: ReadonlyArray<string>; readonly until: number }>()
    // In the order in which they were made, or nearly: what is never ended goes after the same time as a lease.
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
        // In one step with the look: a hold that begins after it opens the latch again.
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
