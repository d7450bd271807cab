/**
 * Runs each statement on a SQLite file in its own process, which is killed at the timeout: in a thread, a statement can
 * neither be stopped nor be kept from crashing the process.
 *
 * @private
 * @since 0.1.0
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import * as Fs from "node:fs"
import { createRequire } from "node:module"
import * as Path from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ReadOnlyQuery from "./ReadOnlyQuery.js"
import type * as ReadOnlyRows from "./ReadOnlyRows.js"
import * as SqliteFunctions from "./SqliteFunctions.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Driver = "node:sqlite" | "libsql" | "better-sqlite3"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** A path, or a `file:` URL without a query. */
  readonly sqlite: string
  /** Default: `node:sqlite` from Node 22 on, otherwise `libsql`. */
  readonly driver?: Driver | undefined
  /**
   * Maximum memory of SQLite for a statement, sorting included. Default 128 MiB. `node:sqlite` does not count memory:
   * there the process is killed at twice the limit plus 32 MiB.
   */
  readonly maxMemoryBytes?: number | undefined
}

type Failure = ReadOnlyQuery.Failure

const { failure } = ReadOnlyQuery

const program = "SqliteProcess.mjs"

/**
 * The program beside the module, or the package's own as resolved from the module: a bundle has the former only if it
 * was copied.
 *
 * @since 0.1.0
 * @category constructors
 */
export const programFor = (moduleUrl: string): Effect.Effect<string, Failure> =>
  Effect.mapError(
    Effect.try(() => {
      const beside = fileURLToPath(new URL(`./${program}`, moduleUrl))
      if (Fs.existsSync(beside)) return beside
      return createRequire(moduleUrl).resolve(`effect-lexigram/builtin/${program}`)
    }),
    () =>
      failure(
        "Configuration",
        `The program that runs SQLite statements, ${program}, is missing`,
        `Keep effect-lexigram out of the bundle, or copy node_modules/effect-lexigram/dist/builtin/${program} beside it`
      )
  )

const inMemory = failure(
  "Configuration",
  "A database in memory cannot be read by another process",
  "Give the path of a file; or leave `sqlite` out, say `allowBlocking: true` and provide the SqlClient of the database"
)

const pathOf = (file: string): Effect.Effect<string, Failure> => {
  if (file === ":memory:" || file.startsWith("file::memory:")) return Effect.fail(inMemory)
  if (file === "" || file.includes("\0")) {
    return Effect.fail(failure("Configuration", "The SQLite file has no name", "Give the path of the file"))
  }
  if (!file.startsWith("file:")) return Effect.succeed(Path.resolve(file))
  return Effect.mapError(
    Effect.try(() => {
      const url = new URL(file)
      if (url.search !== "" || url.hash !== "") throw new TypeError("query")
      return fileURLToPath(url)
    }),
    () =>
      failure(
        "Configuration",
        "The URL of the SQLite file cannot be read",
        "Write it as file:///folder/name.db, without a query"
      )
  )
}

const moduleOf = (driver: Driver): Effect.Effect<string, Failure> =>
  driver === "node:sqlite"
    ? Effect.succeed(driver)
    : Effect.mapError(
        Effect.try(() => pathToFileURL(createRequire(import.meta.url).resolve(driver)).href),
        () => failure("Configuration", `The SQLite driver ${driver} is not installed`, `npm install ${driver}`)
      )

/** The same choice as `SqliteClient`. */
const usualDriver = (): Driver => (Number.parseInt(process.versions.node, 10) >= 22 ? "node:sqlite" : "libsql")

type Child = ChildProcessByStdio<Writable, Readable, null>

const unstarted = (code: unknown): Failure =>
  failure(
    "Connection",
    `The process that reads the database could not be started${typeof code === "string" ? ` (${code})` : ""}`
  )

/** Shares only two pipes with this process. It is gone when the scope has closed. */
const started = (file: string): Effect.Effect<Child, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const gone = yield* Deferred.make<void>()
    return yield* Effect.acquireRelease(
      Effect.async<Child, Failure>((resume) => {
        const child = spawn(process.execPath, ["--max-old-space-size=128", file], {
          env: {},
          stdio: ["pipe", "pipe", "ignore"],
          shell: false,
          windowsHide: true
        })
        for (const pipe of [child.stdin, child.stdout]) pipe.on("error", () => {})
        child.once("exit", () => void Deferred.unsafeDone(gone, Effect.void))
        child.once("error", (error: NodeJS.ErrnoException) => resume(Effect.fail(unstarted(error.code))))
        child.once("spawn", () => resume(Effect.succeed(child)))
      }),
      (child) =>
        Effect.zipRight(
          Effect.sync(() => {
            child.kill("SIGKILL")
            for (const pipe of [child.stdin, child.stdout]) pipe.destroy()
          }),
          Deferred.await(gone)
        )
    )
  })

type Answer =
  | {
      readonly _tag: "Rows"
      readonly columns: ReadonlyArray<string>
      readonly rows: ReadonlyArray<ReadonlyArray<unknown>>
      readonly truncated: boolean
    }
  | { readonly _tag: "Failed"; readonly reason: "Open" | "Query" | "Memory" | "Driver"; readonly message: string }
  | { readonly _tag: "Refused"; readonly name: string }

const tooMuch = failure("TooLarge", "The statement needs more memory than it may have")

const ended = (signal: string | null): Failure =>
  failure("Ended", `The process that ran the statement has ended${signal === null ? "" : ` by ${signal}`}`)

/**
 * A character takes at most six bytes in JSON; the last row and the column names are added to the limit.
 */
const maxBytesOf = ({ maxCellChars, maxChars }: ReadOnlyRows.Limits): number =>
  6 * (maxChars + 100 * maxCellChars) + 2 ** 20

const readAnswer = (child: Child, maxBytes: number): Effect.Effect<Answer, Failure> =>
  Effect.async((resume) => {
    const parts: Array<Buffer> = []
    let bytes = 0
    child.stdout.on("data", (part: Buffer) => {
      const end = part.indexOf(10)
      bytes += part.length
      if (bytes > maxBytes) {
        child.stdout.removeAllListeners("data")
        return resume(Effect.fail(failure("TooLarge", "The answer of the database is too large")))
      }
      parts.push(end < 0 ? part : part.subarray(0, end))
      if (end >= 0) resume(Effect.sync(() => JSON.parse(Buffer.concat(parts).toString("utf8")) as Answer))
    })
    child.once("close", (_, signal) => resume(Effect.fail(ended(signal))))
  })

const rowsOf = (answer: Answer): Effect.Effect<ReadOnlyRows.Rows, Failure> => {
  switch (answer._tag) {
    case "Rows": {
      const { columns, rows, truncated } = answer
      return Effect.succeed({
        columns: [...new Set(columns)],
        rows: rows.map((cells) => Object.fromEntries(columns.map((column, at) => [column, cells[at]]))),
        truncated
      })
    }
    case "Refused":
      return Effect.fail(ReadOnlyQuery.disallowed(answer.name))
    case "Failed":
      switch (answer.reason) {
        case "Memory":
          return Effect.fail(tooMuch)
        case "Query":
          return Effect.fail(ReadOnlyQuery.refusedByDatabase(answer.message))
        case "Open":
          return Effect.fail(failure("Connection", "The SQLite file cannot be read"))
        case "Driver":
          return Effect.fail(
            failure(
              "Configuration",
              "The SQLite driver cannot be used by the process that reads the database",
              "Use node:sqlite on Node 22.16 or later, or install libsql or better-sqlite3 for this version of Node"
            )
          )
      }
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): ReadOnlyQuery.Reader<never> => {
  const { driver = usualDriver(), maxMemoryBytes = 128 * 1024 ** 2 } = options
  return {
    dialect: Effect.succeed("sqlite"),
    read: ({ allowed, limits, params, sql, statement }) =>
      Effect.gen(function* () {
        const file = yield* pathOf(options.sqlite)
        const module = yield* moduleOf(driver)
        const child = yield* started(yield* programFor(import.meta.url))
        const request = {
          driver,
          module,
          file,
          url: `${pathToFileURL(file).href}?mode=ro`,
          sql,
          params,
          names: statement.names,
          modules: [...SqliteFunctions.modules, ...allowed],
          maxMemoryBytes,
          ...limits
        }
        child.stdin.write(`${JSON.stringify(request)}\n`)
        return yield* rowsOf(yield* readAnswer(child, maxBytesOf(limits)))
      }).pipe(Effect.scoped)
  }
}
