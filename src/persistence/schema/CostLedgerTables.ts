/**
 * Tables of `SqlCostLedger`.
 *
 * An account has the total of its holds, so that reads need no sum. A hold has a row with its amount for each of its
 * accounts: a transaction that has locked an account can release its expired holds without locking other accounts.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  // `holds_until`: no hold expires before this time; NULL without holds.
  `CREATE TABLE lex_ledger_accounts (
    account ${types.key} PRIMARY KEY,
    spent_usd ${types.number} NOT NULL,
    spent_tokens ${types.number} NOT NULL,
    reserved_usd ${types.number} NOT NULL,
    reserved_tokens ${types.number} NOT NULL,
    holds_until ${types.number},
    changed_at ${types.number} NOT NULL,
    expires_at ${types.number} NOT NULL
  )`,
  "CREATE INDEX lex_ledger_accounts_expiry ON lex_ledger_accounts (expires_at)",
  `CREATE TABLE lex_ledger_holds (
    hold_id ${types.key} NOT NULL,
    place ${types.integer} NOT NULL,
    account ${types.key} NOT NULL,
    usd ${types.number} NOT NULL,
    tokens ${types.number} NOT NULL,
    expires_at ${types.number} NOT NULL,
    PRIMARY KEY (hold_id, place)
  )`,
  "CREATE INDEX lex_ledger_holds_account ON lex_ledger_holds (account, expires_at)",
  "CREATE INDEX lex_ledger_holds_expiry ON lex_ledger_holds (expires_at)"
]
