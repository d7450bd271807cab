/**
 * How databases fail where no port is asked: when they are opened, migrated, chosen, copied. What a port does over a database fails with the
 * port's own errors.
 *
 * @since 0.1.0
 */
export * as PersistenceError from "./PersistenceError.js"
