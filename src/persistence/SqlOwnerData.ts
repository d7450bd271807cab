/**
 * `OwnerData` over the database and the stores in the context.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BlobStore from "../content/BlobStore.js"
import * as FactStore from "../memory/facts/FactStore.js"
import * as MemoryStore from "../memory/search/MemoryStore.js"
import * as SessionStore from "../session/turn/SessionStore.js"
import * as SqlCostLedger from "./governance/SqlCostLedger.js"
import * as SqlMemoryStore from "./memory/SqlMemoryStore.js"
import { OwnerData } from "./OwnerData.js"
import * as OwnerErasure from "./OwnerErasure.js"
import * as OwnerExport from "./OwnerExport.js"
import * as OwnerImport from "./OwnerImport.js"
import * as OwnerStores from "./OwnerStores.js"
import { RedisClient } from "./redis/RedisClient.js"
import * as MigrationRun from "./schema/MigrationRun.js"
import type * as Migrations from "./schema/Migrations.js"
import * as SqlSessionStore from "./session/SqlSessionStore.js"

/**
 * Also erases what Redis caches if there is a `RedisClient`. The blobs of a `BlobStore` in context are exported,
 * imported and erased wherever it keeps them; those of an import that fails are removed again.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import {
 *   OwnerData,
 *   SqlFactStore,
 *   SqliteClient,
 *   SqlMemoryStore,
 *   SqlOwnerData,
 *   SqlSessionStore
 * } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * // Everything that is kept of Ada is removed; the result is the number of items of each part.
 * const program = Effect.gen(function* () {
 *   const data = yield* OwnerData.OwnerData
 *   return yield* data.erase(Ids.UserId.make("ada"))
 * }).pipe(
 *   Effect.provide(SqlOwnerData.layer),
 *   Effect.provide([SqlSessionStore.layerMigrated, SqlMemoryStore.layerMigrated(), SqlFactStore.layerMigrated()]),
 *   Effect.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layer: Layer.Layer<
  OwnerData,
  Migrations.MigrationFailure,
  SqlClient.SqlClient | MemoryStore.MemoryStore | FactStore.FactStore | SessionStore.SessionStore
> = Layer.effect(
  OwnerData,
  Effect.gen(function* () {
    const parts: OwnerStores.Parts = {
      client: yield* SqlClient.SqlClient,
      database: yield* MigrationRun.open({ migrate: false }),
      memory: yield* MemoryStore.MemoryStore,
      facts: yield* FactStore.FactStore,
      sessions: yield* SessionStore.SessionStore,
      kept: {
        sessions: yield* SqlSessionStore.make,
        memory: yield* SqlMemoryStore.makeBackend(),
        ledger: yield* SqlCostLedger.make()
      },
      redis: yield* Effect.serviceOption(RedisClient),
      blobs: yield* Effect.serviceOption(BlobStore.BlobStore)
    }
    const tables = OwnerStores.makeTables(parts.database)
    return {
      export: OwnerExport.make(parts, tables),
      import: OwnerImport.make(parts, tables),
      erase: OwnerErasure.make(parts, tables)
    }
  })
)
