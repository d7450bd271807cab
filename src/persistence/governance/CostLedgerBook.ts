/**
 * The rows of accounts and holds of `SqlCostLedger`. Names of accounts and holds are encoded by `KeyText`.
 *
 * A transaction that changes an account locks its row, so only one at a time adds or releases holds of the account.
 * Expired holds that another transaction has locked are skipped: that one waits for the account and releases them.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Amount, Balance } from "../../governance/store/CostLedger.js"
import type * as Database from "../engine/Database.js"
import * as Dialect from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as CostLedgerStatements from "./CostLedgerStatements.js"
import { MOST } from "./CostLedgerStatements.js"

/**
 * A hold in one account.
 *
 * @category models
 */
export interface HeldRow {
  readonly hold_id: string
  readonly place: number
  readonly account: string
  readonly usd: number
  readonly tokens: number
}

/**
 * @category models
 */
export interface Open {
  readonly id: string
  readonly accounts: ReadonlyArray<string>
  readonly amount: Amount
  readonly expiresAt: number
}

interface AccountRow {
  readonly account: string
  readonly spent_usd: number
  readonly spent_tokens: number
  readonly reserved_usd: number
  readonly reserved_tokens: number
  readonly holds_until: number | null
}

/**
 * The balances of accounts after a write.
 *
 * @category models
 */
export type Standings = ReadonlyMap<string, AccountRow>

/** Account of a hold without accounts. No account name is encoded like this. */
const NOWHERE = "\u0001"

/** Sorts after every continuation of a name. */
const AFTER = "\ue000"

const nothing: Amount = { nanoUsd: 0, tokens: 0 }

/**
 * @category conversions
 */
export const balanceOf = (standings: Standings, account: string): Balance => {
  const row = standings.get(account)
  return row === undefined
    ? { spent: nothing, reserved: nothing }
    : {
        spent: { nanoUsd: Number(row.spent_usd), tokens: Number(row.spent_tokens) },
        reserved: { nanoUsd: Number(row.reserved_usd), tokens: Number(row.reserved_tokens) }
      }
}

const places = ({ accounts }: Open): ReadonlyArray<string> => (accounts.length === 0 ? [NOWHERE] : accounts)

/**
 * @category getters
 */
export const rowsOf = (open: Open): number => places(open).length

/**
 * The accounts of one hold, in its order.
 *
 * @category getters
 */
export const accountsOf = (rows: ReadonlyArray<HeldRow>): ReadonlyArray<string> =>
  rows
    .filter(({ account }) => account !== NOWHERE)
    .sort((a, b) => a.place - b.place)
    .map(({ account }) => account)

/**
 * @category models
 */
export interface LockedRow extends HeldRow {
  readonly expires_at: number
}

/**
 * The number of holds in the account that have not expired.
 *
 * @category getters
 */
export const holdsIn = (rows: ReadonlyArray<LockedRow>, account: string, now: number): number =>
  rows.filter((row) => row.account === account && Number(row.expires_at) > now).length

interface Change {
  spentUsd: number
  spentTokens: number
  reservedUsd: number
  reservedTokens: number
  holdsUntil: number | null
  expiresAt: number
}

/**
 * Amounts to add to accounts.
 *
 * @category models
 */
export interface Changes {
  readonly byAccount: ReadonlyMap<string, Readonly<Change>>
  readonly giveBack: (rows: ReadonlyArray<HeldRow>) => void
  readonly reserve: (open: Open, keptUntil: number) => void
  readonly spend: (accounts: ReadonlyArray<string>, amount: Amount, keptUntil: number) => void
}

/**
 * @category constructors
 */
export const changes = (): Changes => {
  const byAccount = new Map<string, Change>()
  const of = (account: string): Change => {
    let change = byAccount.get(account)
    if (change === undefined) {
      change = { spentUsd: 0, spentTokens: 0, reservedUsd: 0, reservedTokens: 0, holdsUntil: null, expiresAt: 0 }
      byAccount.set(account, change)
    }
    return change
  }
  return {
    byAccount,
    giveBack: (rows) => {
      for (const { account, tokens, usd } of rows) {
        const change = of(account)
        change.reservedUsd -= Number(usd)
        change.reservedTokens -= Number(tokens)
      }
    },
    reserve: (open, keptUntil) => {
      for (const account of places(open)) {
        const change = of(account)
        change.reservedUsd += open.amount.nanoUsd
        change.reservedTokens += open.amount.tokens
        change.holdsUntil = open.expiresAt
        change.expiresAt = keptUntil
      }
    },
    spend: (accounts, amount, keptUntil) => {
      for (const account of accounts) {
        const change = of(account)
        change.spentUsd = Math.min(change.spentUsd + amount.nanoUsd, MOST)
        change.spentTokens = Math.min(change.spentTokens + amount.tokens, MOST)
        change.expiresAt = keptUntil
      }
    }
  }
}

const byText = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
  a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0

/**
 * @category constructors
 */
export const make = (dialect: Dialect.Dialect) => {
  const texts = CostLedgerStatements.make(dialect)
  const writes = new Map<number, string>()
  const writeOf = (rows: number): string => {
    const text = writes.get(rows) ?? texts.write(rows)
    writes.set(rows, text)
    return text
  }

  const paramsOf = (account: string, change: Readonly<Change>, now: number): ReadonlyArray<Dialect.Param> => [
    account,
    change.spentUsd,
    change.spentTokens,
    change.reservedUsd,
    change.reservedTokens,
    change.holdsUntil,
    now,
    change.expiresAt
  ]

  /** Releases the expired holds in locked accounts. */
  const giveBack = Effect.fnUntraced(function* (tx: Database.Access, accounts: ReadonlyArray<string>, now: number) {
    const expired = yield* tx.rows<HeldRow>(texts.removeOverIn, [dialect.list(accounts), now])
    const total = changes()
    total.giveBack(expired)
    const rows: Array<AccountRow> = []
    for (const account of accounts) {
      const change = total.byAccount.get(account)
      const params = [0 - (change?.reservedUsd ?? 0), 0 - (change?.reservedTokens ?? 0), account]
      rows.push(...(yield* tx.rows<AccountRow>(texts.lower, params)))
    }
    return rows
  })

  const isOver = (row: AccountRow, now: number): boolean => row.holds_until !== null && Number(row.holds_until) <= now

  /** Locks the accounts, applies the changes and releases expired holds. */
  const write = Effect.fnUntraced(function* (
    tx: Database.Access,
    { byAccount }: Changes,
    now: number
  ): Effect.fn.Return<Standings, SqlError> {
    const standings = new Map<string, AccountRow>()
    const sorted = Array.from(byAccount).sort(byText)
    for (let from = 0; from < sorted.length; from += Dialect.maxRows) {
      const part = sorted.slice(from, from + Dialect.maxRows)
      const params = part.flatMap(([account, change]) => paramsOf(account, change, now))
      for (const row of yield* tx.rows<AccountRow>(writeOf(part.length), params)) standings.set(row.account, row)
    }
    const expired = Array.from(standings.values()).filter((row) => isOver(row, now))
    if (expired.length > 0) {
      const accounts = expired.map(({ account }) => account)
      for (const row of yield* giveBack(tx, accounts, now)) standings.set(row.account, row)
    }
    return standings
  })

  return {
    /** Succeeds with the number of added rows: fewer than `rowsOf` if the hold exists. */
    open: (tx: Database.Access, open: Open): Effect.Effect<number, SqlError> => {
      const { nanoUsd, tokens } = open.accounts.length === 0 ? nothing : open.amount
      return tx.insert(
        CostLedgerStatements.insertHolds,
        places(open).map((account, place) => [open.id, place, account, nanoUsd, tokens, open.expiresAt])
      )
    },
    write,
    /** Writes with one statement. Does nothing and succeeds with `undefined` if a hold has expired. */
    writeAlone: (
      access: Database.Access,
      { byAccount }: Changes,
      now: number
    ): Effect.Effect<Standings | undefined, SqlError> => {
      const params = Array.from(byAccount).flatMap(([account, change]) => paramsOf(account, change, now))
      return Effect.map(access.first<AccountRow>(texts.writeAlone, params), (row) =>
        row === undefined ? undefined : new Map([[row.account, row]])
      )
    },
    /**
     * Extends holds and their accounts to `holdsUntil`. Succeeds with the number of extended holds. Skips holds that
     * others have locked, who settle or release them. `holds_until` of an account is a lower bound and does not change.
     */
    renew: Effect.fnUntraced(function* (
      tx: Database.Access,
      ids: ReadonlyArray<string>,
      { holdsUntil, now }: { readonly holdsUntil: number; readonly now: number }
    ): Effect.fn.Return<number, SqlError> {
      const rows = yield* tx.rows<HeldRow>(texts.renew, [holdsUntil, dialect.list(ids), now])
      const accounts = Array.from(new Set(rows.map(({ account }) => account)))
      const shorter = yield* tx.rows<AccountRow>(texts.lockShorter, [dialect.list(accounts), holdsUntil])
      if (shorter.length > 0) {
        yield* tx.run(texts.keep, [holdsUntil, dialect.list(shorter.map(({ account }) => account))])
      }
      return new Set(rows.map(({ hold_id }) => hold_id)).size
    }),
    /** Deletes and returns the rows of a hold that has not expired. */
    remove: (tx: Database.Access, id: string, now: number) => tx.rows<HeldRow>(texts.remove, [id, now]),
    /** Deletes and returns the rows of an expired hold. */
    removeOver: (tx: Database.Access, id: string, now: number) => tx.rows<HeldRow>(texts.removeOver, [id, now]),
    /** Locks all rows of the holds in the account, including expired ones. */
    lockHoldsIn: (tx: Database.Access, account: string) => tx.rows<LockedRow>(texts.lockHoldsIn, [account]),
    removeAll: (tx: Database.Access, rows: ReadonlyArray<HeldRow>) =>
      tx.run(texts.removeAll, [dialect.list(Array.from(new Set(rows.map(({ hold_id }) => hold_id))))]),
    /**
     * Deletes the account. Succeeds with false if it has a hold whose rows are not locked: locking them now could
     * deadlock.
     */
    forget: (tx: Database.Access, account: string) =>
      Effect.zipRight(
        tx.run(texts.forgetAccount, [account]),
        Effect.map(tx.first(texts.heldIn, [account]), (row) => row === undefined)
      ),
    read: (access: Database.Access, account: string, now: number): Effect.Effect<Balance, SqlError> =>
      Effect.map(access.first<AccountRow>(texts.read, [now, account, now]), (row) =>
        balanceOf(row === undefined ? new Map() : new Map([[account, row]]), account)
      ),
    /**
     * The monthly accounts of a user, including expired ones. `CostLedger.close` deletes an account and its holds.
     */
    ofUser: (access: Database.Access, userId: string) => {
      const prefix = `user:${userId}:`
      const from = KeyText.encode(prefix)
      return Effect.map(access.rows<AccountRow>(texts.ofUser, [from, from + AFTER]), (rows) =>
        rows
          .map((row) => ({
            account: KeyText.decode(row.account),
            ...balanceOf(new Map([[row.account, row]]), row.account)
          }))
          // The id of another user may begin with this id and a colon.
          .filter(({ account }) => /^\d{4}-\d{2}$/.test(account.slice(prefix.length)))
      )
    },
    /**
     * Removes some expired holds and accounts. Must be the last step of a transaction, because it locks rows out of
     * order.
     */
    sweep: Effect.fnUntraced(function* (tx: Database.Access, now: number) {
      const expired = yield* tx.rows<{ readonly account: string }>(texts.accountsOver, [now])
      if (expired.length > 0) yield* giveBack(tx, Array.from(new Set(expired.map(({ account }) => account))), now)
      yield* tx.run(texts.sweepAccounts, [now])
    })
  }
}
