/**
 * Where `SqlCostLedger` keeps its book.
 *
 * An account has what its holds come to, so that nothing is added up when it is asked for. A hold has a row for each of
 * its accounts, with its amount in each: whoever has an account locked gives back what is over in it, and needs no
 * other account for that.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  // `holds_until`: none of its holds is over before; NULL without holds.
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
