/**
 * A `MemoryStore` in SQLite or Postgres with full-text search over the words that the store's analyzer reads, ranked
 * like the store in memory. An entry stored by one process is visible to the next call of any other; concurrent changes
 * of one owner lose nothing.
 *
 * Contents are stored unchanged. In Postgres an entry is found by its first words, up to 900,000 bytes without
 * repetitions. If another analyzer read the entries of an owner, the next search or change analyzes them again.
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
  /** Default: `TextAnalyzer.english`. */
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
 * Requires a database with the tables of this version; fails with a `MigrationError` otherwise.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<MemoryStore.MemoryStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultMemory } from "effect-lexigram/memory"
 * import { SqliteClient, SqlMemoryStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * // Memory that outlives the process. Entries are kept for a year instead of 30 days.
 * const memory = DefaultMemory.layer({
 *   store: SqlMemoryStore.layerMigrated({ ttl: "365 days" }).pipe(
 *     Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 *   )
 * })
 * ```
 */
export const layerMigrated = (
  options: Options = {}
): Layer.Layer<MemoryStore.MemoryStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    MemoryStore.MemoryStore,
    Effect.map(backendOf(options, true), (backend) => DefaultMemoryStore.fromBackend(backend, options))
  )

/**
 * Like `layer`, but entries are also found by their vectors, which `PgVectorIndex`, `SqliteVectorIndex` or
 * `SqlVectorIndex` stores.
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
