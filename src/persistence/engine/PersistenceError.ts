/**
 * Errors of databases outside of the ports: opening, migrating, configuring, copying. Ports on a database fail with
 * their own errors.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/persistence/PersistenceError"

/**
 * Why a database failed. `unreachable`: no answer, or the connection was cut; a retry may succeed. `busy`: another
 * transaction held a lock for too long; a retry may succeed. `full`: the disk is full. `read-only`: the database
 * rejects writes. `refused`: wrong user, password or rights. `schema`: a table or a column is missing or different.
 * `data`: stored data cannot be read, or given data cannot be stored. `other`: anything else.
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
 * A database could not be opened, or an operation failed. `backend` names it: `sqlite`, `postgres`, `redis`.
 *
 * @since 0.1.0
 * @category errors
 */
export class DatabaseError extends ErrorCode.TaggedError<DatabaseError>(`${NAME}/DatabaseError`)("DatabaseError", {
  ...ErrorCode.fields("LEX_ERR_DB_100"),
  backend: Schema.String,
  reason: Reason
}) {}

/** A host, an address or a socket path. Anything else may hold a password. */
const isHost = (text: string): boolean => /^[\w.:/[\]-]{1,255}$/.test(text)

/**
 * Adds the servers to an error about the connection to them.
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
 * The tables could not be migrated to the version of this code. `found` is the version of the database if known,
 * `needed` that of the code. A database newer than the code (`newer`) is not changed.
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
 * An invalid configuration: an unknown backend, an unreadable URL, a package that is not installed.
 *
 * @since 0.1.0
 * @category errors
 */
export class PersistenceConfigurationError extends ErrorCode.TaggedError<PersistenceConfigurationError>(
  `${NAME}/PersistenceConfigurationError`
)("PersistenceConfigurationError", ErrorCode.fields("LEX_ERR_DB_102")) {}

/**
 * The data of an owner could not be exported, imported or erased. A failed import changes nothing. A failed erasure is
 * not undone and can be repeated. `part` is the part that failed.
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
