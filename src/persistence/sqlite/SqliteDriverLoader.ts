/**
 * Loads the drivers of SQLite. Each one is imported when it is first used.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"
import type { Driver, Name } from "./SqliteDriver.js"

const absent = (name: Name, message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message: `The SQLite driver ${name} ${message}`, hint })

const hints: { readonly [N in Name]: string } = {
  "node:sqlite": 'Use Node 22.16 or later, or set driver: "libsql" and install it: npm install libsql',
  libsql: 'Install it: npm install libsql. Or set driver: "node:sqlite" on Node 22.16 or later',
  "better-sqlite3": "Install it: npm install better-sqlite3"
}

const modules: { readonly [N in Name]: () => Promise<Driver | undefined> } = {
  "node:sqlite": () => import("./SqliteNode.js").then(({ load }) => load()),
  libsql: () => import("./SqliteLibsql.js").then(({ load }) => load()),
  "better-sqlite3": () => import("./SqliteBetter.js").then(({ load }) => load())
}

/**
 * @category constructors
 */
export const load = (name: Name): Effect.Effect<Driver, PersistenceConfigurationError> =>
  Effect.tryPromise({
    try: modules[name],
    catch: () => absent(name, "is not installed, or cannot be loaded here", hints[name])
  }).pipe(
    Effect.flatMap((driver) =>
      driver === undefined ? Effect.fail(absent(name, "is too old here", hints[name])) : Effect.succeed(driver)
    )
  )

/**
 * The default driver for a version of Node: `node:sqlite` since Node 22.
 *
 * @category accessors
 */
export const nameFor = (nodeVersion: string): Name =>
  Number.parseInt(nodeVersion, 10) >= 22 ? "node:sqlite" : "libsql"
