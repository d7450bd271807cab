/**
 * Validates the options of a `PostgresClient` and converts them to those of `pg`.
 *
 * @private
 * @since 0.1.0
 */
import type { ConnectionOptions } from "node:tls"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type * as Pg from "pg"
import * as DatabaseUrl from "../engine/DatabaseUrl.js"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"

/**
 * `url` and single fields can be combined: a field takes precedence over the URL. The query string of the URL keeps its
 * meaning (`sslmode`, `options`, `application_name`, `statement_timeout` …).
 *
 * @category models
 */
export interface Options {
  /** `postgres://user:password@host:port/database`. */
  readonly url?: Redacted.Redacted | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly database?: string | undefined
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted | undefined
  /** `true`: TLS that verifies the certificate. */
  readonly ssl?: boolean | ConnectionOptions | undefined
  /**
   * Schema of the tables; `public` follows it in the search path. Default: the search path of the user on the server.
   */
  readonly schema?: string | undefined
  /** Creates `schema` if it does not exist; otherwise a missing schema is an error. Default: true. */
  readonly createSchema?: boolean | undefined
  /** Default: 10. */
  readonly maxConnections?: number | undefined
  /** Opened when the layer is built, and kept open when idle. Default: 0. */
  readonly minConnections?: number | undefined
  /** Time to connect, and to wait for a connection of the pool. Default: 5 s. */
  readonly connectTimeout?: Duration.DurationInput | undefined
  /** Time until an idle connection is closed. Default: 30 s. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** Time until a connection is replaced even if it is in use. Default: never. */
  readonly connectionTtl?: Duration.DurationInput | undefined
  /**
   * Time limit of one statement. The server cancels it; if the client hears nothing for another second, it closes the
   * connection. Default: 30 s.
   */
  readonly queryTimeout?: Duration.DurationInput | undefined
  /** Time limit for a lock. Default: that of the statement. */
  readonly lockTimeout?: Duration.DurationInput | undefined
  /** Time until the server aborts an idle transaction. Default: 1 minute. */
  readonly idleInTransactionTimeout?: Duration.DurationInput | undefined
  /** When the scope closes, time until connections that are still in use are closed. Default: 5 s. */
  readonly closeTimeout?: Duration.DurationInput | undefined
  /** Name of the connections on the server. Default: `effect-lexigram`. */
  readonly applicationName?: string | undefined
  /** Name of the pool in metrics. Default: `postgres`. */
  readonly name?: string | undefined
}

/**
 * The parts of `pg` that are used.
 *
 * @category models
 */
export type Library = Pick<typeof Pg, "Client" | "Connection" | "Pool" | "escapeIdentifier">

/**
 * @category models
 */
export interface Settings {
  readonly name: string
  readonly pool: Pg.PoolConfig
  readonly minConnections: number
  readonly schema: string | undefined
  readonly createSchema: boolean
  /** Statements to run once on each new connection; may be empty. */
  readonly session: string
  /** Time until a statement without an answer is abandoned with its connection. 0: never. */
  readonly queryTimeoutMillis: number
  readonly closeTimeoutMillis: number
}

/**
 * Milliseconds after the time limit of the server until the client closes a silent connection. Normally the server
 * cancels the statement and the connection stays open.
 */
export const grace = 1_000

/** What `pg` reads from a URL, its query string and its environment variables. */
interface Parsed extends Pg.ClientConfig {
  readonly client_encoding?: string
}

const wrong = (message: string, hint: string) => new PersistenceConfigurationError({ message, hint })

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const count = (field: string, value: number, least: number) =>
  Number.isSafeInteger(value) && value >= least
    ? Effect.succeed(value)
    : Effect.fail(wrong(`\`${field}\` is no whole number from ${least} on`, `Give \`${field}\` such a number`))

/** In whole milliseconds. `Infinity` is no limit, which Postgres and `pg` write as 0. */
const millis = (field: string, value: Duration.DurationInput) => {
  const time = Duration.toMillis(value)
  if (time === Infinity) return Effect.succeed(0)
  return time >= 1 && time < 2 ** 31
    ? Effect.succeed(Math.round(time))
    : Effect.fail(wrong(`\`${field}\` is no time between 1 ms and 24 days`, "Give such a time, or `Duration.infinity`"))
}

const parse = (pg: Library, options: Options): Effect.Effect<Parsed, PersistenceConfigurationError> =>
  Effect.gen(function* () {
    if (options.url !== undefined) {
      const found = DatabaseUrl.parse(options.url)
      if (Either.isLeft(found)) return yield* found.left
      if (found.right._tag !== "Postgres") {
        return yield* wrong("The URL is none of Postgres", "Begin it with `postgres://` or `postgresql://`")
      }
    }
    // A client parses its parameters when constructed, but does not connect yet.
    const { connectionParameters } = yield* Effect.try({
      try: () =>
        new pg.Client({
          connectionString: options.url === undefined ? undefined : Redacted.value(options.url).trim()
        }) as unknown as { readonly connectionParameters: Parsed & { readonly connectionString?: undefined } },
      catch: () =>
        wrong("The URL for Postgres cannot be read", "See to its escapes, and that the files exist that it names")
    })
    return connectionParameters
  })

/**
 * @category constructors
 */
export const resolve = (pg: Library, options: Options): Effect.Effect<Settings, PersistenceConfigurationError> =>
  Effect.gen(function* () {
    const parsed = yield* parse(pg, options)
    const port = options.port ?? parsed.port ?? 5432
    if (!(Number.isInteger(port) && port > 0 && port < 65_536)) {
      return yield* wrong("The port of Postgres is no port", "Give a number from 1 to 65535, or none for 5432")
    }
    const max = yield* count("maxConnections", options.maxConnections ?? 10, 1)
    const min = yield* count("minConnections", options.minConnections ?? 0, 0)
    if (min > max) {
      return yield* wrong("`minConnections` is above `maxConnections`", "Keep open at most as many as there may be")
    }
    const { schema } = options
    if (schema !== undefined && (schema === "" || schema.includes("\0") || Buffer.byteLength(schema) > 63)) {
      return yield* wrong("`schema` is no name of a schema", "Give a name of 1 to 63 bytes")
    }

    /** An option overrides the URL. */
    const inUrl = (setting: string) =>
      typeof parsed.options === "string" && parsed.options.toLowerCase().includes(setting)
    const setting = (
      field: string,
      name: "statement_timeout" | "lock_timeout" | "idle_in_transaction_session_timeout",
      value: Duration.DurationInput | undefined,
      otherwise: Duration.DurationInput | undefined
    ) =>
      Effect.gen(function* () {
        const said = Number(parsed[name] ?? 0)
        if (value === undefined && said > 0) return { text: `set ${name} = ${Math.round(said)}`, time: said }
        if (value === undefined && (otherwise === undefined || inUrl(name))) return { text: "", time: 0 }
        const time = yield* millis(field, value ?? otherwise ?? Duration.infinity)
        return { text: `set ${name} = ${time}`, time }
      })
    const statement = yield* setting("queryTimeout", "statement_timeout", options.queryTimeout, Duration.seconds(30))
    const lock = yield* setting("lockTimeout", "lock_timeout", options.lockTimeout, undefined)
    const idle = yield* setting(
      "idleInTransactionTimeout",
      "idle_in_transaction_session_timeout",
      options.idleInTransactionTimeout,
      Duration.minutes(1)
    )
    const path = schema === undefined ? "" : `set search_path to ${quoted(schema)}, public`

    const password = options.password === undefined ? parsed.password : Redacted.value(options.password)
    const ttl = options.connectionTtl === undefined ? undefined : yield* millis("connectionTtl", options.connectionTtl)
    return {
      name: options.name ?? "postgres",
      minConnections: min,
      schema,
      createSchema: options.createSchema ?? true,
      session: [statement.text, lock.text, idle.text, path].filter((text) => text !== "").join("; "),
      queryTimeoutMillis: statement.time === 0 ? 0 : statement.time + grace,
      closeTimeoutMillis: yield* millis("closeTimeout", options.closeTimeout ?? Duration.seconds(5)),
      pool: {
        host: options.host ?? parsed.host,
        port,
        database: options.database ?? parsed.database,
        user: options.username ?? parsed.user,
        ...(typeof password === "string" ? { password } : {}),
        ssl: options.ssl ?? parsed.ssl,
        options: parsed.options,
        ...(parsed.client_encoding ? { client_encoding: parsed.client_encoding } : {}),
        application_name: options.applicationName ?? parsed.application_name ?? "effect-lexigram",
        connectionTimeoutMillis: yield* millis("connectTimeout", options.connectTimeout ?? Duration.seconds(5)),
        idleTimeoutMillis: yield* millis("idleTimeout", options.idleTimeout ?? Duration.seconds(30)),
        ...(ttl ? { maxLifetimeSeconds: ttl / 1000 } : {}),
        max,
        min,
        keepAlive: true
      } as Pg.PoolConfig
    }
  })
