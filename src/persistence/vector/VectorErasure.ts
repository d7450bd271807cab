/**
 * Erases all vectors of an owner, in indexes of any name, model and kind. Vectors are not exported, because they are
 * derived from texts.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Access, Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as PgVectorTables from "../schema/PgVectorTables.js"

/**
 * Runs in a transaction and succeeds with the number of vectors. Afterwards other processes find none, even if they
 * cached some.
 *
 * @category combinators
 */
export const erase = ({ dialect }: Pick<Database, "dialect">) => {
  const of = (table: string) =>
    dialect.sql(`DELETE FROM ${table} WHERE space_id IN (SELECT id FROM lex_vector_indexes) AND owner_id = ?`)
  const hold = dialect.sql(
    `SELECT space_id FROM lex_vector_owners WHERE space_id IN (SELECT id FROM lex_vector_indexes) AND owner_id = ?
     ORDER BY space_id${dialect.forUpdate}`
  )
  const plain = of("lex_vectors")
  const graph = of(PgVectorTables.table)
  const owners = of("lex_vector_owners")
  const begin = dialect.sql("UPDATE lex_vector_indexes SET position = NULL WHERE id = ?")
  return (tx: Access, ownerId: string): Effect.Effect<number, SqlError> =>
    Effect.gen(function* () {
      const owner = KeyText.encode(ownerId)
      yield* tx.rows(hold, [owner])
      let count = yield* tx.run(plain, [owner])
      if (dialect.name === "postgres") {
        const row = yield* tx.first("SELECT to_regclass($1)::text AS name", [PgVectorTables.table])
        if (row?.name !== null) count += yield* tx.run(graph, [owner])
      }
      yield* tx.run(owners, [owner])
      // An embedding run that has reached this owner starts over and skips what has been done.
      for (const { id, position } of yield* tx.rows("SELECT id, position FROM lex_vector_indexes ORDER BY id")) {
        if (position !== null && JSON.parse(position).owner === ownerId) yield* tx.run(begin, [Number(id)])
      }
      return count
    })
}
