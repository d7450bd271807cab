/**
 * The book of money and tokens: what was spent, and what is set aside for calls that are under way.
 *
 * An account is any string; a hold sets the same amount aside in several accounts at once, or in none. All amounts are
 * whole numbers, so that sums are exact however many calls they are made of: tokens, and billionths of a US dollar
 * (`fromUsd`, `toUsd`).
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { count } from "../../internal/Count.js"
import { GovernancePersistenceError } from "./GovernanceError.js"

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

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions {
  /**
   * Accounts and open holds at most, each; 100,000 unless set. None is forgotten to make room, for a limit would be
   * forgotten with it: a hold or a booking that needs another one fails.
   */
  readonly capacity?: number | undefined
  /** Default `SPEND_TTL`; no shorter than `holdTtl`. */
  readonly spendTtl?: Duration.DurationInput | undefined
  /** Default `HOLD_TTL`. */
  readonly holdTtl?: Duration.DurationInput | undefined
}

interface Account {
  spentUsd: number
  spentTokens: number
  reservedUsd: number
  reservedTokens: number
  expiresAt: number
  readonly holds: Set<string>
}

interface Open {
  readonly amount: Amount
  readonly accounts: ReadonlyArray<string>
  readonly expiresAt: number
}

const nothing: Amount = { nanoUsd: 0, tokens: 0 }
const untouched: Balance = { spent: nothing, reserved: nothing }

const balanceOf = (account: Account): Balance => ({
  spent: { nanoUsd: account.spentUsd, tokens: account.spentTokens },
  reserved: { nanoUsd: account.reservedUsd, tokens: account.reservedTokens }
})

const sum = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER)

/**
 * The book itself. Each method is one synchronous step, which no other fiber can see half of. Both maps keep the order
 * in which their entries expire, since all of one map live equally long from when they were last put in.
 */
class Book {
  private readonly accounts = new Map<string, Account>()
  private readonly open = new Map<string, Open>()

  constructor(
    private readonly capacity: number,
    private readonly spendTtl: number,
    private readonly holdTtl: number
  ) {}

  private sweep(now: number): void {
    for (const [id, hold] of this.open) {
      if (hold.expiresAt > now) break
      this.free(id, hold)
    }
    for (const [key, account] of this.accounts) {
      if (account.expiresAt > now) break
      this.accounts.delete(key)
    }
  }

  private free(id: string, hold: Open): void {
    this.open.delete(id)
    for (const key of hold.accounts) {
      const account = this.accounts.get(key)
      if (account === undefined) continue
      account.holds.delete(id)
      account.reservedUsd -= hold.amount.nanoUsd
      account.reservedTokens -= hold.amount.tokens
    }
  }

  private touch(key: string, account: Account, now: number): void {
    // No earlier than before, should the clock be set back: no account may go while something is held in it.
    account.expiresAt = Math.max(account.expiresAt, now + this.spendTtl)
    this.accounts.delete(key)
    this.accounts.set(key, account)
  }

  /** The account as it is written to: made if need be. */
  private write(key: string, now: number): Account {
    const account: Account = this.accounts.get(key) ?? {
      spentUsd: 0,
      spentTokens: 0,
      reservedUsd: 0,
      reservedTokens: 0,
      expiresAt: 0,
      holds: new Set()
    }
    this.touch(key, account, now)
    return account
  }

  private hasRoom(keys: ReadonlyArray<string>): boolean {
    let missing = 0
    for (const key of keys) if (!this.accounts.has(key)) missing++
    return this.accounts.size + missing <= this.capacity
  }

  hold(request: Hold, now: number): HoldResult | undefined {
    this.sweep(now)
    const { amount, id } = request
    if (this.open.has(id)) return held
    for (const { account: key, limit } of request.accounts) {
      if (limit === undefined) continue
      const account = this.accounts.get(key)
      const usd = account === undefined ? 0 : sum(account.spentUsd, account.reservedUsd)
      if (limit.nanoUsd !== undefined && usd + amount.nanoUsd > limit.nanoUsd) {
        return { _tag: "Refused", account: key, unit: "nanoUsd", limit: limit.nanoUsd, used: usd }
      }
      const tokens = account === undefined ? 0 : sum(account.spentTokens, account.reservedTokens)
      if (limit.tokens !== undefined && tokens + amount.tokens > limit.tokens) {
        return { _tag: "Refused", account: key, unit: "tokens", limit: limit.tokens, used: tokens }
      }
    }
    const keys = request.accounts.map(({ account }) => account)
    if (this.open.size >= this.capacity || !this.hasRoom(keys)) return undefined
    this.open.set(id, { amount, accounts: keys, expiresAt: now + this.holdTtl })
    for (const key of keys) {
      const account = this.write(key, now)
      account.holds.add(id)
      account.reservedUsd += amount.nanoUsd
      account.reservedTokens += amount.tokens
    }
    return held
  }

  renew(ids: ReadonlyArray<string>, now: number): number {
    this.sweep(now)
    let renewed = 0
    for (const id of ids) {
      const hold = this.open.get(id)
      if (hold === undefined) continue
      this.open.delete(id)
      this.open.set(id, { ...hold, expiresAt: Math.max(hold.expiresAt, now + this.holdTtl) })
      for (const key of hold.accounts) {
        const account = this.accounts.get(key)
        if (account !== undefined) this.touch(key, account, now)
      }
      renewed++
    }
    return renewed
  }

  settle(id: string, amount: Amount, now: number): ReadonlyArray<Booking> | undefined {
    this.sweep(now)
    const hold = this.open.get(id)
    if (hold === undefined) return undefined
    this.free(id, hold)
    return hold.accounts.map((key) => this.spend(key, amount, now))
  }

  release(id: string, now: number): boolean {
    this.sweep(now)
    const hold = this.open.get(id)
    if (hold !== undefined) this.free(id, hold)
    return hold !== undefined
  }

  private spend(key: string, amount: Amount, now: number): Booking {
    const account = this.write(key, now)
    account.spentUsd = sum(account.spentUsd, amount.nanoUsd)
    account.spentTokens = sum(account.spentTokens, amount.tokens)
    return { account: key, booked: amount, balance: balanceOf(account) }
  }

  book(keys: ReadonlyArray<string>, amount: Amount, now: number): ReadonlyArray<Booking> | undefined {
    this.sweep(now)
    return this.hasRoom(keys) ? keys.map((key) => this.spend(key, amount, now)) : undefined
  }

  read(key: string, now: number): Balance {
    this.sweep(now)
    const account = this.accounts.get(key)
    return account === undefined ? untouched : balanceOf(account)
  }

  close(key: string, now: number): number {
    this.sweep(now)
    const account = this.accounts.get(key)
    if (account === undefined) return 0
    const ids = Array.from(account.holds)
    for (const id of ids) {
      const hold = this.open.get(id)
      if (hold !== undefined) this.free(id, hold)
    }
    this.accounts.delete(key)
    return ids.length
  }
}

const held: HoldResult = { _tag: "Held" }

/**
 * In this process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options?: MemoryOptions | undefined): Effect.Effect<Service> =>
  Effect.sync(() => {
    const capacity = count(options?.capacity, 100_000, 1)
    const holdTtl = Duration.toMillis(options?.holdTtl ?? HOLD_TTL)
    const spendTtl = Math.max(holdTtl, Duration.toMillis(options?.spendTtl ?? SPEND_TTL))
    const book = new Book(capacity, spendTtl, holdTtl)
    const full = <A>(made: A | undefined): Effect.Effect<A, GovernancePersistenceError> =>
      made !== undefined
        ? Effect.succeed(made)
        : Effect.fail(
            new GovernancePersistenceError({
              message: `The cost ledger in memory is full: it keeps ${capacity} accounts and ${capacity} open holds`,
              hint: "Give it a larger capacity, or keep the ledger in a database"
            })
          )
    return {
      backend: "memory",
      isPersistent: false,
      holdTtl: Duration.millis(holdTtl),
      hold: (request) => Effect.flatMap(Clock.currentTimeMillis, (now) => full(book.hold(request, now))),
      renew: (ids) => Effect.map(Clock.currentTimeMillis, (now) => book.renew(ids, now)),
      settle: (id, amount) => Effect.map(Clock.currentTimeMillis, (now) => book.settle(id, amount, now)),
      release: (id) => Effect.map(Clock.currentTimeMillis, (now) => book.release(id, now)),
      book: (accounts, amount) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => full(book.book(accounts, amount, now))),
      read: (account) => Effect.map(Clock.currentTimeMillis, (now) => book.read(account, now)),
      close: (account) => Effect.map(Clock.currentTimeMillis, (now) => book.close(account, now))
    }
  })

/**
 * In this process, and gone with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: MemoryOptions | undefined): Layer.Layer<CostLedger> =>
  Layer.effect(CostLedger, makeMemory(options))
