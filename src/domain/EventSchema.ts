/**
 * Fields of every event, and the constructor of their schemas.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId } from "./Ids.js"

/** The prefix of the identifiers of event schemas. */
export const NAME = "effect-lexigram/domain/AgentEvent"

/**
 * Fields of every event: the run, the run that started it, the agent, the number of the event in its run (from 0;
 * with gaps where deltas were, and where a durable run went on in another process) and the time in milliseconds since
 * the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Meta {
  readonly runId: RunId
  readonly parentRunId?: RunId | undefined
  readonly agent: string
  readonly seq: number
  readonly at: number
  /** The place of the event in a durable run: the same on every replay. */
  readonly place?: string | undefined
}

const meta = {
  runId: RunId,
  parentRunId: Schema.optional(RunId),
  agent: Schema.String,
  seq: Schema.Number,
  at: Schema.Number,
  place: Schema.optional(Schema.String)
}

export const event = <const Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.Struct({ _tag: Schema.Literal(tag), ...fields, ...meta }).annotations({ identifier: `${NAME}/${tag}` })
