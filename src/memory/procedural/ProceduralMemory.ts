/**
 * How things are done: procedures learned from runs that went well, recalled for tasks that are alike.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RunId } from "../../domain/Ids.js"
import type { MemoryStoreFailure, RetrievalFailure } from "../entry/MemoryError.js"
import type { Procedure, ProcedureId, ProcedureStep } from "./Procedure.js"

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
   * Learns from a run. Success: the procedure is new or counts one more success. Failure: a procedure with these steps
   * counts one more, and is forgotten when it fails too often; nothing else is learned from it. A run without steps
   * teaches nothing, and neither does a task without words. The same run again changes nothing, as long as it is among
   * the last 64 that were counted for the procedure.
   */
  readonly learn: (outcome: Outcome) => Effect.Effect<void, RetrievalFailure>
  /** Procedures of tasks that are alike, the most promising first. Unlike any: none. */
  readonly recall: (options: {
    readonly ownerId: string
    readonly task: string
    /** At most so many; 3 unless set, never more than 1000. */
    readonly limit?: number | undefined
  }) => Effect.Effect<ReadonlyArray<Procedure>, RetrievalFailure>
  /** Whether there was one. */
  readonly forget: (ownerId: string, id: ProcedureId) => Effect.Effect<boolean, RetrievalFailure>
  /** Everything of the owner; gives how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
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

/**
 * Nothing is learned.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ProceduralMemory> = Layer.succeed(ProceduralMemory, {
  learn: () => Effect.void,
  recall: () => Effect.succeed([]),
  forget: () => Effect.succeed(false),
  clear: () => Effect.succeed(0),
  health: Effect.void
})
