/**
 * The book of money and tokens: what was spent, and what is set aside for calls that are under way.
 *
 * An account is any string; a hold sets the same amount aside in several accounts at once, or in none. All amounts are
 * whole numbers, so that sums are exact however many calls they are made of: tokens, and billionths of a US dollar
 * (`fromUsd`, `toUsd`).
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { GovernancePersistenceError } from "./GovernanceError.js"

/**
 * How long an account is kept after it was last written: a month, and some.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPEND_TTL: Duration.Duration = Duration.days(32)

/**
 * How long a hold stands that is not renewed, because its process died. The clocks of the processes of one book may
 * differ by less.
 *
 * @since 0.1.0
 * @category constants
 */
export const HOLD_TTL: Duration.Duration = Duration.seconds(30)

const BILLION = 1_000_000_000

/**
 * Money and tokens: whole numbers, not negative. `amount` makes one of anything.
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
 * What an account may come to, spent and reserved together. A unit that is absent is not limited.
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
  /** Unique among the holds of a book. */
  readonly id: string
  readonly amount: Amount
  /** No account twice. */
  readonly accounts: ReadonlyArray<{ readonly account: string; readonly limit?: Limit | undefined }>
}

/**
 * `refused` names the first account that has no room, in the order of the hold, and its unit, money before tokens.
 * `used` is what was spent and reserved there.
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
 * An account after a booking. What was spent before it is `balance.spent` less `booked`.
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
 * Every operation is one atomic step; an adapter needs one transaction for each.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What keeps the book, as hooks and events name it. */
  readonly backend: string
  /** Whether what is written outlives the process. */
  readonly isPersistent: boolean
  /** How long a hold stands that is not renewed. */
  readonly holdTtl: Duration.Duration
  /**
   * Sets the amount aside in all accounts, or in none when one of them has no room for it. An account without a limit
   * always has. An account that was never written is empty. A second hold of an id that is held already changes nothing
   * and is `Held`.
   */
  readonly hold: (hold: Hold) => Effect.Effect<HoldResult, GovernancePersistenceError>
  /** The holds stand for `holdTtl` from now. Ids that are not held are ignored. The number of the others. */
  readonly renew: (ids: ReadonlyArray<string>) => Effect.Effect<number, GovernancePersistenceError>
  /**
   * Replaces a hold by what was used, past every limit too, and says how its accounts stand then, in the order of the
   * hold. `undefined` and nothing booked when the id is not held: settled, released, expired or never known.
   */
  readonly settle: (
    id: string,
    amount: Amount
  ) => Effect.Effect<ReadonlyArray<Booking> | undefined, GovernancePersistenceError>
  /** Gives a hold back whole. False and nothing changed when the id is not held. */
  readonly release: (id: string) => Effect.Effect<boolean, GovernancePersistenceError>
  /** Books an amount that was not held, past every limit too. Each call books again. */
  readonly book: (
    accounts: ReadonlyArray<string>,
    amount: Amount
  ) => Effect.Effect<ReadonlyArray<Booking>, GovernancePersistenceError>
  /** How an account stands; zeros when it was never written. */
  readonly read: (account: string) => Effect.Effect<Balance, GovernancePersistenceError>
  /**
   * Gives back, in all their accounts, the holds that are open in this one, and forgets it. The number of those holds.
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

/** Thousands of amounts that large still add up exactly, and none is ever meant: `Infinity` is. */
const MOST = { nanoUsd: 1e15, tokens: 1e12 }

const whole = (value: number, most: number): number =>
  value > 0 ? Math.max(0, Math.min(Math.ceil(value - ROUNDING), most)) : 0

/**
 * An amount of these US dollars and tokens, rounded up, at most a million dollars and 10^12 tokens. What is negative or
 * no number counts as nothing.
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
