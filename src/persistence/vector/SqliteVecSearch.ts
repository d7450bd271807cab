/**
 * Searches vectors with the distance function of `sqlite-vec` over ordinary rows, so that every selection is possible
 * and no second copy must be kept in sync.
 *
 * SQLite runs in this thread. A search of many vectors is split by revisions, and yields to the event loop in between.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { nextTurn } from "../../internal/fiber/NextTurn.js"
import { MemoryStoreError } from "../../memory/entry/MemoryError.js"
import { predicate } from "../../memory/entry/Selection.js"
import type { Service, VectorHit } from "../../memory/search/VectorIndex.js"
import type { Database, Row } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as PlainVectors from "./PlainVectors.js"
import * as VectorCandidates from "./VectorCandidates.js"
import type { VectorRows } from "./VectorRows.js"
import * as VectorSelection from "./VectorSelection.js"
import type { Space } from "./VectorSpaces.js"

/** Numbers that SQLite compares between two turns of the event loop: some ten milliseconds. */
const WORK = 2_000_000

/**
 * @category constructors
 */
export const make = (
  database: Database,
  options: { readonly space: Space; readonly rows: Pick<VectorRows, "checked" | "guarded" | "health"> }
): Service["search"] => {
  const { rows, space } = options
  const stretch = Math.max(64, Math.floor(WORK / space.dimensions))
  const end = `SELECT revision, id FROM ${space.table} WHERE space_id = ? AND owner_id = ? AND (revision, id) > (?, ?)
    ORDER BY revision, id LIMIT 1 OFFSET ${stretch - 1}`
  const texts = new Map<string, string>()
  // A zero vector is stored as one byte, and its cosine with every vector is 0.
  const nearest = (conditions: string, isZero: boolean): string => {
    const distance = isZero
      ? "CASE WHEN ? IS NULL THEN 1 ELSE 0 END"
      : `CASE WHEN length(v.vector) = 1 THEN ${Math.SQRT2} ELSE vec_distance_l2(v.vector, ?) END`
    const key = `${isZero}${conditions}`
    const text =
      texts.get(key) ??
      `SELECT ${VectorCandidates.columns("v")}, ${distance} AS distance, length(v.vector) AS length FROM ${space.table} v
       WHERE v.space_id = ? AND v.owner_id = ? AND (v.revision, v.id) > (?, ?) AND (v.revision, v.id) <= (?, ?)
         AND (v.expires_at IS NULL OR v.expires_at > ?)${conditions}
       ORDER BY distance, v.id LIMIT ?`
    texts.set(key, text)
    return text
  }
  // Vectors have length 1, so the cosine follows from their distance.
  const measured = (row: Row, isZero: boolean): Row => ({
    ...row,
    similarity: isZero || row.length === 1 ? 0 : 1 - row.distance ** 2 / 2
  })
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
      const { isPartial, params, sql } = VectorSelection.conditions(database.dialect, "v", selection ?? {})
      const isZero = query.every((x) => x === 0)
      const text = nearest(sql, isZero)
      const bytes = isZero ? "" : PlainVectors.bytesOf(query)
      let best: ReadonlyArray<VectorHit> = []
      let from: readonly [revision: number, id: string] = [0, ""]
      for (;;) {
        const last = yield* rows.guarded(database.first(end, [space.id, owner, ...from]))
        const to: readonly [revision: number, id: string] =
          last === undefined ? [Number.MAX_VALUE, ""] : [Number(last.revision), last.id]
        const bounds = [bytes, space.id, owner, ...from, ...to, now, ...params]
        const found = yield* VectorCandidates.until({ limit: wanted, isPartial, accepts }, (count) =>
          Effect.map(rows.guarded(database.rows(text, [...bounds, count])), (found) =>
            found.map((row) => measured(row, isZero))
          )
        )
        best = best.length === 0 ? found : VectorCandidates.merged([...best, ...found], wanted)
        if (last === undefined) return best
        from = to
        yield* nextTurn
      }
    })
}
