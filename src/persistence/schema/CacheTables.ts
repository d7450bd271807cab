/**
 * Tables of caches.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `name` is the name of the cache. Entries do not record their owners, so erasing an owner clears the whole cache.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_cache (
    name ${types.key} NOT NULL,
    entry ${types.key} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    expires_at ${types.number},
    used_at ${types.number} NOT NULL,
    PRIMARY KEY (name, entry)
  )`,
  "CREATE INDEX lex_cache_used ON lex_cache (name, used_at, entry)",
  "CREATE INDEX lex_cache_expires ON lex_cache (expires_at) WHERE expires_at IS NOT NULL"
]
