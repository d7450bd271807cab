/**
 * A `VectorIndex` in SQLite: exact search in this process or with the extension `sqlite-vec`.
 *
 * `scan` works like `SqlVectorIndex`: the vectors of recently searched owners are cached in this process, and a search
 * yields to others while it compares. `sqlite-vec` caches nothing: SQLite reads and compares the vectors for every
 * search, some thousand at a time. Both use the same table, so an index can be opened either way.
 *
 * For 100,000 vectors of 384 numbers of one owner a scan takes some 40 ms, the first one, which reads them, about two
 * seconds, and they take 170 MB of this process. `sqlite-vec` takes about a quarter of a second each time, because
 * every row is read and compared: use it for owners of up to some ten thousand vectors, or if memory is scarce.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder } from "../../llm/embedding/Embedder.js"
import type { MemorySystemError } from "../../memory/entry/MemoryError.js"
import { type Service, VectorIndex } from "../../memory/search/VectorIndex.js"
import type { Database } from "../engine/Database.js"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as PlainVectors from "./PlainVectors.js"
import * as SqliteVecSearch from "./SqliteVecSearch.js"
import type * as SqlVectorIndex from "./SqlVectorIndex.js"
import * as VectorFilling from "./VectorFilling.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends SqlVectorIndex.Options {
  /**
   * `sqlite-vec` needs a client with the extension: `SqliteClient.layer({ extensions: ["sqlite-vec"] })`. It ignores
   * `cacheBytes`. Default: `scan`.
   */
  readonly search?: "scan" | "sqlite-vec" | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface MakeOptions extends Options {
  readonly model: string
  readonly dimensions: number
}

const isLoaded = (database: Database): Effect.Effect<void, PersistenceConfigurationError> =>
  Effect.asVoid(
    Effect.mapError(
      database.first("SELECT vec_version() AS version"),
      () =>
        new PersistenceConfigurationError({
          message: "The SQLite client has not the extension sqlite-vec",
          hint: 'Give SqliteClient.layer extensions: ["sqlite-vec"], or leave out search: "sqlite-vec"'
        })
    )
  )

/**
 * An index for the vectors of a model. If the database has no index of this name, it belongs to this model.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: MakeOptions
): Effect.Effect<Service, MigrationFailure | MemorySystemError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const { database, rows, scan, space } = yield* PlainVectors.open(options)
    if (database.dialect.name !== "sqlite") {
      return yield* new PersistenceConfigurationError({
        message: "This database is not SQLite",
        hint: "Use PgVectorIndex or SqlVectorIndex with Postgres"
      })
    }
    if (options.search !== "sqlite-vec") {
      return VectorFilling.service({ database, rows, space }, { name: "sqlite", search: scan.search })
    }
    yield* isLoaded(database)
    const search = SqliteVecSearch.make(database, { space, rows })
    return VectorFilling.service({ database, rows, space }, { name: "sqlite-vec", search })
  })

const builtLayer = (
  options: Options | undefined,
  migrate: boolean
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  Layer.effect(
    VectorIndex,
    Effect.flatMap(Embedder, ({ dimensions, model }) =>
      Effect.zipRight(MigrationRun.open({ migrate }), make({ ...options, model, dimensions }))
    )
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
  builtLayer(options, false)

/**
 * Like `layer`, but migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { SqliteClient, SqliteVectorIndex, SqlMemoryStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * // Searches vectors with the extension `sqlite-vec`.
 * const store = SqlMemoryStore.layerVectors().pipe(
 *   Layer.provide(SqliteVectorIndex.layerMigrated({ search: "sqlite-vec" })),
 *   Layer.provide([HashingEmbedder.layer(), SqliteClient.layer({ file: "agents.db", extensions: ["sqlite-vec"] })])
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<VectorIndex, MigrationFailure | MemorySystemError, SqlClient.SqlClient | Embedder> =>
  builtLayer(options, true)
