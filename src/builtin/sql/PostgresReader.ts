/**
 * Runs each statement on its own Postgres connection: session state that a statement leaves, such as an advisory lock,
 * ends with it.
 *
 * @private
 * @since 0.1.0
 */
import * as Net from "node:net"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type * as Pg from "pg"
import * as ClientReader from "./ClientReader.js"
import * as ReadOnlyQuery from "./ReadOnlyQuery.js"
import * as ReadOnlyRows from "./ReadOnlyRows.js"
import * as SqlCalls from "./SqlCalls.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Config {
  readonly host: string
  readonly port?: number | undefined
  readonly user?: string | undefined
  readonly password?: Redacted.Redacted<string> | undefined
  readonly database?: string | undefined
  /** `true` verifies the server's certificate. */
  readonly ssl?: boolean | undefined
}

/**
 * A URL such as `postgres://user:password@host:5432/database`, or its parts.
 *
 * @since 0.1.0
 * @category models
 */
export type Address = Redacted.Redacted<string> | Config

type Failure = ReadOnlyQuery.Failure

const { failure } = ReadOnlyQuery

/** Maximum bytes the server sends for a statement, before cells and rows are cut. */
const maxBytes = 32 * 2 ** 20

const library = Effect.mapError(
  Effect.tryPromise(() => import("pg").then((module) => module.default)),
  () => failure("Configuration", "The package `pg` is not installed", "npm install pg")
)

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  return typeof code === "string" ? code : ""
}

const unconnected = (error: unknown): Failure => {
  const code = codeOf(error)
  return failure("Connection", `There is no connection to the database${code === "" ? "" : ` (${code})`}`)
}

const queryFailure = (error: unknown): Failure => {
  const code = codeOf(error)
  if (code === "57014") return failure("Timeout", "The database ended the statement: it took too long")
  // Errors of the server have a five-character state; other errors are the connection's.
  if (!/^[0-9A-Z]{5}$/.test(code) || /^(?:08|57P)/.test(code)) {
    return failure("Ended", "The connection to the database ended while the statement ran")
  }
  return ReadOnlyQuery.refusedByDatabase(error instanceof Error ? error.message : "")
}

const addressOf = (address: Address): Pg.ClientConfig => {
  if (Redacted.isRedacted(address)) return { connectionString: Redacted.value(address) }
  const { database, host, password, port, ssl, user } = address as Config
  return {
    host,
    ...(port === undefined ? {} : { port }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password: Redacted.value(password) }),
    ...(database === undefined ? {} : { database }),
    ...(ssl === undefined ? {} : { ssl })
  }
}

/**
 * Keeps the digits of large integers and the database's form of dates: no time zone of this process changes them.
 */
const typesOf = (pg: Pick<typeof Pg, "types">): Pg.CustomTypesConfig => ({
  getTypeParser: (oid: number, format?: "text" | "binary"): any => {
    if (oid === 20) return BigInt
    if (oid === 1082 || oid === 1114 || oid === 1184) return String
    return pg.types.getTypeParser(oid, format as "text")
  }
})

interface Session {
  readonly client: Pg.Client
  readonly socket: Net.Socket
}

const closed = ({ client, socket }: Session): Effect.Effect<void> =>
  Effect.promise(() => client.end().catch(() => {})).pipe(
    Effect.disconnect,
    Effect.interruptible,
    Effect.timeoutOption("1 second"),
    Effect.zipRight(Effect.sync(() => socket.destroy()))
  )

const configured = (address: Address) =>
  Effect.flatMap(library, (pg) =>
    Effect.mapError(
      Effect.try((): Session => {
        const socket = new Net.Socket()
        const client = new pg.Client({
          ...addressOf(address),
          types: typesOf(pg),
          stream: () => socket
        } as Pg.ClientConfig)
        client.on("error", () => {})
        return { client, socket }
      }),
      () => failure("Configuration", "The address of the Postgres server is invalid", "Give a URL or its parts")
    )
  )

/** An abnormal end closes the socket at once, so that the server stops the statement. */
const connected = (address: Address): Effect.Effect<Session, Failure, Scope.Scope> =>
  Effect.tap(
    Effect.acquireRelease(configured(address), (session, exit) =>
      exit._tag === "Success" ? closed(session) : Effect.sync(() => session.socket.destroy())
    ),
    ({ client }) => Effect.tryPromise({ try: () => client.connect(), catch: unconnected })
  )

type Row = ReadOnlyRows.Row

/** Uses the extended protocol, which accepts only one statement. */
const queried = ({ client }: Session, text: string, values: ReadonlyArray<unknown>) =>
  Effect.async<ReadonlyArray<Row>, unknown>((resume) => {
    const query = { text, values: [...values], queryMode: "extended" } as Pg.QueryConfig
    client.query(query).then(
      ({ rows }) => resume(Effect.succeed(rows)),
      (error: unknown) => resume(Effect.fail(error))
    )
  })

/** Notices an answer that is too large while it arrives. */
const tooLarge = ({ socket }: Session): Effect.Effect<never, Failure> => {
  const before = socket.bytesRead
  return Effect.forever(
    Effect.zipRight(
      Effect.sleep("20 millis"),
      Effect.suspend(() =>
        socket.bytesRead - before > maxBytes
          ? Effect.fail(failure("TooLarge", "The answer of the database is too large"))
          : Effect.void
      )
    )
  )
}

/**
 * The server checks whether its client is still connected; by default it would finish the statement. Older servers lack
 * the setting.
 */
const watched = `SELECT set_config(name, '500', true) FROM pg_catalog.pg_settings WHERE name = 'client_connection_check_interval'`

const begun = (session: Session, timeoutMs: number) =>
  Effect.forEach(
    [
      "BEGIN TRANSACTION READ ONLY",
      `SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`,
      // Makes the server read strings as the check does.
      "SET LOCAL standard_conforming_strings = on",
      watched
    ],
    (text) => queried(session, text, []),
    { discard: true }
  )

/** The database finds row functions: `t.f` means `f(t)`. */
const checked = (session: Session, { allowed, statement }: ReadOnlyQuery.Request) =>
  Effect.gen(function* () {
    if (statement.names.length === 0) return
    const rows = yield* Effect.mapError(queried(session, ClientReader.rowFunctions, [statement.names]), queryFailure)
    const refused = rows.map(({ name }) => String(name)).find((name) => !SqlCalls.isAllowed(name, "pg", allowed))
    if (refused !== undefined) return yield* Effect.fail(ReadOnlyQuery.disallowed(refused))
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (address: Address): ReadOnlyQuery.Reader<never> => ({
  dialect: Effect.succeed("pg"),
  read: (request) =>
    Effect.gen(function* () {
      const { limits, params, sql } = request
      const session = yield* connected(address)
      yield* Effect.mapError(begun(session, limits.timeoutMs), unconnected)
      yield* checked(session, request)
      const rows = yield* Effect.raceFirst(
        Effect.mapError(queried(session, sql, params), queryFailure),
        tooLarge(session)
      )
      return ReadOnlyRows.make(rows, limits)
    }).pipe(Effect.scoped)
})
