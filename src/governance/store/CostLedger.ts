/**
 * The cost ledger port: spent money and tokens, and holds for running calls.
 *
 * An account is any string; a hold reserves the same amount in several accounts at once, or in none. All amounts are
 * whole numbers, so sums are always exact: tokens, and billionths of a US dollar (`fromUsd`, `toUsd`).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { GovernancePersistenceError } from "./GovernanceError.js"

/**
 * Time an account is kept after its last write: slightly more than a month.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPEND_TTL: Duration.Duration = Duration.days(32)

/**
 * Time a hold remains without renewal, for instance after its process died. Clocks of processes that share a ledger
 * must differ by less.
 *
 * @since 0.1.0
 * @category constants
 */
export const HOLD_TTL: Duration.Duration = Duration.seconds(30)

const BILLION = 1_000_000_000

/**
 * Money and tokens: whole, non-negative numbers, made by `amount`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Amount {
  /** Billionths of a US dollar. */
  readonly nanoUsd: number
  readonly tokens: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Balance {
  readonly spent: Amount
  readonly reserved: Amount
}

/**
 * Limit of spent and reserved amounts of an account. An absent unit is not limited.
 *
 * @since 0.1.0
 * @category models
 */
export interface Limit {
  readonly nanoUsd?: number | undefined
  readonly tokens?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Hold {
  /** Unique among the holds of a ledger. */
  readonly id: string
  readonly amount: Amount
  /** Without duplicates. */
  readonly accounts: ReadonlyArray<{ readonly account: string; readonly limit?: Limit | undefined }>
}

/**
 * `refused` names the first account without room, in the order of the hold, and its unit, money before tokens. `used`
 * is the amount spent and reserved there.
 *
 * @since 0.1.0
 * @category models
 */
export type HoldResult =
  | { readonly _tag: "Held" }
  | {
      readonly _tag: "Refused"
      readonly account: string
      readonly unit: keyof Amount
      readonly limit: number
      readonly used: number
    }

/**
 * State of an account after a booking. The amount spent before is `balance.spent` less `booked`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Booking {
  readonly account: string
  readonly booked: Amount
  readonly balance: Balance
}

/**
 * Every operation is atomic; a backend needs one transaction for each.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Name of the backend in hooks and events. */
  readonly backend: string
  /** True if written data survives the process. */
  readonly isPersistent: boolean
  /** Time a hold remains without renewal. */
  readonly holdTtl: Duration.Duration
  /**
   * Reserves the amount in all accounts, or in none if one has no room for it. An account without a limit always has
   * room. An account never written is empty. A second hold with an open hold's id changes nothing and returns `Held`.
   */
  readonly hold: (hold: Hold) => Effect.Effect<HoldResult, GovernancePersistenceError>
  /** Extends the holds by `holdTtl` from now. Unknown ids are ignored. Returns the number of extended holds. */
  readonly renew: (ids: ReadonlyArray<string>) => Effect.Effect<number, GovernancePersistenceError>
  /**
   * Replaces a hold by the actual amount, even past the limit, and returns the resulting accounts in the order of the
   * hold. Returns `undefined` and books nothing if the id is not held: settled, released, expired or never known.
   */
  readonly settle: (
    id: string,
    amount: Amount
  ) => Effect.Effect<ReadonlyArray<Booking> | undefined, GovernancePersistenceError>
  /** Releases a hold. Returns false and changes nothing if the id is not held. */
  readonly release: (id: string) => Effect.Effect<boolean, GovernancePersistenceError>
  /** Books an amount that was not held, even past the limit. Each call books again. */
  readonly book: (
    accounts: ReadonlyArray<string>,
    amount: Amount
  ) => Effect.Effect<ReadonlyArray<Booking>, GovernancePersistenceError>
  /** Balance of an account; zeros if never written. */
  readonly read: (account: string) => Effect.Effect<Balance, GovernancePersistenceError>
  /**
   * Releases the holds that are open in this account, in all their accounts, and deletes it. Returns the number of
   * those holds.
   */
  readonly close: (account: string) => Effect.Effect<number, GovernancePersistenceError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class CostLedger extends Context.Tag("effect-lexigram/governance/CostLedger")<CostLedger, Service>() {}

/** Below the error of a sum of doubles: 0.1 + 0.2 dollars are 300,000,000 billionths, not one more. */
const ROUNDING = 1e-6

/** Thousands of such amounts still add up exactly; only `Infinity` exceeds them. */
const MOST = { nanoUsd: 1e15, tokens: 1e12 }

const whole = (value: number, most: number): number =>
  value > 0 ? Math.max(0, Math.min(Math.ceil(value - ROUNDING), most)) : 0

/**
 * Makes an amount of these US dollars and tokens, rounded up, at most a million dollars and 10^12 tokens. Negative and
 * non-numeric values count as 0.
 *
 * @example
 * ```ts
 * import { CostLedger } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const balance = Effect.gen(function* () {
 *   const ledger = yield* CostLedger.CostLedger
 *   yield* ledger.book(["ada"], CostLedger.amount({ usd: 0.02, tokens: 800 }))
 *   return yield* ledger.read("ada")
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const amount = (options: {
  readonly usd?: number | undefined
  readonly tokens?: number | undefined
}): Amount => ({
  nanoUsd: fromUsd(options.usd ?? 0),
  tokens: whole(options.tokens ?? 0, MOST.tokens)
})

/**
 * Rounded up, like `amount`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromUsd = (usd: number): number => whole(usd * BILLION, MOST.nanoUsd)

/**
 * @since 0.1.0
 * @category conversions
 */
export const toUsd = (nanoUsd: number): number => nanoUsd / BILLION
