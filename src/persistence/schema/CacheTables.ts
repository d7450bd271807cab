/**
 * Tables of caches.
 *
 * @internal
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `name` is that of the cache. Nothing says whose an entry is: what is to be forgotten of somebody is forgotten with
 * the whole cache.
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
