/**
 * Tables of blobs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * Bytes by owner, scope and hash. Ids have at most 256 characters, so that the key fits into an index of Postgres with
 * owners by `IndexKey` and scopes by `KeyText`. The bytes come last: SQLite reads the columns before them without
 * reading them.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_blobs (
    owner_id ${types.key} NOT NULL,
    scope ${types.key} NOT NULL,
    hash ${types.key} NOT NULL,
    media_type ${types.text} NOT NULL,
    size ${types.number} NOT NULL,
    data ${types.bytes} NOT NULL,
    PRIMARY KEY (owner_id, scope, hash)
  )`
]
