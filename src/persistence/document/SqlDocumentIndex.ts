/**
 * A `DocumentIndex` in SQLite or Postgres, whichever the `SqlClient` is. Documents are rows of the tables of memory, in
 * a space of their own for each owner: `OwnerData` exports, imports and erases them with the memory of their owner.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as DefaultDocumentIndex from "../../document/DefaultDocumentIndex.js"
import { DocumentIndex, type Service } from "../../document/DocumentIndex.js"
import { Embedder } from "../../llm/embedding/Embedder.js"
import { VectorIndex } from "../../memory/search/VectorIndex.js"
import * as TextAnalyzer from "../../memory/text/TextAnalyzer.js"
import * as SqlMemoryBackend from "../memory/SqlMemoryBackend.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultDocumentIndex.Options {
  /** Reads words. Default `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

const backendOf = ({ analyzer = TextAnalyzer.english }: Options, migrate: boolean) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => SqlMemoryBackend.make(database, analyzer))

/**
 * Fails if the database cannot be reached or lacks the tables.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<Service, MigrationFailure, SqlClient.SqlClient> =>
  Effect.map(backendOf(options, false), (backend) => DefaultDocumentIndex.fromBackend(backend, options))

/**
 * Requires a database with the tables of this version. Documents are found by words.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<DocumentIndex, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(DocumentIndex, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DocumentIndex } from "effect-lexigram/document"
 * import { SqlDocumentIndex, SqliteClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const index = yield* DocumentIndex.DocumentIndex
 *   yield* index.ingest("acme", [{ id: "returns.md", content: "Goods may be returned within 30 days." }])
 *   return yield* index.search("acme", { text: "How long may I return goods?" })
 * }).pipe(Effect.provide(SqlDocumentIndex.layerMigrated()), Effect.provide(SqliteClient.layer({ file: "agents.db" })))
 * ```
 */
export const layerMigrated = (
  options: Options = {}
): Layer.Layer<DocumentIndex, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(
    DocumentIndex,
    Effect.map(backendOf(options, true), (backend) => DefaultDocumentIndex.fromBackend(backend, options))
  )

/**
 * Like `layer`, but documents are also found by meaning, by the vectors that `PgVectorIndex`, `SqliteVectorIndex` or
 * `SqlVectorIndex` stores.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerVectors = (
  options: Options = {}
): Layer.Layer<DocumentIndex, MigrationFailure, SqlClient.SqlClient | Embedder | VectorIndex> =>
  Layer.effect(
    DocumentIndex,
    Effect.map(Effect.all([backendOf(options, false), Embedder, VectorIndex]), ([backend, embedder, index]) =>
      DefaultDocumentIndex.fromBackend(backend, { ...options, vectors: { embedder, index } })
    )
  )
