/**
 * The figures of conversations, made of turns one after the other: what is known of one part and of the part behind it gives what is known
 * of both, so that a conversation of any length is read by pages, from either end.
 *
 * @since 0.1.0
 */
export * as AnalyticsFold from "./AnalyticsFold.js"

/**
 * Branches of sessions: fork a conversation, see its tree, bring branches together again.
 *
 * @since 0.1.0
 */
export * as BranchManager from "./BranchManager.js"

/**
 * The branches of a conversation as a tree, as data and as text.
 *
 * @since 0.1.0
 */
export * as BranchTree from "./BranchTree.js"

/**
 * How a branch is taken over into another session of its tree: which of its turns, and what becomes of the small state that both have.
 *
 * @since 0.1.0
 */
export * as MergeStrategy from "./MergeStrategy.js"

/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a session its newest
 * turn (its head), a checkpoint a head and the small state of the session. A branch is a session whose first turn has its parent in another
 * session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
export * as Session from "./Session.js"

/**
 * The figures of sessions: turns, tokens, cost, time, and who and what took part. Turns are read by pages, however many there are.
 *
 * @since 0.1.0
 */
export * as SessionAnalytics from "./SessionAnalytics.js"

/**
 * Makes sessions expired in which nothing happened for too long, again and again. They are kept, and their turns can still be read.
 *
 * @since 0.1.0
 */
export * as SessionCleanup from "./SessionCleanup.js"

/**
 * How conversations are kept and for how long, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SessionConfig from "./SessionConfig.js"

/**
 * How sessions refuse or fail.
 *
 * @since 0.1.0
 */
export * as SessionError from "./SessionError.js"

/**
 * The domain events of sessions: what other parts of an application are told of. The aggregate is the session.
 *
 * @since 0.1.0
 */
export * as SessionEvents from "./SessionEvents.js"

/**
 * The places of sessions where handlers may wait. They are called after the session is kept.
 *
 * @since 0.1.0
 */
export * as SessionHooks from "./SessionHooks.js"

/**
 * The life of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
export * as SessionManager from "./SessionManager.js"

/**
 * Sessions in memory: whose memory it is, a turn as what is remembered of it, and what of it a branch may recall.
 *
 * @since 0.1.0
 */
export * as SessionMemory from "./SessionMemory.js"

/**
 * Metrics and span names of sessions. Labels come from fixed lists; none names a session or a user.
 *
 * @since 0.1.0
 */
export * as SessionMetrics from "./SessionMetrics.js"

/**
 * Which status of a session may follow which.
 *
 * @since 0.1.0
 */
export * as SessionStateMachine from "./SessionStateMachine.js"

/**
 * Where sessions, their turns and their checkpoints are kept. What may be done to a session is the manager's business; a store keeps what it
 * is given, all or nothing, and never lets one writer pass over another.
 *
 * @since 0.1.0
 */
export * as SessionStore from "./SessionStore.js"
