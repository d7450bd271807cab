/**
 * Entries of memory in SQLite or Postgres, found by their words: by full text of the database over the words that the
 * store's own analyzer reads, ranked as the store in memory ranks. What one process has stored the next call of any
 * other finds; of several that change one owner at the same time none loses anything.
 *
 * Contents are kept as they are. In Postgres an entry is found by the words it begins with, as far as they come to
 * 900,000 bytes without repetitions. An owner whose entries were read by another analyzer is read anew by the next
 * search or change.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder } from "../../llm/embedding/Embedder.js"
import type { MemoryBackend } from "../../memory/entry/MemoryBackend.js"
import * as DefaultMemoryStore from "../../memory/search/DefaultMemoryStore.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import { VectorIndex } from "../../memory/search/VectorIndex.js"
import * as TextAnalyzer from "../../memory/text/TextAnalyzer.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as SqlMemoryBackend from "./SqlMemoryBackend.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /** How words are read; `TextAnalyzer.english` unless set. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultMemoryStore.Options, BackendOptions {}

const backendOf = (options: BackendOptions, migrate: boolean) =>
  Effect.map(MigrationRun.open({ migrate }), (database) =>
    SqlMemoryBackend.make(database, options.analyzer ?? TextAnalyzer.english)
  )

/**
 * What a store needs from below, over a database that has its tables. Expiry, checks and scores come with
 * `DefaultMemoryStore.fromBackend`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeBackend = (
  options: BackendOptions = {}
): Effect.Effect<MemoryBackend, MigrationFailure, SqlClient.SqlClient> => backendOf(options, false)

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options = {}
): Effect.Effect<MemoryStore.Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(makeBackend(options), (backend) => DefaultMemoryStore.fromBackend(backend, options))

/**
 * Over a database that has the tables of this version; a `MigrationError` where it has not.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<MemoryStore.MemoryStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))

/**
 * Brings the database to this version first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMigrated = (
  options: Options = {}
): Layer.Layer<MemoryStore.MemoryStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    MemoryStore.MemoryStore,
    Effect.map(backendOf(options, true), (backend) => DefaultMemoryStore.fromBackend(backend, options))
  )

/**
 * As `layer`, found by their words and by their vectors, which `PgVectorIndex`, `SqliteVectorIndex` or `SqlVectorIndex`
 * keeps.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerVectors = (
  options: Options & Pick<DefaultMemoryStore.VectorOptions, "maxCharacters"> = {}
): Layer.Layer<MemoryStore.MemoryStore, MigrationFailure, SqlClient.SqlClient | Embedder | VectorIndex> =>
  Layer.effect(
    MemoryStore.MemoryStore,
    Effect.map(Effect.all([makeBackend(options), Embedder, VectorIndex]), ([backend, embedder, index]) =>
      DefaultMemoryStore.fromBackend(backend, {
        ...options,
        vectors: { embedder, index, maxCharacters: options.maxCharacters }
      })
    )
  )
