/**
 * Events of a run, as plain tagged objects. The stream of events is the truth; everything else is derived from it.
 *
 * @since 0.1.0
 */
export * as AgentEvent from "./AgentEvent.js"

/**
 * The outcome of a run, folded from its events.
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
 * Errors as events carry them: bounded, without causes and with secrets removed.
 *
 * @since 0.1.0
 */
export * as ErrorInfo from "./ErrorInfo.js"

/**
 * Generates ids that sort by creation time. The default reads Effect's `Clock` and `Random`, so a program under
 * `TestClock` and a seeded `Random` generates the same ids on every run.
 *
 * @since 0.1.0
 */
export * as IdGenerator from "./IdGenerator.js"

/**
 * Branded identifiers shared by every subsystem. On the wire all are plain strings of 1 to 256 characters without
 * control characters.
 *
 * @since 0.1.0
 */
export * as Ids from "./Ids.js"

/**
 * The public view of events: what may leave the server, decided field by field.
 *
 * @since 0.1.0
 */
export * as PublicView from "./PublicView.js"

/**
 * Limits how long a stream waits for its reader. This wait counts toward no other limit.
 *
 * @since 0.1.0
 */
export * as ReaderTimeout from "./ReaderTimeout.js"

/**
 * The user and session that the current run works for.
 *
 * @since 0.1.0
 */
export * as Requester from "./Requester.js"

/**
 * Files as turns and events refer to them.
 *
 * @since 0.1.0
 */
export * as StoredFile from "./StoredFile.js"

/**
 * The capability to act for the system, and the rule of ownership: a call with a user reaches only that user's data; a
 * call without one reaches only data without an owner. An effect that holds the capability reaches everybody's data,
 * but only while it names no user.
 *
 * @since 0.1.0
 */
export * as SystemAccess from "./SystemAccess.js"

/**
 * Token usage of model calls. A field that no provider reported is absent, never zero.
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
