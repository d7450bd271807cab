/**
 * Candidates that a database found, and the selected ones among them.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../../domain/Ids.js"
import type { MemoryRole, Selectable } from "../../memory/entry/Selection.js"
import type { VectorHit } from "../../memory/search/VectorIndex.js"
import type { Row } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * More vectors than any owner has.
 *
 * @category constants
 */
export const all = 2 ** 31 - 1

/** The fewest candidates if the selection may reject many. */
const some = 256

/**
 * Columns of an item.
 *
 * @category constants
 */
export const columns = (row: string): string =>
  ["id", "role", "timestamp", "session_id", "metadata", "expires_at"].map((column) => `${row}.${column}`).join(", ")

const empty: Selectable["metadata"] = Object.freeze({})

/**
 * The fields that a selection reads.
 *
 * @category conversions
 */
export const item = (row: Row): Selectable & { readonly id: EntryId; readonly expiresAt: number | undefined } => ({
  id: KeyText.decode(row.id) as EntryId,
  role: row.role as MemoryRole,
  timestamp: Number(row.timestamp),
  sessionId: row.session_id === null ? undefined : (KeyText.decode(row.session_id) as SessionId),
  metadata: row.metadata === "{}" ? empty : JSON.parse(row.metadata),
  expiresAt: row.expires_at === null ? undefined : Number(row.expires_at)
})

type Accepts = ((item: Selectable) => boolean) | undefined

/**
 * Rows with their `similarity`, nearest first, that are selected.
 *
 * @category conversions
 */
export const selected = (rows: ReadonlyArray<Row>, accepts: Accepts): ReadonlyArray<VectorHit> => {
  const hits: Array<VectorHit> = []
  for (const row of rows) {
    const { id, ...rest } = item(row)
    if (accepts !== undefined && !accepts(rest)) continue
    hits.push({ id, similarity: Math.max(-1, Math.min(1, Number(row.similarity))) })
  }
  return hits
}

/**
 * Requests more candidates while too few are selected.
 *
 * @category combinators
 */
export const until = <E, R>(
  options: { readonly limit: number; readonly isPartial: boolean; readonly accepts: Accepts },
  find: (limit: number) => Effect.Effect<ReadonlyArray<Row>, E, R>
): Effect.Effect<ReadonlyArray<VectorHit>, E, R> => {
  const { accepts, isPartial, limit } = options
  const ask = (count: number): Effect.Effect<ReadonlyArray<VectorHit>, E, R> =>
    Effect.flatMap(find(count), (rows) => {
      const hits = selected(rows, accepts)
      return hits.length >= limit || rows.length < count || count === all
        ? Effect.succeed(hits.slice(0, limit))
        : ask(Math.min(all, 4 * count))
    })
  return ask(isPartial ? Math.max(some, limit) : limit)
}

/**
 * The nearest of several results, each id once, in its last version.
 *
 * @category combinators
 */
export const merged = (hits: ReadonlyArray<VectorHit>, limit: number): ReadonlyArray<VectorHit> =>
  Array.from(new Map(hits.map((hit) => [hit.id, hit])).values())
    .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
