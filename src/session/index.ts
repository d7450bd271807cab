/**
 * Computes the figures of a conversation by combining those of adjacent parts, so that a conversation of any length is
 * read page by page, from either end.
 *
 * @since 0.1.0
 */
export * as AnalyticsFold from "./upkeep/AnalyticsFold.js"

/**
 * Branches of sessions: forks a conversation, shows its tree, and merges branches.
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
 * Shows the newest turns of a session verbatim, after a summary of the earlier ones (`HistoryCompactor`).
 *
 * @since 0.1.0
 */
export * as CompactedSessionHistory from "./history/CompactedSessionHistory.js"

/**
 * The branch manager over a store: limits, pages of branches, trees, and the memory work after each write. Forks,
 * merges and differences have modules of their own.
 *
 * @since 0.1.0
 */
export * as DefaultBranchManager from "./branch/DefaultBranchManager.js"

/**
 * Computes the reports of sessions from their turns, which are read page by page.
 *
 * @since 0.1.0
 */
export * as DefaultSessionAnalytics from "./upkeep/DefaultSessionAnalytics.js"

/**
 * Expires idle sessions at intervals or on request, page by page.
 *
 * @since 0.1.0
 */
export * as DefaultSessionCleanup from "./upkeep/DefaultSessionCleanup.js"

/**
 * The session manager over a store: checks, limits, expiry, and the memory work after each write. Turns, exchanges and
 * checkpoints have modules of their own.
 *
 * @since 0.1.0
 */
export * as DefaultSessionManager from "./manager/DefaultSessionManager.js"

/**
 * Keeps the turns whose embeddings are closest to the query, newer turns first among equals.
 *
 * @since 0.1.0
 */
export * as EmbeddingContextPruner from "./history/EmbeddingContextPruner.js"

/**
 * Errors of groups, in addition to those of their sessions.
 *
 * @since 0.1.0
 */
export * as GroupError from "./group/GroupError.js"

/**
 * The outcome of a group run.
 *
 * @since 0.1.0
 */
export * as GroupOutcome from "./group/GroupOutcome.js"

/**
 * A participant of a group: an agent, a human, or a function. It receives the turns that it may see and answers or
 * stays silent.
 *
 * @since 0.1.0
 */
export * as GroupParticipant from "./group/GroupParticipant.js"

/**
 * A conversation of several participants in one session. The turn manager chooses the next speaker, and the isolation
 * decides which turns each participant sees.
 *
 * @since 0.1.0
 */
export * as GroupSession from "./group/GroupSession.js"

/**
 * Conditions that end a group before its limits. They are checked between two turns and never interrupt a participant.
 *
 * @since 0.1.0
 */
export * as GroupTermination from "./group/GroupTermination.js"

/**
 * The port that selects which turns of a session are shown when not all fit.
 *
 * @since 0.1.0
 */
export * as HistoryPruner from "./history/HistoryPruner.js"

/**
 * Humans as participants of a group. They have a longer timeout, and no answer counts as silence.
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
 * Stores sessions in a `KeyValueStore` of `@effect/platform`: in files, in browser storage, or in any other
 * implementation.
 *
 * @since 0.1.0
 */
export * as KeyValueSessionStore from "./keyvalue/KeyValueSessionStore.js"

/**
 * Merges whose conflicts a person decides: a preview of a merge, and a merge by a decision for each conflict.
 *
 * @since 0.1.0
 */
export * as MergeDecisions from "./branch/MergeDecisions.js"

/**
 * Strategies for merging a branch into another session of its tree: which turns to copy, and how to combine the small
 * states.
 *
 * @since 0.1.0
 */
export * as MergeStrategy from "./branch/MergeStrategy.js"

/**
 * Lets a model resolve the conflicts of a merge. The model sees the versions as numbered data, and can only choose one
 * of them or give a replacement.
 *
 * @since 0.1.0
 */
export * as ModelMergeResolver from "./branch/ModelMergeResolver.js"

/**
 * A turn manager that asks a model for the next speaker. The model sees the visible end of the conversation as data,
 * and only a participant's name in its reply counts.
 *
 * @since 0.1.0
 */
export * as ModelTurnManager from "./group/ModelTurnManager.js"

/**
 * A turn manager that asks every participant once a cycle, highest priority first.
 *
 * @since 0.1.0
 */
export * as PriorityTurnManager from "./group/PriorityTurnManager.js"

/**
 * Shows the turns that a pruner selects for the message, from a wide window of the newest ones.
 *
 * @since 0.1.0
 */
export * as PrunedSessionHistory from "./history/PrunedSessionHistory.js"

/**
 * Selects turns by their rank: by any measure of relevance, and by recency.
 *
 * @since 0.1.0
 */
export * as RankedHistoryPruner from "./history/RankedHistoryPruner.js"

/**
 * Keeps the newest turns and ignores the query.
 *
 * @since 0.1.0
 */
export * as RecencyContextPruner from "./history/RecencyContextPruner.js"

/**
 * Keeps the turns that share most words with the query, weighting rare words (BM25), newer turns first among equals.
 *
 * @since 0.1.0
 */
export * as RelevanceContextPruner from "./history/RelevanceContextPruner.js"

/**
 * Restricts which participants of a group see a turn. Turns say so in their metadata: `visibleTo` (a list of names and
 * roles) wins over `hiddenFrom` (another list); without either, everybody sees the turn. Rules by role apply in
 * addition: a turn is visible only where both allow it.
 *
 * @since 0.1.0
 */
export * as RoleIsolation from "./group/RoleIsolation.js"

/**
 * A turn manager that asks the participants in the order of the group.
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
 * The port that reports the figures of sessions: turns, tokens, cost, time, participants and models.
 *
 * @since 0.1.0
 */
export * as SessionAnalytics from "./upkeep/SessionAnalytics.js"

/**
 * What a session manager does with files.
 *
 * @since 0.1.0
 */
export * as SessionAttachments from "./manager/SessionAttachments.js"

/**
 * The port that expires idle sessions. They stay stored, and their turns stay readable.
 *
 * @since 0.1.0
 */
export * as SessionCleanup from "./upkeep/SessionCleanup.js"

/**
 * Configuration of sessions, from code or from the environment: backend, lifetimes, limits and HTTP names.
 *
 * @since 0.1.0
 */
export * as SessionConfig from "./SessionConfig.js"

/**
 * The session bound to the current fiber. It can be read anywhere inside the work it was bound around; forked fibers
 * inherit it, and other fibers never see it.
 *
 * @since 0.1.0
 */
export * as SessionContext from "./manager/SessionContext.js"

/**
 * Errors of sessions.
 *
 * @since 0.1.0
 */
export * as SessionError from "./turn/SessionError.js"

/**
 * Domain events of sessions. The aggregate is the session.
 *
 * @since 0.1.0
 */
export * as SessionEvents from "./turn/SessionEvents.js"

/**
 * The port that selects what a model sees of a session before the message to answer.
 *
 * @since 0.1.0
 */
export * as SessionHistory from "./history/SessionHistory.js"

/**
 * Hook points of sessions. Handlers are called after the session is stored.
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
 * Maps sessions to memory: the owner, a turn as a memory entry, and which entries a branch may recall.
 *
 * @since 0.1.0
 */
export * as SessionMemory from "./manager/SessionMemory.js"

/**
 * Converts turns of a session to messages for a model, with their tool calls.
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
 * The allowed transitions between statuses of a session.
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
 * Failures of the work that follows a session write: adding turns to memory, flushing it, and consolidating it.
 *
 * @since 0.1.0
 */
export * as SessionTaskError from "./turn/SessionTaskError.js"

/**
 * The session subsystem as one layer: store, lifecycle, branches, analytics and clean-up, by configuration.
 *
 * @since 0.1.0
 */
export * as Sessions from "./Sessions.js"

/**
 * The difference between two session states, field by field. It can be read, stored, and applied to a state.
 *
 * @since 0.1.0
 */
export * as StateDiff from "./turn/StateDiff.js"

/**
 * A turn manager that asks the participant responsible for the topic of the last turn.
 *
 * @since 0.1.0
 */
export * as TopicTurnManager from "./group/TopicTurnManager.js"

/**
 * The port that chooses the next speaker of a group. A turn manager is a stateless value: each run keeps its state, so
 * that one manager serves any number of sessions at once.
 *
 * @since 0.1.0
 */
export * as TurnManager from "./group/TurnManager.js"

/**
 * Shows the newest turns of a session verbatim.
 *
 * @since 0.1.0
 */
export * as WindowSessionHistory from "./history/WindowSessionHistory.js"
