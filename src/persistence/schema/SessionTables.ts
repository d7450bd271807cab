/**
 * Tables of sessions.
 *
 * The fields that every turn changes are in a narrow row (`lex_sessions`); large, rarely changed fields are apart
 * (`lex_session_states`), so that a turn does not rewrite them. A session deleted while branches need some of its turns
 * remains as a row without contents (`status` 4) until these turns are deleted too; its id stays taken until then.
 *
 * Turns are numbered by the session that writes them (`place`). Consecutive turns, each the parent of the next, form a
 * run (`run` is the place of its first turn), so that a window of turns is a range of places. The first turn of a run
 * has the place of its parent.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * Codes of the session statuses; the next code marks the remains of a deleted session.
 *
 * @category constants
 */
export const statuses = ["active", "suspended", "closed", "expired"] as const

/**
 * Statuses below this code are live.
 *
 * @category constants
 */
export const ended = 2

/**
 * @category constants
 */
export const deleted = 4

/**
 * Codes of the checkpoint kinds. The first two kinds may be trimmed.
 *
 * @category constants
 */
export const kinds = ["manual", "auto", "fork", "merge"] as const

/**
 * @category constants
 */
export const bounded = 2

/**
 * @category schemas
 */
export const tables = ({ types: { integer, key, number, text } }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_sessions (
    id ${key} NOT NULL PRIMARY KEY,
    user_id ${key} NOT NULL,
    parent_id ${key},
    root_id ${key} NOT NULL,
    status ${integer} NOT NULL,
    created_at ${number} NOT NULL,
    updated_at ${number} NOT NULL,
    revision ${number} NOT NULL,
    fence ${number} NOT NULL DEFAULT 0,
    head_session ${key},
    head_turn ${key},
    depth ${number} NOT NULL,
    total_tokens ${number} NOT NULL,
    total_cost ${number} NOT NULL,
    checkpoint_id ${key},
    turns ${integer} NOT NULL DEFAULT 0,
    run ${integer} NOT NULL DEFAULT 0,
    is_tip ${integer} NOT NULL DEFAULT 0,
    is_heavy ${integer} NOT NULL DEFAULT 0,
    base_session ${key},
    base_run ${integer},
    base_place ${integer}
  )`,
  "CREATE INDEX lex_sessions_created ON lex_sessions (status, created_at, id)",
  "CREATE INDEX lex_sessions_updated ON lex_sessions (status, updated_at, id)",
  "CREATE INDEX lex_sessions_live ON lex_sessions (updated_at, id) WHERE status < 2",
  "CREATE INDEX lex_sessions_user_created ON lex_sessions (user_id, status, created_at, id)",
  "CREATE INDEX lex_sessions_user_updated ON lex_sessions (user_id, status, updated_at, id)",
  "CREATE INDEX lex_sessions_parent ON lex_sessions (parent_id, status, created_at, id) WHERE parent_id IS NOT NULL",
  "CREATE INDEX lex_sessions_root ON lex_sessions (root_id, status, created_at, id)",
  `CREATE INDEX lex_sessions_base ON lex_sessions (base_session, base_run, base_place)
    WHERE base_session IS NOT NULL`,
  `CREATE TABLE lex_session_states (
    session_id ${key} NOT NULL PRIMARY KEY,
    body ${text},
    ref ${key},
    state ${text},
    state_ref ${key}
  )`,
  `CREATE TABLE lex_session_turns (
    session_id ${key} NOT NULL,
    place ${integer} NOT NULL,
    run ${integer} NOT NULL,
    turn_id ${key} NOT NULL,
    parent_session ${key},
    parent_run ${integer},
    parent_place ${integer},
    body ${text},
    ref ${key},
    PRIMARY KEY (session_id, place)
  )`,
  "CREATE UNIQUE INDEX lex_session_turns_id ON lex_session_turns (session_id, turn_id)",
  `CREATE INDEX lex_session_turns_parent ON lex_session_turns (parent_session, parent_run, parent_place)
    WHERE parent_session IS NOT NULL`,
  `CREATE TABLE lex_session_checkpoints (
    id ${key} NOT NULL PRIMARY KEY,
    session_id ${key} NOT NULL,
    revision ${number} NOT NULL,
    kind ${integer} NOT NULL,
    merged_id ${key},
    body ${text},
    ref ${key},
    state ${text},
    state_ref ${key}
  )`,
  "CREATE INDEX lex_session_checkpoints_kind ON lex_session_checkpoints (session_id, kind, revision, id)",
  `CREATE INDEX lex_session_checkpoints_bounded ON lex_session_checkpoints (session_id, revision, id)
    WHERE kind < 2`,
  `CREATE INDEX lex_session_checkpoints_merged ON lex_session_checkpoints (session_id, merged_id, revision, id)
    WHERE merged_id IS NOT NULL`
]

/**
 * Tables of the second version: open exchanges, and the leases of the processes that answer them.
 *
 * @category schemas
 */
export const exchanges = ({ types: { key, number, text } }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_session_exchanges (
    session_id ${key} NOT NULL,
    run_id ${key} NOT NULL,
    owner_id ${key},
    body ${text} NOT NULL,
    PRIMARY KEY (session_id, run_id)
  )`,
  `CREATE INDEX lex_session_exchanges_owner ON lex_session_exchanges (owner_id, session_id, run_id)
    WHERE owner_id IS NOT NULL`,
  `CREATE TABLE lex_session_leases (
    owner_id ${key} NOT NULL PRIMARY KEY,
    until ${number} NOT NULL
  )`,
  "CREATE INDEX lex_session_leases_until ON lex_session_leases (until, owner_id)"
]
