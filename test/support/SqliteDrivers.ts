/** Which drivers of SQLite are here, and places for their files. */
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as SqliteClient from "../../src/persistence/SqliteClient.js"

const importable = async (specifier: string): Promise<boolean> => {
  try {
    await import(/* @vite-ignore */ specifier)
    return true
  } catch {
    return false
  }
}

const there: { readonly [D in SqliteClient.Driver]: boolean } = {
  libsql: true,
  "node:sqlite": Number.parseInt(process.versions.node, 10) >= 22,
  "better-sqlite3": await importable("better-sqlite3")
}

const reasons: { readonly [D in SqliteClient.Driver]: string } = {
  libsql: "",
  "node:sqlite": "needs Node 22 or later",
  "better-sqlite3": "better-sqlite3 is not installed"
}

export const names = Object.keys(there) as ReadonlyArray<SqliteClient.Driver>

export const isThere = (driver: SqliteClient.Driver): boolean => there[driver]

/** The cases run with each driver; those that are not here are told of as skipped. */
export const suite = (name: string, cases: (driver: SqliteClient.Driver) => void): void => {
  for (const driver of names) {
    if (there[driver]) describe(`${name} by ${driver}`, () => cases(driver))
    else describe.skip(`${name} by ${driver} (${reasons[driver]})`, () => cases(driver))
  }
}

/** A folder that is gone after the test. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-sqlite-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

export const file = Effect.map(folder, (path) => Path.join(path, "test.db"))
