/**
 * Tables of vectors.
 *
 * Vectors of one model and length form a space: a row of `lex_vector_indexes`. An index has one active space, and
 * during a change of the model a second one that is being filled. Ids of spaces are never reused, so a process that
 * missed the change cannot write into another space.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * Columns of a vector row except the vector. `tags` are equality conditions of selections, `beginning` is
 * `Selection.beginning`.
 *
 * @category constants
 */
export const columns = [
  "space_id",
  "owner_id",
  "id",
  "revision",
  "role",
  "timestamp",
  "session_id",
  "beginning",
  "metadata",
  "tags",
  "expires_at",
  "vector"
] as const

/**
 * A vector table and its indexes. The index by revision serves readers that catch up, and counts without reading
 * vectors.
 *
 * @category schemas
 */
export const table = ({ name, types }: Dialect, of: { readonly table: string; readonly vector: string }) => [
  `CREATE TABLE ${of.table} (
    space_id ${types.integer} NOT NULL,
    owner_id ${types.key} NOT NULL,
    id ${types.key} NOT NULL,
    revision ${types.number} NOT NULL,
    role ${types.key} NOT NULL,
    timestamp ${types.number} NOT NULL,
    session_id ${types.key},
    beginning ${types.number} NOT NULL,
    metadata ${types.text} NOT NULL,
    tags ${name === "sqlite" ? types.text : "TEXT[]"} NOT NULL,
    expires_at ${types.number},
    vector ${of.vector} NOT NULL,
    PRIMARY KEY (space_id, owner_id, id)
  )`,
  `CREATE INDEX ${of.table}_revision ON ${of.table} (space_id, owner_id, revision, id, expires_at)`,
  `CREATE INDEX ${of.table}_expiry ON ${of.table} (expires_at) WHERE expires_at IS NOT NULL`
]

/**
 * @category schemas
 */
export const tables = (dialect: Dialect): ReadonlyArray<string> => {
  const { types } = dialect
  return [
    `CREATE TABLE lex_vector_indexes (
      id ${types.serial},
      kind ${types.key} NOT NULL,
      name ${types.key} NOT NULL,
      model ${types.key} NOT NULL,
      dimensions ${types.integer} NOT NULL,
      active ${types.integer} NOT NULL,
      created_at ${types.number} NOT NULL,
      position ${types.text},
      claim ${types.key},
      claimed_until ${types.number},
      UNIQUE (kind, name, model, dimensions)
    )`,
    // Refers to its space, so that nothing is written into a deleted one.
    `CREATE TABLE lex_vector_owners (
      space_id ${types.integer} NOT NULL REFERENCES lex_vector_indexes (id),
      owner_id ${types.key} NOT NULL,
      incarnation ${types.key} NOT NULL,
      revision ${types.number} NOT NULL,
      purged ${types.number} NOT NULL,
      PRIMARY KEY (space_id, owner_id)
    )`,
    ...table(dialect, { table: "lex_vectors", vector: types.bytes })
  ]
}
