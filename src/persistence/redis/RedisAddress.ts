/**
 * Parses the address of a Redis server or cluster from options and URLs.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"

/**
 * @category models
 */
export interface Address {
  readonly host: string
  readonly port: number
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly db?: number | undefined
  readonly tls: boolean
}

/**
 * The options that say where the server is.
 *
 * @category models
 */
export interface Given {
  /**
   * `redis://user:password@host:port/0`, or `rediss://` for TLS. A list names nodes of one cluster; the first URL has
   * the user and the password.
   */
  readonly url?: Redacted.Redacted<string> | ReadonlyArray<Redacted.Redacted<string>> | undefined
  /** Default: `localhost`. Cannot be combined with `url`, nor can `port`, `username`, `password`, `db` and `tls`. */
  readonly host?: string | undefined
  /** Default: 6379. */
  readonly port?: number | undefined
  readonly username?: string | undefined
  readonly password?: Redacted.Redacted<string> | undefined
  /** Default: 0. */
  readonly db?: number | undefined
  /** Encrypts the connection and verifies the certificate. Default: false. */
  readonly tls?: boolean | undefined
  /** Whether the node belongs to a cluster. Default: true if `url` is a list. */
  readonly cluster?: boolean | undefined
}

/**
 * The first node has the user, password and TLS setting of all nodes.
 *
 * @category models
 */
export interface Place {
  readonly isCluster: boolean
  readonly nodes: readonly [Address, ...ReadonlyArray<Address>]
}

const DEFAULT_PORT = 6379

const wrong = (message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message, hint })

const unreadable = () =>
  wrong("The URL of Redis cannot be read", "Use redis://user:password@host:port/0, or rediss:// for TLS")

/** Errors never contain the URL: it may hold a password. */
const parse = (text: string): Either.Either<Address, PersistenceConfigurationError> =>
  Either.try({
    try: () => {
      const url = new URL(text)
      const database = /^\/?(\d{0,9})$/.exec(url.pathname)?.[1]
      if ((url.protocol !== "redis:" && url.protocol !== "rediss:") || url.hostname === "" || database === undefined) {
        throw unreadable()
      }
      return {
        host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
        port: url.port === "" ? DEFAULT_PORT : Number(url.port),
        username: url.username === "" ? undefined : decodeURIComponent(url.username),
        password: url.password === "" ? undefined : decodeURIComponent(url.password),
        db: database === "" ? undefined : Number(database),
        tls: url.protocol === "rediss:"
      }
    },
    catch: unreadable
  })

const fromFields = (given: Given): Either.Either<Address, PersistenceConfigurationError> => {
  const { db, port = DEFAULT_PORT } = given
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    return Either.left(wrong("The port of Redis is invalid", "Use an integer from 1 to 65535"))
  }
  if (db !== undefined && (!Number.isInteger(db) || db < 0)) {
    return Either.left(wrong("The database of Redis is invalid", "Use an integer from 0"))
  }
  return Either.right({
    host: given.host ?? "localhost",
    port,
    username: given.username,
    password: given.password === undefined ? undefined : Redacted.value(given.password),
    db,
    tls: given.tls ?? false
  })
}

/**
 * @category constructors
 */
export const placeOf = (given: Given): Either.Either<Place, PersistenceConfigurationError> =>
  Either.gen(function* () {
    const { url } = given
    const urls = url === undefined ? [] : Redacted.isRedacted(url) ? [url] : url
    const { db, host, password, port, tls, username } = given
    if (url !== undefined && [db, host, password, port, tls, username].some((one) => one !== undefined)) {
      return yield* Either.left(
        wrong("Redis has both a URL and options that are part of one", "Use either `url` or the single options")
      )
    }
    const addresses: Array<Address> = []
    for (const one of urls) addresses.push(yield* parse(Redacted.value(one)))
    const [first, ...others] = url === undefined ? [yield* fromFields(given)] : addresses
    if (first === undefined) return yield* Either.left(wrong("The list of Redis URLs is empty", "Add at least one URL"))
    const isCluster = given.cluster ?? (url !== undefined && !Redacted.isRedacted(url))
    if (!isCluster && others.length > 0) {
      return yield* Either.left(
        wrong("Several Redis URLs are given without a cluster", "Set `cluster`, or use one URL")
      )
    }
    if (isCluster && (first.db ?? 0) !== 0) {
      return yield* Either.left(
        wrong("A Redis cluster only has database 0", "Remove the database from the URL or the options")
      )
    }
    return { isCluster, nodes: [first, ...others] }
  })
