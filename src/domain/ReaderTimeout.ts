/**
 * Limits how long a stream waits for its reader. This wait counts toward no other limit.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Ambient from "../internal/fiber/Ambient.js"
import type * as EventSink from "../internal/fiber/EventSink.js"
import * as ErrorCode from "./ErrorCode.js"

/**
 * The reader of a stream took no element for `timeoutMs` while the buffer was full. The run, group, graph or model call
 * of the stream was stopped.
 *
 * @since 0.1.0
 * @category errors
 */
export class ReaderTimeoutError extends ErrorCode.TaggedError<ReaderTimeoutError>(
  "effect-lexigram/domain/ReaderTimeout/ReaderTimeoutError"
)("ReaderTimeoutError", { ...ErrorCode.fields("LEX_ERR_AGT_117"), timeoutMs: Schema.Number }) {}

/**
 * How long streams of groups, graphs, strategies and model calls wait for their reader. Default 5 minutes;
 * `Duration.infinity` waits forever. Streams of an `AgentExecutor` use the `readerTimeout` of its configuration.
 *
 * @since 0.1.0
 * @category tags
 */
export class ReaderTimeout extends Ambient.Reference<ReaderTimeout>()("effect-lexigram/domain/ReaderTimeout", {
  defaultValue: (): Duration.DurationInput => defaultLimit
}) {}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultLimit: Duration.Duration = Duration.minutes(5)

/**
 * The limit in the form that a stream takes.
 *
 * @internal
 * @since 0.1.0
 * @category constructors
 */
export const patience = (limit: Duration.DurationInput): EventSink.Patience<ReaderTimeoutError> => ({
  limit: Duration.toMillis(limit),
  onLate: (timeoutMs) =>
    new ReaderTimeoutError({
      timeoutMs,
      message: `The reader of the stream read nothing for ${timeoutMs} ms`,
      hint: "Read faster, buffer the stream, or raise the reader timeout"
    })
})

/**
 * The limit in context, in the form that a stream takes.
 *
 * @internal
 * @since 0.1.0
 * @category constructors
 */
export const current = (context: Context.Context<never>): EventSink.Patience<ReaderTimeoutError> =>
  patience(Context.get(context as Context.Context<ReaderTimeout>, ReaderTimeout))
