/**
 * Vectors in SQLite or Postgres, without any extension: exact search in this process.
 *
 * The vectors of an owner are read when the first search needs them and kept, those of owners that were asked for last,
 * until they take `cacheBytes`. What other processes write is seen by the next search: it reads what is new. An owner
 * with more than fits is read anew by every search.
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
  /** Of this index among those of the database; `memory` unless set. */
  readonly name?: string | undefined
  /**
   * Bytes of vectors that are kept in this process; 512 MiB unless set. 0: none, every search reads all of its owner.
   */
  readonly cacheBytes?: number | undefined
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

/**
 * An index for the vectors of a model, of which it has its own when the database has none of this name.
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
 * The index over a database that was migrated, for the vectors of the embedder. A `MemorySystemError` where it holds
 * those of another model.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(VectorIndex, built(options, false))

/**
 * As `layer`, and migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(VectorIndex, built(options, true))
