/**
 * The figures of conversations, made of turns one after the other: what is known of one part and of the part behind it
 * gives what is known of both, so that a conversation of any length is read by pages, from either end.
 *
 * @since 0.1.0
 */
export * as AnalyticsFold from "./upkeep/AnalyticsFold.js"

/**
 * Branches of sessions: fork a conversation, see its tree, bring branches together again.
 *
 * @since 0.1.0
 */
export * as BranchManager from "./branch/BranchManager.js"

/**
 * The branches of a conversation as a tree, as data and as text.
 *
 * @since 0.1.0
 */
export * as BranchTree from "./branch/BranchTree.js"

/**
 * Shows the newest turns of a session as they were said, and a summary of what was said before (`HistoryCompactor`).
 *
 * @since 0.1.0
 */
export * as CompactedSessionHistory from "./history/CompactedSessionHistory.js"

/**
 * The session manager over a store: checks, limits, expiry, and the memory work after each write. Turns, exchanges and
 * checkpoints have modules of their own.
 *
 * @since 0.1.0
 */
export * as DefaultSessionManager from "./manager/DefaultSessionManager.js"

/**
 * Keeps the turns that mean most nearly what the query means, by vectors, and the newer ones before the older.
 *
 * @since 0.1.0
 */
export * as EmbeddingContextPruner from "./history/EmbeddingContextPruner.js"

/**
 * How groups refuse or fail, besides their sessions.
 *
 * @since 0.1.0
 */
export * as GroupError from "./group/GroupError.js"

/**
 * What a group came to.
 *
 * @since 0.1.0
 */
export * as GroupOutcome from "./group/GroupOutcome.js"

/**
 * Somebody who takes part in a group: an agent, a human, or a function. It is asked with what it may see of the
 * conversation and answers, or says nothing.
 *
 * @since 0.1.0
 */
export * as GroupParticipant from "./group/GroupParticipant.js"

/**
 * Several participants in one conversation, which a session keeps: who speaks is the turn manager's choice, what each
 * of them sees that of its isolation.
 *
 * @since 0.1.0
 */
export * as GroupSession from "./group/GroupSession.js"

/**
 * When a group is done, besides its limits. Conditions are looked at whenever somebody was asked, between two turns:
 * what is in progress is never cut off by them.
 *
 * @since 0.1.0
 */
export * as GroupTermination from "./group/GroupTermination.js"

/**
 * Which turns of a session stay when not all of them may be shown.
 *
 * @since 0.1.0
 */
export * as HistoryPruner from "./history/HistoryPruner.js"

/**
 * Humans in a group. They are asked like everybody else, have longer for it, and say nothing by not answering.
 *
 * @since 0.1.0
 */
export * as HumanParticipant from "./group/HumanParticipant.js"

/**
 * A session store in the memory of this process. The cost of a call depends on its input and output, not on the number
 * of stored sessions, turns and checkpoints.
 *
 * @since 0.1.0
 */
export * as InMemorySessionStore from "./turn/InMemorySessionStore.js"

/**
 * Keeps sessions in a `KeyValueStore` of `@effect/platform`: in files, in the storage of a browser, or in what else
 * there is one for.
 *
 * @since 0.1.0
 */
export * as KeyValueSessionStore from "./keyvalue/KeyValueSessionStore.js"

/**
 * How a branch is taken over into another session of its tree: which of its turns, and what becomes of the small state
 * that both have.
 *
 * @since 0.1.0
 */
export * as MergeStrategy from "./branch/MergeStrategy.js"

/**
 * Lets a model decide about the conflicts of a merge. It sees the versions as numbered data, and what it answers can do
 * no more than choose one of them or give a value in their place.
 *
 * @since 0.1.0
 */
export * as ModelMergeResolver from "./branch/ModelMergeResolver.js"

/**
 * A model decides who speaks next. It sees the end of the conversation as data, as far as it is visible to it, and what
 * it says is looked up among the names of the group: nothing else in it counts.
 *
 * @since 0.1.0
 */
export * as ModelTurnManager from "./group/ModelTurnManager.js"

/**
 * Everybody in turn, whoever has the highest priority first, in each cycle anew.
 *
 * @since 0.1.0
 */
export * as PriorityTurnManager from "./group/PriorityTurnManager.js"

/**
 * Shows those turns of a session that matter for the message: out of a wide window of the newest ones, what a pruner
 * keeps.
 *
 * @since 0.1.0
 */
export * as PrunedSessionHistory from "./history/PrunedSessionHistory.js"

/**
 * Keeps the newest turns, whatever the query.
 *
 * @since 0.1.0
 */
export * as RecencyContextPruner from "./history/RecencyContextPruner.js"

/**
 * Keeps the turns that have most words in common with the query, rare words first (BM25), and the newer ones before the
 * older.
 *
 * @since 0.1.0
 */
export * as RelevanceContextPruner from "./history/RelevanceContextPruner.js"

/**
 * Who sees which turn of a group. Turns carry it themselves, in their metadata: `visibleTo` (a list of names and roles)
 * wins over `hiddenFrom` (another one); with neither everybody sees them. Rules by role come on top: a turn is seen
 * where both allow it.
 *
 * @since 0.1.0
 */
export * as RoleIsolation from "./group/RoleIsolation.js"

/**
 * Everybody in turn, in the order of the group.
 *
 * @since 0.1.0
 */
export * as RoundRobinTurnManager from "./group/RoundRobinTurnManager.js"

/**
 * Sessions, their turns and their checkpoints as data. Turns form a tree that only grows: a turn knows its parent, a
 * session its newest turn (its head), a checkpoint a head and the small state of the session. A branch is a session
 * whose first turn has its parent in another session. Times are milliseconds since the epoch, costs US dollars.
 *
 * @since 0.1.0
 */
export * as Session from "./turn/Session.js"

/**
 * The figures of sessions: turns, tokens, cost, time, and who and what took part. Turns are read by pages, however many
 * there are.
 *
 * @since 0.1.0
 */
export * as SessionAnalytics from "./upkeep/SessionAnalytics.js"

/**
 * Makes sessions expired in which nothing happened for too long, again and again. They are kept, and their turns can
 * still be read.
 *
 * @since 0.1.0
 */
export * as SessionCleanup from "./upkeep/SessionCleanup.js"

/**
 * How conversations are kept and for how long, from code or from the environment.
 *
 * @since 0.1.0
 */
export * as SessionConfig from "./SessionConfig.js"

/**
 * The session that belongs to what is going on: bound around a piece of work, and read from anywhere within it. Fibers
 * that are forked there inherit it; others never see it.
 *
 * @since 0.1.0
 */
export * as SessionContext from "./manager/SessionContext.js"

/**
 * How sessions refuse or fail.
 *
 * @since 0.1.0
 */
export * as SessionError from "./turn/SessionError.js"

/**
 * The domain events of sessions: what other parts of an application are told of. The aggregate is the session.
 *
 * @since 0.1.0
 */
export * as SessionEvents from "./turn/SessionEvents.js"

/**
 * What a model is shown of a session before the message it is to answer.
 *
 * @since 0.1.0
 */
export * as SessionHistory from "./history/SessionHistory.js"

/**
 * The places of sessions where handlers may wait. They are called after the session is kept.
 *
 * @since 0.1.0
 */
export * as SessionHooks from "./turn/SessionHooks.js"

/**
 * The lifecycle of sessions: create, resume, add turns, checkpoint, restore, suspend, close.
 *
 * @since 0.1.0
 */
export * as SessionManager from "./manager/SessionManager.js"

/**
 * Sessions in memory: whose memory it is, a turn as what is remembered of it, and what of it a branch may recall.
 *
 * @since 0.1.0
 */
export * as SessionMemory from "./manager/SessionMemory.js"

/**
 * Turns of a session as messages for a model: what was said, and the calls of tools that lie between.
 *
 * @since 0.1.0
 */
export * as SessionMessages from "./history/SessionMessages.js"

/**
 * Metrics and span names of sessions. Labels come from fixed lists; none names a session or a user.
 *
 * @since 0.1.0
 */
export * as SessionMetrics from "./turn/SessionMetrics.js"

/**
 * Which status of a session may follow which.
 *
 * @since 0.1.0
 */
export * as SessionStateMachine from "./manager/SessionStateMachine.js"

/**
 * Stores sessions, their turns and their checkpoints. The manager decides what may be done to a session; a store writes
 * atomically, and concurrent writers do not overwrite each other.
 *
 * @since 0.1.0
 */
export * as SessionStore from "./turn/SessionStore.js"

/**
 * Failures of the work that follows when a session was written: memory takes its turns, takes over what it held, and is
 * consolidated.
 *
 * @since 0.1.0
 */
export * as SessionTaskError from "./turn/SessionTaskError.js"

/**
 * Sessions as an application has them: a store, their life, their branches and what keeps them in order, as a
 * configuration wants them.
 *
 * @since 0.1.0
 */
export * as Sessions from "./Sessions.js"

/**
 * What lies between two states of sessions: field by field, so that it can be read, kept, and put onto a state again.
 *
 * @since 0.1.0
 */
export * as StateDiff from "./turn/StateDiff.js"

/**
 * Whoever is responsible for what was just said.
 *
 * @since 0.1.0
 */
export * as TopicTurnManager from "./group/TopicTurnManager.js"

/**
 * Who speaks next in a group. A turn manager is a value without memory: what it has to remember is a state that each
 * run of a group keeps for itself, so that one manager serves any number of sessions at once.
 *
 * @since 0.1.0
 */
export * as TurnManager from "./group/TurnManager.js"

/**
 * Shows the newest turns of a session as they were said.
 *
 * @since 0.1.0
 */
export * as WindowSessionHistory from "./history/WindowSessionHistory.js"
