/**
 * The statements of `SqlCostLedger`. Names of accounts and holds are as `KeyText` makes them.
 *
 * Who changes an account has its row locked, so its holds are only added and given back by one at a time. What is over
 * is passed over while somebody else has it: that one waits for the account, and gives it back then.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Amount, Balance } from "../../governance/store/CostLedger.js"
import * as Database from "../engine/Database.js"
import * as Dialect from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * What is held in one account.
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
 * How accounts stand after they were written.
 *
 * @category models
 */
export type Standings = ReadonlyMap<string, AccountRow>

/** Where a hold without accounts stands: no name of an account is made into this text. */
const NOWHERE = "\u0001"

/** Behind whatever a name goes on with. */
const AFTER = "\ue000"

const MOST = Number.MAX_SAFE_INTEGER

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
 * How many holds stand in the account.
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
 * What is to be added to accounts.
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

const standing = "account, spent_usd, spent_tokens, reserved_usd, reserved_tokens, holds_until"

/** An account whose time is over counts as one that was never written. */
const added = (column: string): string => {
  const total = `(CASE WHEN a.expires_at <= excluded.changed_at THEN 0 ELSE a.${column} END + excluded.${column})`
  return `${column} = CASE WHEN ${total} > ${MOST} THEN ${MOST} ELSE ${total} END`
}

const tuple = "(?, ?, ?, ?, ?, ?, ?, ?)"

const upsert = (rows: number, where: string): string => `
  INSERT INTO lex_ledger_accounts AS a (
    account, spent_usd, spent_tokens, reserved_usd, reserved_tokens, holds_until, changed_at, expires_at
  ) VALUES ${new Array(rows).fill(tuple).join(", ")}
  ON CONFLICT (account) DO UPDATE SET
    ${added("spent_usd")},
    ${added("spent_tokens")},
    reserved_usd = a.reserved_usd + excluded.reserved_usd,
    reserved_tokens = a.reserved_tokens + excluded.reserved_tokens,
    holds_until = CASE
      WHEN excluded.holds_until IS NULL THEN a.holds_until
      WHEN a.holds_until < excluded.holds_until THEN a.holds_until
      ELSE excluded.holds_until END,
    changed_at = excluded.changed_at,
    expires_at = CASE WHEN a.expires_at > excluded.expires_at THEN a.expires_at ELSE excluded.expires_at END
  ${where}
  RETURNING ${standing}`

/** Rows of a sweep at most. */
const SWEPT = 64

/**
 * The statements by themselves, so that their plans can be looked at.
 *
 * @category constants
 */
export const statements = (dialect: Dialect.Dialect) => {
  const { forUpdate, forUpdateSkipLocked, oneOf, sql } = dialect
  return {
    write: (rows: number) => sql(upsert(rows, "")),
    writeAlone: sql(upsert(1, "WHERE a.holds_until IS NULL OR a.holds_until > excluded.changed_at")),
    remove: sql(
      "DELETE FROM lex_ledger_holds WHERE hold_id = ? AND expires_at > ? RETURNING hold_id, place, account, usd, tokens"
    ),
    renew: sql(
      `UPDATE lex_ledger_holds SET expires_at = ? WHERE (hold_id, place) IN (
        SELECT hold_id, place FROM lex_ledger_holds WHERE ${oneOf("hold_id")} AND expires_at > ?${forUpdateSkipLocked}
      ) RETURNING hold_id, account`
    ),
    lockShorter: sql(
      `SELECT account FROM lex_ledger_accounts WHERE ${oneOf("account")} AND expires_at < ? ORDER BY account${forUpdate}`
    ),
    keep: sql(`UPDATE lex_ledger_accounts SET expires_at = ? WHERE ${oneOf("account")}`),
    removeOver: sql(
      "DELETE FROM lex_ledger_holds WHERE hold_id = ? AND expires_at <= ? RETURNING hold_id, place, account, usd, tokens"
    ),
    removeOverIn: sql(
      `DELETE FROM lex_ledger_holds WHERE (hold_id, place) IN (
        SELECT hold_id, place FROM lex_ledger_holds WHERE ${oneOf("account")} AND expires_at <= ?${forUpdateSkipLocked}
      ) RETURNING account, usd, tokens`
    ),
    lower: sql(
      `UPDATE lex_ledger_accounts SET
        reserved_usd = reserved_usd - ?,
        reserved_tokens = reserved_tokens - ?,
        holds_until = (SELECT MIN(h.expires_at) FROM lex_ledger_holds h WHERE h.account = lex_ledger_accounts.account)
      WHERE account = ? RETURNING ${standing}`
    ),
    read: sql(
      `SELECT a.account, a.spent_usd, a.spent_tokens,
        a.reserved_usd - COALESCE(SUM(h.usd), 0) AS reserved_usd,
        a.reserved_tokens - COALESCE(SUM(h.tokens), 0) AS reserved_tokens
      FROM lex_ledger_accounts a
      LEFT JOIN lex_ledger_holds h ON h.account = a.account AND h.expires_at <= ?
      WHERE a.account = ? AND a.expires_at > ?
      GROUP BY a.account, a.spent_usd, a.spent_tokens, a.reserved_usd, a.reserved_tokens`
    ),
    lockHoldsIn: sql(
      `SELECT hold_id, place, account, usd, tokens, expires_at FROM lex_ledger_holds
      WHERE hold_id IN (SELECT hold_id FROM lex_ledger_holds WHERE account = ?)
      ORDER BY hold_id, place${forUpdate}`
    ),
    removeAll: sql(`DELETE FROM lex_ledger_holds WHERE ${oneOf("hold_id")}`),
    forgetAccount: sql("DELETE FROM lex_ledger_accounts WHERE account = ?"),
    heldIn: sql("SELECT hold_id FROM lex_ledger_holds WHERE account = ? LIMIT 1"),
    ofUser: sql(`SELECT ${standing} FROM lex_ledger_accounts WHERE account >= ? AND account < ? ORDER BY account`),
    accountsOver: sql(
      `SELECT h.account FROM lex_ledger_holds h JOIN lex_ledger_accounts a ON a.account = h.account
      WHERE h.expires_at <= ? ORDER BY h.expires_at LIMIT ${SWEPT}${forUpdateSkipLocked}`
    ),
    sweepAccounts: sql(
      `DELETE FROM lex_ledger_accounts WHERE account IN (
        SELECT a.account FROM lex_ledger_accounts a
        WHERE a.expires_at <= ? AND NOT EXISTS (SELECT 1 FROM lex_ledger_holds h WHERE h.account = a.account)
        ORDER BY a.expires_at LIMIT ${SWEPT}${forUpdateSkipLocked}
      )`
    )
  }
}

const insertHolds = Database.insertInto(
  "lex_ledger_holds",
  ["hold_id", "place", "account", "usd", "tokens", "expires_at"],
  "ON CONFLICT (hold_id, place) DO NOTHING"
)

const byText = (a: readonly [string, unknown], b: readonly [string, unknown]): number =>
  a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0

/**
 * @category constructors
 */
export const make = (dialect: Dialect.Dialect) => {
  const texts = statements(dialect)
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

  /** What is over in accounts that are locked. */
  const giveBack = Effect.fnUntraced(function* (tx: Database.Access, accounts: ReadonlyArray<string>, now: number) {
    const over = yield* tx.rows<HeldRow>(texts.removeOverIn, [dialect.list(accounts), now])
    const total = changes()
    total.giveBack(over)
    const rows: Array<AccountRow> = []
    for (const account of accounts) {
      const change = total.byAccount.get(account)
      const params = [0 - (change?.reservedUsd ?? 0), 0 - (change?.reservedTokens ?? 0), account]
      rows.push(...(yield* tx.rows<AccountRow>(texts.lower, params)))
    }
    return rows
  })

  const isOver = (row: AccountRow, now: number): boolean => row.holds_until !== null && Number(row.holds_until) <= now

  /** Locks the accounts, adds to them, and gives back what is over in them. */
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
    const over = Array.from(standings.values()).filter((row) => isOver(row, now))
    if (over.length > 0) {
      const accounts = over.map(({ account }) => account)
      for (const row of yield* giveBack(tx, accounts, now)) standings.set(row.account, row)
    }
    return standings
  })

  return {
    /** How many rows were added: fewer than `rowsOf` when there is a hold of this id. */
    open: (tx: Database.Access, open: Open): Effect.Effect<number, SqlError> => {
      const { nanoUsd, tokens } = open.accounts.length === 0 ? nothing : open.amount
      return tx.insert(
        insertHolds,
        places(open).map((account, place) => [open.id, place, account, nanoUsd, tokens, open.expiresAt])
      )
    },
    write,
    /** One statement, which does nothing and gives `undefined` where something is over. */
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
     * How many of the holds stand, until `holdsUntil` now. What somebody else has locked is settled or given back
     * there. Their accounts are kept as long; `holds_until` of an account is a lower bound and stays.
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
    /** The rows of a hold that stands. */
    remove: (tx: Database.Access, id: string, now: number) => tx.rows<HeldRow>(texts.remove, [id, now]),
    /** Those of one whose time is over. */
    removeOver: (tx: Database.Access, id: string, now: number) => tx.rows<HeldRow>(texts.removeOver, [id, now]),
    /** All rows of the holds of the account, those that are over as well. */
    lockHoldsIn: (tx: Database.Access, account: string) => tx.rows<LockedRow>(texts.lockHoldsIn, [account]),
    removeAll: (tx: Database.Access, rows: ReadonlyArray<HeldRow>) =>
      tx.run(texts.removeAll, [dialect.list(Array.from(new Set(rows.map(({ hold_id }) => hold_id))))]),
    /**
     * The account. False if something is held in it, whose rows are not locked: waiting for them could be waiting for
     * each other.
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
     * The accounts of a user's months, those that are over as well. `CostLedger.close` erases one, with what is held in
     * it.
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
          // Another user may be called as this one and go on with a colon.
          .filter(({ account }) => /^\d{4}-\d{2}$/.test(account.slice(prefix.length)))
      )
    },
    /** Some of what is over. To be done last: it waits for nobody, and nobody may wait for it while it does. */
    sweep: Effect.fnUntraced(function* (tx: Database.Access, now: number) {
      const over = yield* tx.rows<{ readonly account: string }>(texts.accountsOver, [now])
      if (over.length > 0) yield* giveBack(tx, Array.from(new Set(over.map(({ account }) => account))), now)
      yield* tx.run(texts.sweepAccounts, [now])
    })
  }
}
