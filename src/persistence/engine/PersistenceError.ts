/**
 * How databases fail where no port is asked: when they are opened, migrated, chosen, copied. What a port does over a
 * database fails with the port's own errors.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/persistence/PersistenceError"

/**
 * What went wrong in a database. `unreachable`: no answer, or the connection was cut; it may work when tried again, as
 * may `busy`, where somebody else held a lock for too long. `full`: no room on the disk. `read-only`: it takes no
 * writes. `refused`: wrong user, password or rights. `schema`: a table or a column is not there, or there is another
 * one. `data`: what is kept cannot be read, or what was given cannot be kept. `other`: anything else.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal("unreachable", "busy", "full", "read-only", "refused", "schema", "data", "other")
/**
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * A database could not be opened, or did not do what it was asked to. `backend` names it: `sqlite`, `postgres`,
 * `redis`.
 *
 * @since 0.1.0
 * @category errors
 */
export class DatabaseError extends ErrorCode.TaggedError<DatabaseError>(`${NAME}/DatabaseError`)("DatabaseError", {
  ...ErrorCode.fields("LEX_ERR_DB_100"),
  backend: Schema.String,
  reason: Reason
}) {}

/** A host, an address or the path of a socket; whatever else was given for one may hold a password. */
const isHost = (text: string): boolean => /^[\w.:/[\]-]{1,255}$/.test(text)

/**
 * The error with the servers it is about, where it is about the connection to them.
 *
 * @since 0.1.0
 * @category conversions
 */
export const atServers = (
  { backend, cause, hint, message, reason }: DatabaseError,
  servers: ReadonlyArray<{ readonly host: string; readonly port: number }>
): DatabaseError => {
  const isConnection = reason === "unreachable" || reason === "refused"
  const names = isConnection ? servers.flatMap(({ host, port }) => (isHost(host) ? [`${host}:${port}`] : [])) : []
  return new DatabaseError({
    backend,
    reason,
    message: names.length === 0 ? message : `${message} (${names.slice(0, 8).join(", ")})`,
    ...(hint === undefined ? {} : { hint }),
    ...(cause === undefined ? {} : { cause })
  })
}

/**
 * The tables could not be brought to the version that this code needs. `found` is the version that the database has,
 * where it is known; `needed` that of the code. A database that is newer than the code (`newer`) is left alone.
 *
 * @since 0.1.0
 * @category errors
 */
export class MigrationError extends ErrorCode.TaggedError<MigrationError>(`${NAME}/MigrationError`)("MigrationError", {
  ...ErrorCode.fields("LEX_ERR_DB_101"),
  reason: Schema.Literal("newer", "failed", "absent"),
  found: Schema.optional(Schema.Number),
  needed: Schema.Number
}) {}

/**
 * What was asked for cannot be built: no such backend, a URL that cannot be read, a package that is not installed.
 *
 * @since 0.1.0
 * @category errors
 */
export class PersistenceConfigurationError extends ErrorCode.TaggedError<PersistenceConfigurationError>(
  `${NAME}/PersistenceConfigurationError`
)("PersistenceConfigurationError", ErrorCode.fields("LEX_ERR_DB_102")) {}

/**
 * The data of an owner could not be exported, imported or erased as a whole. Nothing of an import is kept; what was
 * erased stays so, and the erasure can be tried again. `part` is what it failed at.
 *
 * @since 0.1.0
 * @category errors
 */
export class DataTransferError extends ErrorCode.TaggedError<DataTransferError>(`${NAME}/DataTransferError`)(
  "DataTransferError",
  { ...ErrorCode.fields("LEX_ERR_DB_103"), part: Schema.String }
) {}

/**
 * @since 0.1.0
 * @category errors
 */
export type PersistenceError = DatabaseError | MigrationError | PersistenceConfigurationError | DataTransferError
