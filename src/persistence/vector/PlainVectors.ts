/**
 * Stores vectors as bytes in the table that SQLite and Postgres share.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import type { Vector } from "../../llm/embedding/Embedder.js"
import type { MemorySystemError } from "../../memory/entry/MemoryError.js"
import type * as Database from "../engine/Database.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as VectorRows from "./VectorRows.js"
import * as VectorScan from "./VectorScan.js"
import * as VectorSpaces from "./VectorSpaces.js"

/**
 * @category models
 */
export interface Options {
  readonly model: string
  readonly dimensions: number
  readonly name?: string | undefined
  readonly cacheBytes?: number | undefined
  readonly onModelChange?: VectorSpaces.OnModelChange | undefined
}

/**
 * @category models
 */
export interface PlainVectors {
  readonly database: Database.Database
  readonly space: VectorSpaces.Space
  readonly rows: VectorRows.VectorRows
  readonly scan: VectorScan.VectorScan
}

/**
 * The bytes of a vector in memory: 32-bit floats, little-endian on every platform of Node except IBM Z. A zero vector
 * is a single byte, because some drivers bind an empty buffer as NULL.
 *
 * @category conversions
 */
export const bytesOf = (vector: Vector): Uint8Array =>
  vector.some((x) => x !== 0) ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength) : Buffer.alloc(1)

/**
 * @category constructors
 */
export const open = (
  options: Options
): Effect.Effect<PlainVectors, MigrationFailure | MemorySystemError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const database = yield* MigrationRun.open({ migrate: false })
    const space = yield* VectorSpaces.open(database, {
      kind: "plain",
      table: "lex_vectors",
      name: options.name ?? VectorSpaces.defaultName,
      model: options.model,
      dimensions: options.dimensions,
      onModelChange: options.onModelChange ?? "fail"
    })
    const scan: VectorScan.VectorScan = VectorScan.make(database, {
      space,
      cacheBytes: options.cacheBytes ?? VectorScan.defaultCacheBytes,
      rows: () => rows
    })
    const { cleared, removed } = scan
    const rows = VectorRows.make(database, { name: database.dialect.name, space, encode: bytesOf, removed, cleared })
    return { database, space, rows, scan }
  })
