/**
 * A cost ledger in the memory of this process.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { count } from "../../internal/Count.js"
import * as CostLedger from "./CostLedger.js"
import { GovernancePersistenceError } from "./GovernanceError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Most accounts and most open holds; default 100,000 each. None is evicted, because its limit would be lost with it:
   * a hold or a booking beyond fails.
   */
  readonly capacity?: number | undefined
  /** Default `SPEND_TTL`; at least `holdTtl`. */
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
  readonly amount: CostLedger.Amount
  readonly accounts: ReadonlyArray<string>
  readonly expiresAt: number
}

const nothing: CostLedger.Amount = { nanoUsd: 0, tokens: 0 }
const untouched: CostLedger.Balance = { spent: nothing, reserved: nothing }

const balanceOf = (account: Account): CostLedger.Balance => ({
  spent: { nanoUsd: account.spentUsd, tokens: account.spentTokens },
  reserved: { nanoUsd: account.reservedUsd, tokens: account.reservedTokens }
})

const sum = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER)

/**
 * Accounts and holds. Each method is one synchronous step, so no other fiber sees a partial state. Both maps are
 * ordered by expiry, since all entries of a map have the same lifetime from their last insertion.
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
    // Never earlier than before, even if the clock is set back: an account with holds must not expire.
    account.expiresAt = Math.max(account.expiresAt, now + this.spendTtl)
    this.accounts.delete(key)
    this.accounts.set(key, account)
  }

  /** Returns the account for writing, created if needed. */
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

  hold(request: CostLedger.Hold, now: number): CostLedger.HoldResult | undefined {
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

  settle(id: string, amount: CostLedger.Amount, now: number): ReadonlyArray<CostLedger.Booking> | undefined {
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

  private spend(key: string, amount: CostLedger.Amount, now: number): CostLedger.Booking {
    const account = this.write(key, now)
    account.spentUsd = sum(account.spentUsd, amount.nanoUsd)
    account.spentTokens = sum(account.spentTokens, amount.tokens)
    return { account: key, booked: amount, balance: balanceOf(account) }
  }

  book(
    keys: ReadonlyArray<string>,
    amount: CostLedger.Amount,
    now: number
  ): ReadonlyArray<CostLedger.Booking> | undefined {
    this.sweep(now)
    return this.hasRoom(keys) ? keys.map((key) => this.spend(key, amount, now)) : undefined
  }

  read(key: string, now: number): CostLedger.Balance {
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

const held: CostLedger.HoldResult = { _tag: "Held" }

/**
 * Makes the ledger.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<CostLedger.Service> =>
  Effect.sync(() => {
    const capacity = count(options?.capacity, 100_000, 1)
    const holdTtl = Duration.toMillis(options?.holdTtl ?? CostLedger.HOLD_TTL)
    const spendTtl = Math.max(holdTtl, Duration.toMillis(options?.spendTtl ?? CostLedger.SPEND_TTL))
    const book = new Book(capacity, spendTtl, holdTtl)
    const full = <A>(made: A | undefined): Effect.Effect<A, GovernancePersistenceError> =>
      made !== undefined
        ? Effect.succeed(made)
        : Effect.fail(
            new GovernancePersistenceError({
              message: `The cost ledger in memory is full: it holds ${capacity} accounts and ${capacity} open holds`,
              hint: "Raise its capacity, or use a ledger in a database"
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
 * A ledger that is lost when the process ends.
 *
 * @example
 * ```ts
 * import { CostLedger, InMemoryCostLedger } from "effect-lexigram/governance"
 * import * as Effect from "effect/Effect"
 *
 * const read = Effect.flatMap(CostLedger.CostLedger, (ledger) => ledger.read("ada")).pipe(
 *   Effect.provide(InMemoryCostLedger.layer({ capacity: 10_000 }))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<CostLedger.CostLedger> =>
  Layer.effect(CostLedger.CostLedger, make(options))
