/**
 * A way to do something: the steps that worked for a task, and how often they did.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RunId } from "../../domain/Ids.js"
import { OwnerId } from "../entry/MemoryEntry.js"

const NAME = "effect-lexigram/memory/Procedure"

/**
 * @since 0.1.0
 * @category schemas
 */
export const ProcedureId = Schema.String.pipe(
  Schema.minLength(1),
  Schema.maxLength(256),
  Schema.brand("ProcedureId"),
  Schema.annotations({ identifier: `${NAME}/ProcedureId` })
)
/**
 * @since 0.1.0
 * @category models
 */
export type ProcedureId = typeof ProcedureId.Type

/**
 * One step of a procedure: a tool and how it was used, in words. Values of a run (names, numbers, texts) are not part
 * of it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProcedureStep = Schema.Struct({
  tool: Schema.String,
  /** The parameters that were given, by name. */
  parameters: Schema.Array(Schema.String),
  note: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/ProcedureStep` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ProcedureStep extends Schema.Schema.Type<typeof ProcedureStep> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Procedure = Schema.Struct({
  id: ProcedureId,
  ownerId: OwnerId,
  /** The task it was learned from, as it was put. */
  task: Schema.String,
  /** What makes tasks alike: equal signatures are one task. */
  signature: Schema.String,
  steps: Schema.Array(ProcedureStep),
  successes: Schema.NonNegativeInt,
  failures: Schema.NonNegativeInt,
  /** Milliseconds since the epoch. */
  createdAt: Schema.Finite,
  lastUsedAt: Schema.Finite,
  /** The run that taught it. */
  runId: Schema.optional(RunId)
}).annotations({ identifier: `${NAME}/Procedure` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Procedure extends Schema.Schema.Type<typeof Procedure> {}
