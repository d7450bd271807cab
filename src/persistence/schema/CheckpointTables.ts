/**
 * Tables of checkpoints.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * Rows of a thread are found by `thread_id`. The `revision` of a thread is the number of its last checkpoint. Its
 * checkpoints share pieces, which are deleted with the thread.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_threads (
    thread_id ${types.key} NOT NULL PRIMARY KEY,
    revision ${types.number} NOT NULL,
    fence ${types.number} NOT NULL DEFAULT 0
  )`,
  `CREATE TABLE lex_checkpoints (
    thread_id ${types.key} NOT NULL,
    number ${types.number} NOT NULL,
    id ${types.key} NOT NULL,
    namespace ${types.key} NOT NULL,
    body ${types.text},
    ref ${types.key},
    metadata ${types.text} NOT NULL,
    PRIMARY KEY (thread_id, number),
    UNIQUE (thread_id, id)
  )`,
  "CREATE INDEX lex_checkpoints_namespace ON lex_checkpoints (thread_id, namespace, number)",
  `CREATE TABLE lex_checkpoint_writes (
    thread_id ${types.key} NOT NULL,
    number ${types.number} NOT NULL,
    node ${types.key} NOT NULL,
    position ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (thread_id, number, node)
  )`,
  `CREATE TABLE lex_checkpoint_pieces (
    thread_id ${types.key} NOT NULL,
    hash ${types.key} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (thread_id, hash)
  )`
]

/**
 * `user_id` is the owner of a thread. Earlier threads have no owner.
 *
 * @category schemas
 */
export const owners = ({ types }: Dialect): ReadonlyArray<string> => [
  `ALTER TABLE lex_threads ADD COLUMN user_id ${types.key}`,
  "CREATE INDEX lex_threads_user_id ON lex_threads (user_id, thread_id) WHERE user_id IS NOT NULL"
]
