/**
 * A `VectorIndex` in SQLite or Postgres without extensions: exact search in this process.
 *
 * The vectors of an owner are read by the first search and cached, least recently used owners being evicted beyond
 * `cacheBytes`. The next search reads what other processes wrote. An owner that does not fit is read by every search.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder } from "../../llm/embedding/Embedder.js"
import type { MemorySystemError } from "../../memory/entry/MemoryError.js"
import { type Service, VectorIndex } from "../../memory/search/VectorIndex.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as PlainVectors from "./PlainVectors.js"
import * as VectorFilling from "./VectorFilling.js"
import type { OnModelChange } from "./VectorSpaces.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Name of the index in the database. Default: `memory`. */
  readonly name?: string | undefined
  /**
   * The most bytes of cached vectors. With 0, every search reads all vectors of its owner. Default: 512 MiB.
   */
  readonly cacheBytes?: number | undefined
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

/**
 * An index for the vectors of a model. If the database has no index of this name, it belongs to this model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: MakeOptions
): Effect.Effect<Service, MigrationFailure | MemorySystemError, SqlClient.SqlClient> =>
  Effect.map(PlainVectors.open(options), ({ scan, ...vectors }) =>
    VectorFilling.service(vectors, { name: vectors.database.dialect.name, search: scan.search })
  )

const built = (
  options: Options | undefined,
  migrate: boolean
): Effect.Effect<Service, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Effect.flatMap(Embedder, ({ dimensions, model }) =>
    Effect.zipRight(MigrationRun.open({ migrate }), make({ ...options, model, dimensions }))
  )

/**
 * The index in a migrated database, for the vectors of the embedder. Fails with a `MemorySystemError` if it holds
 * vectors of another model.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(VectorIndex, built(options, false))

/**
 * Like `layer`, but migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { SqliteClient, SqlMemoryStore, SqlVectorIndex } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * // Entries of memory are found by words and by meaning.
 * const store = SqlMemoryStore.layerVectors().pipe(
 *   Layer.provide(SqlVectorIndex.layerMigrated({ cacheBytes: 64 * 1_048_576 })),
 *   Layer.provide([HashingEmbedder.layer(), SqliteClient.layer({ file: "agents.db" })])
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(VectorIndex, built(options, true))
