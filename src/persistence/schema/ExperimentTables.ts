/**
 * Tables of experiments.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `body` is the experiment, or the entry; `trial` names the trial of an end, and is NULL for a beginning.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_experiments (
    id ${types.key} NOT NULL PRIMARY KEY,
    name ${types.key} NOT NULL,
    fingerprint ${types.key} NOT NULL,
    created_at ${types.number} NOT NULL,
    body ${types.text} NOT NULL
  )`,
  "CREATE INDEX lex_experiments_created_at ON lex_experiments (created_at, id)",
  "CREATE INDEX lex_experiments_name ON lex_experiments (name, created_at, id)",
  `CREATE TABLE lex_experiment_entries (
    number ${types.serial},
    experiment ${types.key} NOT NULL,
    trial ${types.key},
    body ${types.text} NOT NULL
  )`,
  "CREATE INDEX lex_experiment_entries_order ON lex_experiment_entries (experiment, number)",
  `CREATE UNIQUE INDEX lex_experiment_entries_trial ON lex_experiment_entries (experiment, trial)
  WHERE trial IS NOT NULL`
]
