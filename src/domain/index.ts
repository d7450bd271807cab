/**
 * Events of a run, as plain tagged objects. The stream of events is the truth; everything else is derived from it.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./AgentEvent.js"

/**
 * A run's outcome, folded from its events.
 *
 * @since 0.1.0
 */
export * as AgentResponse from "./AgentResponse.js"

/**
 * Every error code of the library. A code belongs to exactly one error class; the first of each family (`_001`) names
 * the family.
 *
 * @since 0.1.0
 */
export * as ErrorCode from "./ErrorCode.js"

/**
 * Errors as events carry them: without causes, bounded, with secrets taken out.
 *
 * @since 0.1.0
 */
export * as ErrorInfo from "./ErrorInfo.js"

/**
 * Ids that sort by the time they were made. The default reads Effect's `Clock` and `Random`, so a program under
 * `TestClock` and a seeded `Random` makes the same ids on every run.
 *
 * @since 0.1.0
 */
export * as IdGenerator from "./IdGenerator.js"

/**
 * Branded identifiers shared by every subsystem. All are plain strings on the wire, 1 to 256 characters without control
 * characters.
 *
 * @since 0.1.0
 */
export * as Ids from "./Ids.js"

/**
 * What of an event may leave the server, field by field.
 *
 * @since 0.1.0
 */
export * as PublicView from "./PublicView.js"

/**
 * The limit on how long a stream waits for its reader. The time of that wait counts for no other limit.
 *
 * @since 0.1.0
 */
export * as ReaderTimeout from "./ReaderTimeout.js"

/**
 * For whom the current run works.
 *
 * @since 0.1.0
 */
export * as Requester from "./Requester.js"

/**
 * The capability to act for the system, and the one rule of ownership: with a user, a call reaches only what is that
 * user's; without one, only what belongs to nobody. Only an effect that holds the capability reaches everybody's data,
 * and only while it names no user.
 *
 * @since 0.1.0
 */
export * as SystemAccess from "./SystemAccess.js"

/**
 * Tokens used by model calls. A field that no provider reported is absent, never zero.
 *
 * @since 0.1.0
 */
export * as Usage from "./Usage.js"

/**
 * The version of this package.
 *
 * @since 0.1.0
 */
export * as Version from "./Version.js"
