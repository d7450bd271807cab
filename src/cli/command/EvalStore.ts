/**
 * Where evals are kept: in a SQLite file, or in a folder with a file of JSON lines for each experiment.
 *
 * @private
 * @since 0.1.0
 */
import * as NodePath from "node:path"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ExperimentStore } from "../../eval/record/ExperimentStore.js"
import * as JsonlExperimentStore from "../../eval/record/JsonlExperimentStore.js"
import { CliError } from "../config/CliError.js"

const noSql = (cause: unknown): CliError =>
  new CliError({
    reason: "package",
    message: "Evals in SQLite need the package @effect/sql",
    hint: "Install it: npm install @effect/sql@^0.52.1. Or name a folder with --store",
    cause
  })

/** In SQLite. Its packages are optional. */
const sqlite = (file: string): Layer.Layer<ExperimentStore, unknown> =>
  Layer.unwrapEffect(
    Effect.tryPromise({
      try: async () => {
        const [SqlExperimentStore, SqliteClient] = await Promise.all([
          import("../../persistence/run/SqlExperimentStore.js"),
          import("../../persistence/sqlite/SqliteClient.js")
        ])
        return Layer.provide(SqlExperimentStore.layerMigrated, SqliteClient.layer({ file, createDirectories: true }))
      },
      catch: noSql
    })
  )

/**
 * The store of a name: a file that ends with `.db`, `.sqlite` or `.sqlite3`, else a folder. With `isOld` it must be
 * there.
 *
 * @category layers
 */
export const layer = (name: string, isOld: boolean): Layer.Layer<ExperimentStore, unknown, FileSystem.FileSystem> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = NodePath.resolve(name)
      if (isOld && !(yield* Effect.orElseSucceed(fs.exists(path), () => false))) {
        return yield* new CliError({
          reason: "unknown",
          message: `There are no evals in ${JSON.stringify(name)}`,
          hint: "Run some with `lexigram eval run`, or name another store with --store"
        })
      }
      return /\.(?:db|sqlite3?)$/.test(name)
        ? sqlite(path)
        : Layer.provide(JsonlExperimentStore.layer({ folder: path }), Path.layer)
    })
  )
