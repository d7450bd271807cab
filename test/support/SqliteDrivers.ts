/** Available SQLite drivers, and places for their files. */
import * as ChildProcess from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { createInterface } from "node:readline"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"

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

/** Registers the cases for each driver; missing drivers are reported as skipped. */
export const suite = (name: string, cases: (driver: SqliteClient.Driver) => void): void => {
  for (const driver of names) {
    if (there[driver]) describe(`${name} by ${driver}`, () => cases(driver))
    else describe.skip(`${name} by ${driver} (${reasons[driver]})`, () => cases(driver))
  }
}

/** A folder removed after the test. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.mkdtempSync(Path.join(Os.tmpdir(), "lexigram-sqlite-"))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

export const file = Effect.map(folder, (path) => Path.join(path, "test.db"))

/** Another process with the same file open, running `SqliteProgram.mjs`. */
export interface OtherProcess {
  /** The next line of its output. */
  readonly line: Effect.Effect<string>
  readonly said: ReadonlyArray<string>
  readonly tell: (line: string) => Effect.Effect<void>
  /** Sends SIGKILL and waits for the end. */
  readonly kill: Effect.Effect<void>
}

const program = Path.join(import.meta.dirname, "SqliteProgram.mjs")

export const otherProcess = (
  driver: SqliteClient.Driver,
  file: string,
  what: "hold" | "write"
): Effect.Effect<OtherProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    const child = yield* Effect.sync(() =>
      ChildProcess.spawn(process.execPath, [program, driver, file, what], { stdio: ["pipe", "pipe", "inherit"] })
    )
    const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()))
    const kill = Effect.promise(() => {
      child.kill("SIGKILL")
      return gone
    })
    yield* Effect.addFinalizer(() => kill)
    const said: Array<string> = []
    const waiting: Array<(line: string) => void> = []
    let read = 0
    createInterface({ input: child.stdout }).on("line", (line) => {
      said.push(line)
      if (waiting.length > 0) {
        read++
        waiting.shift()!(line)
      }
    })
    return {
      said,
      kill,
      tell: (line) => Effect.sync(() => child.stdin.write(`${line}\n`)),
      line: Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            if (read < said.length) resolve(said[read++]!)
            else waiting.push(resolve)
          })
      )
    }
  })
