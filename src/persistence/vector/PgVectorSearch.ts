/**
 * Searches vectors with pgvector.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Vector } from "../../llm/embedding/Embedder.js"
import { MemoryStoreError } from "../../memory/entry/MemoryError.js"
import { predicate } from "../../memory/entry/Selection.js"
import type { Service } from "../../memory/search/VectorIndex.js"
import type { Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as VectorCandidates from "./VectorCandidates.js"
import type { VectorRows } from "./VectorRows.js"
import * as VectorSelection from "./VectorSelection.js"
import type { Space } from "./VectorSpaces.js"

/**
 * @category models
 */
export interface Options {
  readonly space: Space
  readonly rows: Pick<VectorRows, "checked" | "guarded" | "health">
  readonly textOf: (vector: Vector) => string
  readonly type: "vector" | "halfvec"
  readonly exactBelow: number
  readonly efSearch: number
  readonly maxScanTuples: number
}

/**
 * Statements, whose conditions have a bounded number of texts.
 *
 * @category constructors
 */
export const statements = (
  { dialect }: Pick<Database, "dialect">,
  { space, type }: Pick<Options, "space" | "type">
): {
  readonly exact: (conditions: string) => string
  readonly graph: (conditions: string) => string
} => {
  const { dimensions, id, table } = space
  const whole = `${type}(${dimensions})`
  const columns = VectorCandidates.columns("v")
  const alive = "v.owner_id = ? AND (v.expires_at IS NULL OR v.expires_at > ?)"
  const kept = (make: (conditions: string) => string) => {
    const texts = new Map<string, string>()
    return (conditions: string): string => {
      const text = texts.get(conditions) ?? dialect.sql(make(conditions))
      texts.set(conditions, text)
      return text
    }
  }
  return {
    // For normalized vectors the inner product is the cosine; it is 0 for a zero vector. No graph uses this distance.
    exact: kept(
      (conditions) =>
        `SELECT ${columns}, 0 - (v.vector <#> ?::vector) AS similarity FROM ${table} v
         WHERE v.space_id = ${id} AND ${alive}${conditions} ORDER BY similarity DESC, v.id LIMIT ?`
    ),
    graph: kept(
      (conditions) =>
        `SELECT ${columns}, 0 - (v.vector <#> ?::vector) AS similarity FROM (
           SELECT ${columns}, v.vector FROM ${table} v WHERE v.space_id = ${id} AND ${alive}${conditions}
           ORDER BY v.vector::${whole} <=> ?::${whole} LIMIT ?
         ) v ORDER BY similarity DESC, v.id`
    )
  }
}

/**
 * Settings for the transaction of a search.
 *
 * @category constants
 */
export const settings =
  "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', $1, true), set_config('hnsw.max_scan_tuples', $2, true)"

/**
 * @category constructors
 */
export const make = (database: Database, options: Options): Service["search"] => {
  const { efSearch, exactBelow, maxScanTuples, rows, space, textOf } = options
  const { dialect } = database
  const sql = statements(database, options)
  const most = Math.min(exactBelow, VectorCandidates.all - 1)
  // Detects an owner with few vectors by reading that many.
  const few = dialect.sql(
    `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${space.table} WHERE space_id = ? AND owner_id = ? LIMIT ${most + 1}) counted`
  )
  const tuning = [String(efSearch), String(maxScanTuples)]
  return (ownerId, vector, { limit, selection }) =>
    Effect.gen(function* () {
      const query = rows.checked(vector)
      if (query instanceof MemoryStoreError) return yield* query
      yield* rows.health
      if (!(limit >= 1)) return []
      const wanted = Math.min(Math.floor(limit), VectorCandidates.all)
      const now = yield* Clock.currentTimeMillis
      const owner = KeyText.encode(ownerId)
      const accepts = selection === undefined ? undefined : predicate(selection)
      const conditions = VectorSelection.conditions(dialect, "v", selection ?? {})
      const text = textOf(query)
      const bounds = [owner, now, ...conditions.params]
      const count = yield* rows.guarded(database.first(few, [space.id, owner]))
      // A graph of cosines does not contain zero vectors and finds nothing for one.
      if (Number(count?.n) > most && query.some((x) => x !== 0)) {
        // A few more, so that equally near candidates can be ordered.
        const candidates = Math.min(VectorCandidates.all, 2 * wanted + 16)
        const found = yield* rows.guarded(
          database.transaction((tx) =>
            Effect.zipRight(
              tx.rows(settings, tuning),
              tx.rows(sql.graph(conditions.sql), [text, ...bounds, text, candidates])
            )
          )
        )
        const hits = VectorCandidates.selected(found, accepts).slice(0, wanted)
        const last = hits[wanted - 1]
        if (last !== undefined && last.similarity > 0) return hits
      }
      return yield* VectorCandidates.until({ limit: wanted, isPartial: conditions.isPartial, accepts }, (count) =>
        rows.guarded(database.rows(sql.exact(conditions.sql), [text, ...bounds, count]))
      )
    })
}
