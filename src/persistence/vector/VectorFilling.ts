/**
 * Access to the rows of an index in a database, for filling it with vectors of another model.
 *
 * @private
 * @since 0.1.0
 */
import type { Service } from "../../memory/search/VectorIndex.js"
import type { Database } from "../engine/Database.js"
import type { VectorRows } from "./VectorRows.js"
import type { Space } from "./VectorSpaces.js"

/**
 * @category models
 */
export interface Filling {
  readonly database: Database
  readonly space: Space
  readonly rows: VectorRows
}

const known = new WeakMap<Service, Filling>()

/**
 * An index with its own name and search.
 *
 * @category constructors
 */
export const service = (filling: Filling, own: Pick<Service, "name" | "search">): Service => {
  const { clear, count, delete: remove, health, known: among, upsert } = filling.rows
  const { dimensions, model } = filling.space
  const index: Service = { ...own, model, dimensions, upsert, delete: remove, clear, count, known: among, health }
  known.set(index, filling)
  return index
}

/**
 * `undefined` for an index that is not in a database.
 *
 * @category getters
 */
export const of = (index: Service): Filling | undefined => known.get(index)
