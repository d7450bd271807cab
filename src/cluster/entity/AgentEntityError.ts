/**
 * Failures of sessions that are entities of a cluster.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/cluster/AgentEntityError"

/**
 * - `invalid`: an id, a message or an option is not valid
 * - `full`: too many messages wait for the session; send the message again later, with the same id
 * - `unreachable`: no process of the cluster answered in time
 * - `storage`: the message could not be written to the database
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentEntityErrorReason = Schema.Literal("invalid", "full", "unreachable", "storage").annotations({
  identifier: `${NAME}/AgentEntityErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type AgentEntityErrorReason = typeof AgentEntityErrorReason.Type

/**
 * A session did not take a message, or did not answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentEntityError extends ErrorCode.TaggedError<AgentEntityError>(`${NAME}/AgentEntityError`)(
  "AgentEntityError",
  {
    ...ErrorCode.fields("LEX_ERR_AGT_128"),
    reason: AgentEntityErrorReason
  }
) {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const invalid = (message: string, hint: string): AgentEntityError =>
  new AgentEntityError({ reason: "invalid", message, hint })

/**
 * @since 0.1.0
 * @category constructors
 */
export const full = (): AgentEntityError =>
  new AgentEntityError({
    reason: "full",
    message: "Too many messages wait for the session",
    hint: "Send the message again later, with the same id"
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const unreachable = (cause?: unknown): AgentEntityError =>
  new AgentEntityError({
    reason: "unreachable",
    message: "No process of the cluster answered for the session",
    hint: "Check that processes with `AgentEntity.layer` run, and try again with the same id",
    ...(cause === undefined ? {} : { cause })
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const storage = (cause: unknown): AgentEntityError =>
  new AgentEntityError({
    reason: "storage",
    message: "The message could not be written to the database",
    hint: "Check the database, and send the message again with the same id",
    cause
  })
