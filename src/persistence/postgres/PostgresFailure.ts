/**
 * Describes why a connection to Postgres failed, without the names that its messages quote.
 *
 * @private
 * @since 0.1.0
 */
import { DatabaseError, type Reason } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"

type Meaning = readonly [reason: Reason, message: string, hint: string]

const meanings: { readonly [code: string]: Meaning } = {
  "28P01": ["refused", "Postgres refused the user or its password", "See to `username` and `password`"],
  "28000": [
    "refused",
    "Postgres does not let this user in from here",
    "See to the user and its rights, to pg_hba.conf, and whether the server wants TLS (`ssl`, or `sslmode=require` in the URL)"
  ],
  "3D000": ["refused", "Postgres has no database of this name", "Create the database, or see to its name"],
  "42501": ["refused", "The user may not do this", "Give it the right, or have somebody else do it"],
  "53300": [
    "busy",
    "All connections to Postgres are taken",
    "Raise `maxConnections` or the server's `max_connections`, or hold connections for less time"
  ]
}

const noTls: Meaning = [
  "refused",
  "The server offers no TLS, which was asked for",
  "Turn TLS on at the server, or do without it: `ssl: false`, or `sslmode=disable` in the URL"
]

const certificate: Meaning = [
  "refused",
  "The certificate of the server is not accepted",
  "Give the authority that signed it as `ssl.ca` or `sslrootcert`, and the host name that it is made out to"
]

const tlsCode =
  /^(?:ERR_(?:TLS|SSL)_|EPROTO$|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_(?:VERIFY|GET_ISSUER)|HOSTNAME_MISMATCH|INVALID_CA)/

const own = (error: unknown): Meaning | undefined => {
  for (let depth = 0, at = error; depth < 5 && typeof at === "object" && at !== null; depth++) {
    const { cause, code, message } = at as {
      readonly cause?: unknown
      readonly code?: unknown
      readonly message?: unknown
    }
    if (typeof code === "string") {
      if (tlsCode.test(code)) return certificate
      return Object.hasOwn(meanings, code) ? meanings[code] : undefined
    }
    if (typeof message === "string" && /does not support SSL|establishing an SSL/.test(message)) return noTls
    at = cause
  }
  return undefined
}

/** The error of a pool without a free connection. */
export const exhausted: Error = Object.assign(new Error("no connection of the pool became free in time"), {
  code: "53300"
})

/** The error of a client whose scope has ended. */
export const closed: Error = new Error("the client was closed")

/**
 * @category conversions
 */
export const toDatabaseError = (error: unknown): DatabaseError => {
  const meaning = own(error)
  if (meaning === undefined) return SqlFailure.toDatabaseError("postgres")(error)
  const [reason, message, hint] = meaning
  return new DatabaseError({ backend: "postgres", reason, message, hint })
}
