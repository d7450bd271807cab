/**
 * The statements of `SqlCostLedger`.
 *
 * @private
 * @since 0.1.0
 */
import * as Database from "../engine/Database.js"
import type * as Dialect from "../engine/Dialect.js"

/**
 * The highest total of an account.
 *
 * @category constants
 */
export const MOST = Number.MAX_SAFE_INTEGER

const standing = "account, spent_usd, spent_tokens, reserved_usd, reserved_tokens, holds_until"

/** An expired account counts as empty. */
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

/** The most rows that one sweep changes. */
const SWEPT = 64

/**
 * Exported so that tests can check the query plans.
 *
 * @category constructors
 */
export const make = (dialect: Dialect.Dialect) => {
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

/**
 * @category constants
 */
export const insertHolds = Database.insertInto(
  "lex_ledger_holds",
  ["hold_id", "place", "account", "usd", "tokens", "expires_at"],
  "ON CONFLICT (hold_id, place) DO NOTHING"
)
