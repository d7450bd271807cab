/**
 * The procedural memory port: procedures learned from successful runs, recalled for similar tasks.
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
 * The outcome of a run.
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
   * Learns from a run. A success adds the procedure or counts one more success. A failure counts one more failure of
   * the procedure with these steps, which is forgotten if it fails too often; nothing else is learned from it. A run
   * without steps or a task without words teaches nothing. Repeating a run changes nothing while it is among the last
   * 64 counted for the procedure.
   */
  readonly learn: (outcome: Outcome) => Effect.Effect<void, RetrievalFailure>
  /** Procedures of similar tasks, the most promising first. Empty if no task is similar. */
  readonly recall: (options: {
    readonly ownerId: string
    readonly task: string
    /** Maximum number of procedures. Default 3; never more than 1000. */
    readonly limit?: number | undefined
  }) => Effect.Effect<ReadonlyArray<Procedure>, RetrievalFailure>
  /** Returns whether the procedure existed. */
  readonly forget: (ownerId: string, id: ProcedureId) => Effect.Effect<boolean, RetrievalFailure>
  /** Removes all procedures of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /** Succeeds if the underlying store answers. */
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
 * Learns nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultWorkingMemory, EpisodicMemory, ProceduralMemory, SemanticMemory } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Working memory without procedures.
 * const working = (tiers: Layer.Layer<EpisodicMemory.EpisodicMemory | SemanticMemory.SemanticMemory>) =>
 *   DefaultWorkingMemory.layer({ toolDescriptionsFraction: 0 }).pipe(
 *     Layer.provide([tiers, ProceduralMemory.layerNoop, TokenCounter.layerApproximate()])
 *   )
 * ```
 */
export const layerNoop: Layer.Layer<ProceduralMemory> = Layer.succeed(ProceduralMemory, {
  learn: () => Effect.void,
  recall: () => Effect.succeed([]),
  forget: () => Effect.succeed(false),
  clear: () => Effect.succeed(0),
  health: Effect.void
})
