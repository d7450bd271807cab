/**
 * The memory subsystem: its configuration, health, and deletion of an owner's data.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../domain/Ids.js"
import * as Health from "../observability/Health.js"
import * as ConsolidationScheduler from "./consolidation/ConsolidationScheduler.js"
import * as MemoryConsolidator from "./consolidation/MemoryConsolidator.js"
import type { MemoryStoreFailure } from "./entry/MemoryError.js"
import * as EpisodicMemory from "./episodic/EpisodicMemory.js"
import * as FactStore from "./facts/FactStore.js"
import * as MemoryConfig from "./MemoryConfig.js"
import * as ProceduralMemory from "./procedural/ProceduralMemory.js"
import * as MemoryStore from "./search/MemoryStore.js"
import * as SemanticMemory from "./semantic/SemanticMemory.js"
import * as WorkingMemory from "./working/WorkingMemory.js"

/**
 * What was deleted of an owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface Forgotten {
  /** Fields of memory blocks included. */
  readonly entries: number
  readonly facts: number
  readonly procedures: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  readonly config: MemoryConfig.MemoryConfig
  /**
   * Deletes everything of an owner: entries, facts and procedures. Stops at the first failure; a second call continues.
   */
  readonly forget: (ownerId: string) => Effect.Effect<Forgotten, MemoryStoreFailure>
  /**
   * Deletes these entries of an owner, and the facts that were read from them alone. A fact that was also stated
   * elsewhere stays. Stops at the first failure; a second call continues.
   */
  readonly forgetEntries: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<Forgotten, MemoryStoreFailure>
  /** One part for the entries and one for the facts. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Memory extends Context.Tag("effect-lexigram/memory/Memory")<Memory, Service>() {}

/**
 * The services of the memory subsystem.
 *
 * @since 0.1.0
 * @category models
 */
export type Out =
  | Memory
  | MemoryStore.MemoryStore
  | FactStore.FactStore
  | EpisodicMemory.EpisodicMemory
  | SemanticMemory.SemanticMemory
  | ProceduralMemory.ProceduralMemory
  | WorkingMemory.WorkingMemory
  | MemoryConsolidator.MemoryConsolidator
  | ConsolidationScheduler.ConsolidationScheduler

const nothing: Forgotten = { entries: 0, facts: 0, procedures: 0 }

/**
 * Remembers nothing, under this configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDisabled = (config: MemoryConfig.MemoryConfig): Layer.Layer<Out> =>
  Layer.mergeAll(
    Layer.succeed(Memory, {
      config,
      forget: () => Effect.succeed(nothing),
      forgetEntries: () => Effect.succeed(nothing),
      health: Health.sum([])
    }),
    MemoryStore.layerNoop,
    FactStore.layerNoop,
    EpisodicMemory.layerNoop,
    SemanticMemory.layerNoop,
    ProceduralMemory.layerNoop,
    WorkingMemory.layerNoop,
    MemoryConsolidator.layerNoop,
    ConsolidationScheduler.layerNoop
  )

/**
 * Remembers nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Memory } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const forget = (ownerId: string) => Effect.flatMap(Memory.Memory, (memory) => memory.forget(ownerId))
 *
 * // An installation that remembers nothing has nothing to delete.
 * const program = forget("ada").pipe(Effect.provide(Memory.layerNoop))
 * // { entries: 0, facts: 0, procedures: 0 }
 * ```
 */
export const layerNoop: Layer.Layer<Out> = layerDisabled({ ...MemoryConfig.defaults, enabled: false })

/**
 * The health of memory.
 *
 * @since 0.1.0
 * @category accessors
 */
export const health: Effect.Effect<Health.Report, never, Memory> = Effect.flatMap(Memory, ({ health }) => health)
