/**
 * SQLite as an `SqlClient` of `@effect/sql`, through `node:sqlite`, `libsql` or `better-sqlite3`, with the same files,
 * values and failures for each.
 *
 * Transactions begin immediate and wait for their turn in order; single statements and streams continue meanwhile.
 * Waiting for a lock of another process does not block this one and is interruptible. Waits are measured in system
 * time, not by Effect's `Clock`.
 *
 * Texts are stored as UTF-8: a lone surrogate comes back as U+FFFD; `libsql`, and `node:sqlite` before Node 24, return
 * a text only up to its first NUL. Files that `libsql` had open are closed about a second after the client, by a
 * garbage collection, because its version 0.5 cannot finalize statements otherwise. In a database in memory, `DROP` and
 * `VACUUM` fail with `SQLITE_LOCKED` while a stream of it is open.
 *
 * @since 0.1.0
 */
import * as Fs from "node:fs/promises"
import * as Path from "node:path"
import { fileURLToPath } from "node:url"
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Leases from "../engine/Leases.js"
import { DatabaseError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as Synchronized from "../engine/Synchronous.js"
import * as SqliteBusy from "./SqliteBusy.js"
import type * as SqliteDriver from "./SqliteDriver.js"
import * as SqliteDriverLoader from "./SqliteDriverLoader.js"
import * as SqliteExecutor from "./SqliteExecutor.js"
import * as SqliteExtensions from "./SqliteExtensions.js"
import * as SqliteFailure from "./SqliteFailure.js"
import * as SqlitePool from "./SqlitePool.js"
import * as SqliteTransaction from "./SqliteTransaction.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Driver = SqliteDriver.Name

/**
 * `normal`: commits survive the end of the process and the file stays intact, but a power loss may lose the last
 * transactions. `full`: they survive a power loss too; each commit waits for the disk.
 *
 * @since 0.1.0
 * @category models
 */
export type SynchronousLevel = Synchronized.Level

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** A path, a `file:` URL without a query, or `:memory:` for a database that ends with the client. */
  readonly file: string
  /**
   * `auto` selects `node:sqlite` from Node 22 on and `libsql` before. A missing driver is an error; there is no
   * fallback.
   */
  readonly driver?: Driver | "auto" | undefined
  /** Time limit for locks of other processes; 0 does not wait. Default: 5 seconds. */
  readonly busyTimeout?: Duration.DurationInput | undefined
  /** Default: `normal`. */
  readonly synchronous?: SynchronousLevel | undefined
  /** Prepared statements per connection. Default: 256. */
  readonly statementCache?: number | undefined
  /** Opens an existing file without writing to it. Default: false. */
  readonly readonly?: boolean | undefined
  /** Creates the directories of the file. Default: false. */
  readonly createDirectories?: boolean | undefined
  /** The most pages (of 4 kB) of the file. Beyond that, writes fail as on a full disk. */
  readonly maxPages?: number | undefined
  /**
   * Extensions to load into each connection: `sqlite-vec`, which must be installed (npm install sqlite-vec), or paths
   * of libraries. Default: none.
   */
  readonly extensions?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service extends SqlClient.SqlClient {
  readonly driver: Driver
  /** An absolute path, or `:memory:`. */
  readonly file: string
  /** Runs statements outside of transactions, without a scope and without spans. */
  readonly connection: Connection
  /** Succeeds if the file is a database and it answers. */
  readonly health: Effect.Effect<void, DatabaseError>
  /**
   * Copies the committed data into a new file, whose path must be free. Other connections and processes keep writing.
   * This process is blocked while SQLite copies, about a second for 200 MB.
   */
  readonly backup: (path: string) => Effect.Effect<void, DatabaseError>
  /**
   * Moves the write-ahead log into the file and truncates the log. Waits for readers and writers as for a lock.
   */
  readonly checkpoint: Effect.Effect<void, DatabaseError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SqliteClient extends Context.Tag("effect-lexigram/persistence/SqliteClient")<SqliteClient, Service>() {}

/**
 * The durability of writes in scope: read when a transaction begins, and by each single statement that writes.
 * `undefined` uses the level of the client. Costs nothing while it does not change.
 *
 * @since 0.1.0
 * @category references
 */
export const Synchronous: typeof Synchronized.Synchronous = Synchronized.Synchronous

const toDatabaseError = SqlFailure.toDatabaseError("sqlite")

const invalid = (message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message, hint })

/** Resolves the path, so that no driver interprets it: `libsql` would open `http:` over the network. */
const pathOf = (file: string): Effect.Effect<string, PersistenceConfigurationError> => {
  if (file === ":memory:") return Effect.succeed(file)
  if (file === "" || file.includes("\0"))
    return Effect.fail(invalid("The SQLite file has no name", "Give a path, or :memory:"))
  if (!file.startsWith("file:")) return Effect.succeed(Path.resolve(file))
  return Effect.try({
    try: () => {
      const url = new URL(file)
      if (url.search !== "" || url.hash !== "") throw new TypeError("query")
      return fileURLToPath(url)
    },
    catch: () =>
      invalid("The URL of the SQLite file cannot be read", "Write it as file:///folder/name.db, without a query")
  })
}

const count = (
  name: string,
  value: number | undefined,
  min: number
): Effect.Effect<void, PersistenceConfigurationError> =>
  value === undefined || (Number.isSafeInteger(value) && value >= min)
    ? Effect.void
    : Effect.fail(invalid(`${name} must be a whole number of at least ${min}`, `Give ${name} another value`))

const opened = Effect.fnUntraced(function* (options: Options) {
  const file = yield* pathOf(options.file)
  yield* count("statementCache", options.statementCache, 0)
  yield* count("maxPages", options.maxPages, 1)
  const { driver: asked = "auto" } = options
  const driver = yield* SqliteDriverLoader.load(
    asked === "auto" ? SqliteDriverLoader.nameFor(process.versions.node) : asked
  )
  const extensions = yield* SqliteExtensions.load(driver, options.extensions ?? [])
  if (options.createDirectories === true && file !== ":memory:") {
    yield* Effect.tryPromise({
      try: () => Fs.mkdir(Path.dirname(file), { recursive: true }),
      catch: () =>
        new DatabaseError({
          backend: "sqlite",
          reason: "unreachable",
          message: "The folder of the SQLite file cannot be made",
          hint: "See to the rights of the folders above it"
        })
    })
  }
  const busyTimeout = Duration.toMillis(options.busyTimeout ?? "5 seconds")
  const shared = {
    driver,
    file,
    readonly: options.readonly ?? false,
    synchronous: options.synchronous ?? "normal",
    statementCache: options.statementCache ?? 256,
    maxPages: options.maxPages,
    extensions,
    schema: 0
  }
  return yield* SqliteExecutor.held(
    () => SqlitePool.open(shared, busyTimeout),
    (pool) => pool.close(),
    (attempt) => SqliteBusy.retry(attempt, busyTimeout)
  ).pipe(Effect.mapError(toDatabaseError))
})

const health = (pool: SqlitePool.Pool): Effect.Effect<void, DatabaseError> =>
  pool.direct
    .execute("SELECT count(*) FROM sqlite_schema", [], undefined)
    .pipe(Effect.mapError(toDatabaseError), Effect.asVoid)

const checkpoint = (pool: SqlitePool.Pool): Effect.Effect<void, DatabaseError> =>
  SqliteBusy.retry(() => {
    if (pool.main.pragma("wal_checkpoint(TRUNCATE)") === 1) {
      throw new SqliteFailure.SqliteFailure("SQLITE_BUSY", "Somebody reads or writes")
    }
  }, pool.busyTimeout).pipe(Effect.mapError(toDatabaseError))

const present: DatabaseError = new DatabaseError({
  backend: "sqlite",
  reason: "other",
  message: "There is something at the path of the copy",
  hint: "Give a path where nothing is"
})

const uncopied = (): DatabaseError =>
  new DatabaseError({ backend: "sqlite", reason: "unreachable", message: "The copy of the database cannot be written" })

/** Writes to a temporary name until the copy is complete and synced. */
const backup =
  (pool: SqlitePool.Pool) =>
  (path: string): Effect.Effect<void, DatabaseError> => {
    const target = Path.resolve(path)
    const part = `${target}.part`
    const remove = Effect.ignore(Effect.tryPromise(() => Fs.rm(part, { force: true })))
    const copy = pool
      .aside((session) => session.rows("VACUUM INTO ?", [part], undefined))
      .pipe(Effect.mapError(toDatabaseError))
    const finish = Effect.tryPromise({
      try: async () => {
        const file = await Fs.open(part, "r+")
        try {
          await file.sync()
        } finally {
          await file.close()
        }
        // Fails if the path is taken; a rename would replace the file.
        await Fs.link(part, target)
      },
      catch: (error) => ((error as { readonly code?: unknown }).code === "EEXIST" ? present : uncopied())
    })
    return Effect.tryPromise(() => Fs.lstat(target)).pipe(
      Effect.matchEffect({
        onSuccess: () => Effect.fail(present),
        onFailure: () =>
          Effect.ensuring(Effect.zipRight(Effect.zipRight(remove, copy), Effect.uninterruptible(finish)), remove)
      })
    )
  }

const attributes: ReadonlyArray<readonly [string, unknown]> = [["db.system.name", "sqlite"]]

/**
 * A client until its scope ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options
): Effect.Effect<Service, DatabaseError | PersistenceConfigurationError, Scope.Scope> =>
  Effect.gen(function* () {
    const pool = yield* opened(options)
    const compiler = Statement.makeCompilerSqlite()
    const reserve = SqliteTransaction.reserve(pool)
    const stock = yield* SqlClient.make({
      acquirer: Effect.succeed(pool.direct),
      transactionAcquirer: reserve,
      compiler,
      spanAttributes: attributes
    })
    // Ignores a transaction of another database.
    const acquirer = Effect.withFiberRuntime<Connection, SqlError>((fiber) =>
      Effect.succeed(pool.leaseOf(fiber.currentContext)?.[0] ?? pool.direct)
    )
    const client: Service = Object.assign(Statement.make(acquirer, compiler, attributes, undefined), {
      [SqlClient.TypeId]: SqlClient.TypeId as SqlClient.TypeId,
      safe: undefined as any,
      reserve,
      withTransaction: SqliteTransaction.withTransaction(pool, attributes),
      withoutTransforms: () => client,
      reactive: stock.reactive,
      reactiveMailbox: stock.reactiveMailbox,
      driver: pool.driver,
      file: pool.file,
      connection: pool.direct,
      health: health(pool),
      backup: backup(pool),
      checkpoint: checkpoint(pool)
    })
    ;(client as { safe: unknown }).safe = client
    Leases.provide(client, { lease: (restore) => pool.lease(restore) })
    return client
  }).pipe(Effect.provide(Reactivity.layer))

/**
 * The client, also as the `SqlClient` of `@effect/sql`. Fails if the file cannot be opened or the driver is not
 * installed.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { SqliteClient, SqlMemoryStore } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const database = SqliteClient.layer({ file: "data/agents.db", createDirectories: true, busyTimeout: "10 seconds" })
 *
 * const memory = SqlMemoryStore.layerMigrated().pipe(Layer.provide(database))
 *
 * const copy = Effect.flatMap(SqliteClient.SqliteClient, (client) => client.backup("agents.copy.db")).pipe(
 *   Effect.provide(database)
 * )
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<SqliteClient | SqlClient.SqlClient, DatabaseError | PersistenceConfigurationError> =>
  Layer.scopedContext(
    Effect.map(make(options), (client) =>
      Context.make(SqliteClient, client).pipe(Context.add(SqlClient.SqlClient, client))
    )
  )

/**
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  options: Config.Config.Wrap<Options>
): Layer.Layer<
  SqliteClient | SqlClient.SqlClient,
  DatabaseError | PersistenceConfigurationError | ConfigError.ConfigError
> => Layer.unwrapEffect(Effect.map(Config.unwrap(options), layer))
