/**
 * Resolves SQLite extensions from package names or paths.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"
import type { Driver } from "./SqliteDriver.js"

interface SqliteVec {
  readonly getLoadablePath: () => string
}

const absent = (message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message, hint })

const pathOf = (extension: string): Effect.Effect<string, PersistenceConfigurationError> =>
  extension === "sqlite-vec"
    ? Effect.tryPromise({
        try: async () => {
          // An optional peer.
          const specifier: string = "sqlite-vec"
          return ((await import(specifier)) as SqliteVec).getLoadablePath()
        },
        catch: () =>
          absent(
            "The extension sqlite-vec is not installed, or there is none for this machine",
            "Install it: npm install sqlite-vec. Or leave it out, and search by scan"
          )
      })
    : Effect.succeed(extension)

/**
 * The paths of the extensions. Fails if one cannot be loaded.
 *
 * @category constructors
 */
export const load = (
  driver: Driver,
  extensions: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, PersistenceConfigurationError> =>
  Effect.forEach(extensions, (extension) =>
    Effect.tap(pathOf(extension), (path) =>
      Effect.try({
        try: () => driver.open({ file: ":memory:", readonly: false, extensions: [path] }).close(),
        catch: () =>
          absent(
            `An extension of SQLite cannot be loaded by ${driver.name}`,
            "See to the paths in `extensions`, and that the libraries are for this machine"
          )
      })
    )
  )
