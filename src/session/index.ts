/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a session its newest
 * turn (its head), a checkpoint a head and the small state of the session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
export * as Session from "./Session.js"

/**
 * How sessions refuse or fail.
 *
 * @since 0.1.0
 */
export * as SessionError from "./SessionError.js"

/**
 * The life of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
export * as SessionManager from "./SessionManager.js"
