/**
 * Vectors in Postgres by its extension pgvector (0.8 or later): a graph (HNSW, Malkov and Yashunin 2016) finds the
 * nearest without looking at all of them.
 *
 * An owner of few vectors is searched exactly: all of them are compared. Of the others the graph gives the nearest of
 * everybody, and goes on until enough are the owner's and selected; where it gives too few, all that is selected of the
 * owner is compared. What the graph gave is ordered by the exact cosine.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import { Embedder, type Vector } from "../../llm/embedding/Embedder.js"
import type { MemorySystemError } from "../../memory/entry/MemoryError.js"
import { type Service, VectorIndex } from "../../memory/search/VectorIndex.js"
import type { Database } from "../engine/Database.js"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as PgVectorTables from "../schema/PgVectorTables.js"
import * as PgVectorSearch from "./PgVectorSearch.js"
import * as VectorFilling from "./VectorFilling.js"
import * as VectorRows from "./VectorRows.js"
import type { OnModelChange } from "./VectorSpaces.js"
import * as VectorSpaces from "./VectorSpaces.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Of this index among those of the database; `memory` unless set. */
  readonly name?: string | undefined
  /**
   * Of the numbers in the graph; `single` (32 bits) unless set, up to 2,000 dimensions. `half` (16 bits) makes it half
   * as large and takes up to 4,000; vectors are kept, and compared in the end, with 32 bits.
   */
  readonly precision?: "single" | "half" | undefined
  /** Owners with fewer vectors are searched without the graph; 5,000 unless set. */
  readonly exactBelow?: number | undefined
  /** Candidates that the graph holds while it searches, 1 to 1,000: more find more, and take longer. 100 unless set. */
  readonly efSearch?: number | undefined
  /** Vectors at most, of everybody, that the graph goes through for one search; 20,000 unless set. */
  readonly maxScanTuples?: number | undefined
  /**
   * When the database holds vectors of another model or length. `fail` (unless set): the layer is not built. `reembed`:
   * the index begins anew beside them, and `VectorReembedding` makes their vectors again; searches find what there is
   * of the new model. An index without a vector takes any model.
   */
  readonly onModelChange?: OnModelChange | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MakeOptions extends Options {
  readonly model: string
  readonly dimensions: number
}

/** What an index of pgvector takes. */
const most = { single: 2_000, half: 4_000 } as const

const types = {
  single: { type: "vector", operators: "vector_cosine_ops" },
  half: { type: "halfvec", operators: "halfvec_cosine_ops" }
} as const

const textOf = (vector: Vector): string => `[${vector.join(",")}]`

const open = (
  database: Database,
  options: MakeOptions
): Effect.Effect<VectorSpaces.Space, MigrationFailure | MemorySystemError> => {
  const { dimensions, precision = "single" } = options
  if (dimensions > most[precision]) {
    return Effect.fail(
      new PersistenceConfigurationError({
        message: `An index of pgvector with ${precision} precision takes up to ${most[precision]} dimensions, not ${dimensions}`,
        hint: dimensions <= most.half ? 'Give it precision: "half"' : "Ask the model for shorter vectors"
      })
    )
  }
  const { table } = PgVectorTables
  const { operators, type } = types[precision]
  return VectorSpaces.open(database, {
    kind: "pgvector",
    table,
    name: options.name ?? VectorSpaces.defaultName,
    model: options.model,
    dimensions,
    onModelChange: options.onModelChange ?? "fail",
    prepared: (tx, id) => {
      const index = VectorSpaces.indexOf({ table, id }, precision)
      const create = `CREATE INDEX ${index} ON ${table} USING hnsw ((vector::${type}(${dimensions})) ${operators}) WHERE space_id = ${id}`
      // Asked first: to create it if it is not there would wait for everybody who writes.
      return Effect.flatMap(tx.first("SELECT to_regclass($1)::text AS name", [index]), (row) =>
        row?.name === null ? Effect.asVoid(tx.run(create)) : Effect.void
      )
    }
  })
}

/**
 * An index for the vectors of a model, of which it has its own when the database has none of this name.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: MakeOptions
): Effect.Effect<Service, MigrationFailure | MemorySystemError, SqlClient.SqlClient> => built(options, false)

const built = (
  options: MakeOptions,
  migrate: boolean
): Effect.Effect<Service, MigrationFailure | MemorySystemError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const database = yield* MigrationRun.open({ migrate })
    yield* PgVectorTables.open(database, { migrate })
    const space = yield* open(database, options)
    const name = "pgvector"
    const rows = VectorRows.make(database, { name, space, encode: textOf })
    const search = PgVectorSearch.make(database, {
      space,
      rows,
      textOf,
      type: types[options.precision ?? "single"].type,
      exactBelow: Count.count(options.exactBelow, 5_000, 0),
      efSearch: Math.min(1_000, Count.count(options.efSearch, 100, 1)),
      maxScanTuples: Math.min(2 ** 31 - 1, Count.count(options.maxScanTuples, 20_000, 1))
    })
    return VectorFilling.service({ database, rows, space }, { name, search })
  })

const builtLayer = (
  options: Options | undefined,
  migrate: boolean
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(
    VectorIndex,
    Effect.flatMap(Embedder, ({ dimensions, model }) => built({ ...options, model, dimensions }, migrate))
  )

/**
 * The index over a database that was migrated, by `layerMigrated` of this index too, for the vectors of the embedder. A
 * `MemorySystemError` where it holds those of another model, a `PersistenceConfigurationError` without pgvector.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  builtLayer(options, false)

/**
 * As `layer`, and migrates the database first: creates the extension, where its user may, and the table.
 *
 * ```ts
 * import { PgVectorIndex } from "effect-lexigram/persistence"
 * import { PgClient } from "@effect/sql-pg"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const client = PgClient.layer({ url: Redacted.make("postgres://localhost/agents") })
 * const index = PgVectorIndex.layerMigrated().pipe(Layer.provide(client))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  builtLayer(options, true)
