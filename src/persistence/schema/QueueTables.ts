/**
 * Tables of the queue of runs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `state` of a run: 0 is delayed, 1 waits, 2 is claimed. A lane is what waits of one owner and agent; `turn` says when
 * the owner had its last turn. `lex_queue_totals` has one row, which every change of the queue locks.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_queue (
    run_id ${types.key} NOT NULL PRIMARY KEY,
    owner ${types.key} NOT NULL,
    user_id ${types.key},
    agent ${types.key} NOT NULL,
    fingerprint ${types.key} NOT NULL,
    state ${types.integer} NOT NULL,
    rank ${types.number} NOT NULL,
    not_before ${types.number} NOT NULL,
    worker ${types.key},
    lease_until ${types.number},
    cancelled ${types.integer} NOT NULL,
    body ${types.text} NOT NULL
  )`,
  "CREATE INDEX lex_queue_waiting ON lex_queue (owner, agent, rank, run_id) WHERE state = 1",
  "CREATE INDEX lex_queue_delayed ON lex_queue (not_before, run_id) WHERE state = 0",
  "CREATE INDEX lex_queue_claimed ON lex_queue (lease_until, run_id) WHERE state = 2",
  "CREATE INDEX lex_queue_worker ON lex_queue (worker) WHERE state = 2",
  "CREATE INDEX lex_queue_claims ON lex_queue (owner, agent) WHERE state = 2",
  "CREATE INDEX lex_queue_owner ON lex_queue (owner, state)",
  `CREATE TABLE lex_queue_lanes (
    owner ${types.key} NOT NULL,
    agent ${types.key} NOT NULL,
    turn ${types.number} NOT NULL,
    waiting ${types.number} NOT NULL,
    PRIMARY KEY (owner, agent)
  )`,
  "CREATE INDEX lex_queue_lanes_turn ON lex_queue_lanes (agent, turn, owner)",
  `CREATE TABLE lex_queue_totals (
    name ${types.key} NOT NULL PRIMARY KEY,
    turn ${types.number} NOT NULL,
    waiting ${types.number} NOT NULL
  )`
]
