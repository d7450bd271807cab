/**
 * A `VectorIndex` in Postgres with the extension pgvector (0.8 or later). A graph (HNSW, Malkov and Yashunin 2016)
 * finds the nearest vectors without comparing all of them.
 *
 * For an owner with few vectors the search is exact and compares all of them. For others the graph returns the nearest
 * vectors of all owners, and continues until enough belong to the owner and the selection; if it returns too few, all
 * selected vectors of the owner are compared. Results of the graph are ordered by the exact cosine.
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
  /** Name of the index in the database. Default: `memory`. */
  readonly name?: string | undefined
  /**
   * Precision of the graph. `single` (32 bits) allows up to 2,000 dimensions; `half` (16 bits) halves its size and
   * allows up to 4,000. Vectors are stored and finally compared with 32 bits. Default: `single`.
   */
  readonly precision?: "single" | "half" | undefined
  /** Owners with fewer vectors are searched without the graph. Default: 5,000. */
  readonly exactBelow?: number | undefined
  /**
   * Candidates that the graph keeps during a search, 1 to 1,000. More candidates find more and take longer. Default:
   * 100.
   */
  readonly efSearch?: number | undefined
  /** The most vectors of all owners that the graph visits per search. Default: 20,000. */
  readonly maxScanTuples?: number | undefined
  /**
   * What to do if the database holds vectors of another model or length. `fail`: the layer fails. `reembed`: a new
   * index starts beside the old one, `VectorReembedding` fills it, and searches find the vectors of the new model so
   * far. An empty index accepts any model. Default: `fail`.
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

/** Limits of an index of pgvector. */
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
      // Checked first, because CREATE INDEX IF NOT EXISTS waits for all writers.
      return Effect.flatMap(tx.first("SELECT to_regclass($1)::text AS name", [index]), (row) =>
        row?.name === null ? Effect.asVoid(tx.run(create)) : Effect.void
      )
    }
  })
}

/**
 * An index for the vectors of a model. If the database has no index of this name, it belongs to this model.
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
 * The index in a migrated database (see `layerMigrated`), for the vectors of the embedder. Fails with a
 * `MemorySystemError` if it holds vectors of another model, and with a `PersistenceConfigurationError` without
 * pgvector.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  builtLayer(options, false)

/**
 * Like `layer`, but first migrates the database, creates the extension if the user may, and creates the table.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { PgVectorIndex, PostgresClient, SqlMemoryStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // Entries of memory are found by words and by meaning.
 * const store = SqlMemoryStore.layerVectors().pipe(
 *   Layer.provide(PgVectorIndex.layerMigrated({ precision: "half" })),
 *   Layer.provide(HashingEmbedder.layer()),
 *   Layer.provide(PostgresClient.layer({ url: Redacted.make("postgres://localhost/agents") }))
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  builtLayer(options, true)
