/**
 * Which backend a URL means: `sqlite:` a file, `postgres://` a server, `redis://` a cache, `memory:` this process. Nothing else is guessed.
 *
 * @since 0.1.0
 */
export * as DatabaseUrl from "./DatabaseUrl.js"

/**
 * A whole system in one line: agents with memory, sessions and governance over one backend, with every port that keeps something.
 *
 * @since 0.1.0
 */
export * as Lexigram from "./Lexigram.js"

/**
 * Brings the tables of a database to the version that this code needs: forward only, each version once, all or nothing, however many
 * processes begin at once. A version that was released never changes; what comes later is a version of its own.
 *
 * @since 0.1.0
 */
export * as Migrations from "./Migrations.js"

/**
 * How databases fail where no port is asked: when they are opened, migrated, chosen, copied. What a port does over a database fails with the
 * port's own errors.
 *
 * @since 0.1.0
 */
export * as PersistenceError from "./PersistenceError.js"
