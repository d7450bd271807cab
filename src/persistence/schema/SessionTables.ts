/**
 * The tables of sessions.
 *
 * What every turn changes of a session is a narrow row (`lex_sessions`); what may be large and seldom changes lies
 * apart from it (`lex_session_states`), so that a turn does not write it again. A session that is deleted while
 * branches need some of its turns stays as a row without contents (`status` 4) until these go too: its id is taken as
 * long.
 *
 * Turns are numbered by the session that writes them (`place`). Those written one behind the other, each the parent of
 * the next, are a run (`run` is the place of its first one), so that a window of turns is a range of places; the first
 * one of a run knows where its parent lies.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * The statuses of sessions by their codes; behind them that of what is left of a deleted one.
 *
 * @category constants
 */
export const statuses = ["active", "suspended", "closed", "expired"] as const

/**
 * Below this a session is live.
 *
 * @category constants
 */
export const ended = 2

/**
 * @category constants
 */
export const deleted = 4

/**
 * The kinds of checkpoints by their codes; those of the first two may have to make room.
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
 * Of the second version: what runs were asked and have not answered yet, beside the turns, and until when the processes
 * that answer are there.
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
