/**
 * How things are done: procedures learned from runs that went well, recalled for tasks that are alike.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { RunId } from "../domain/Ids.js"
import { OwnerId } from "./MemoryEntry.js"
import type { RetrievalFailure } from "./MemoryError.js"

const NAME = "effect-lexigram/memory/ProceduralMemory"

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
 * One step of a procedure: a tool and how it was used, in words. Values of a run (names, numbers, texts) are not part of it.
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

/**
 * A run that ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly ownerId: string
  readonly task: string
  readonly steps: ReadonlyArray<ProcedureStep>
  readonly success: boolean
  readonly runId?: RunId | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Learns from a run. Success: the procedure is new or counts one more success. Failure: a procedure with these steps counts one more,
   * and is forgotten when it fails too often; nothing else is learned from it. A run without steps teaches nothing. The same run again
   * changes nothing.
   */
  readonly learn: (outcome: Outcome) => Effect.Effect<void, RetrievalFailure>
  /** Procedures of tasks that are alike, the most promising first. Unlike any: none. */
  readonly recall: (options: {
    readonly ownerId: string
    readonly task: string
    /** At most so many; 3 unless set. */
    readonly limit?: number | undefined
  }) => Effect.Effect<ReadonlyArray<Procedure>, RetrievalFailure>
  /** Whether there was one. */
  readonly forget: (ownerId: string, id: ProcedureId) => Effect.Effect<boolean, RetrievalFailure>
  /** Succeeds if the store below answers. */
  readonly health: Effect.Effect<void, RetrievalFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ProceduralMemory extends Context.Tag("effect-lexigram/memory/ProceduralMemory")<
  ProceduralMemory,
  Service
>() {}
