/**
 * Extracts facts soon after a conversation, instead of with consolidation a day later.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import type { MemoryStore } from "../search/MemoryStore.js"
import type { SemanticMemory } from "../semantic/SemanticMemory.js"
import type * as ExtractionLoop from "./ExtractionLoop.js"
import { type Service, WorkingMemory } from "./WorkingMemory.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ExtractionLoop.Options {}

const implementation = OnDemand.make(() => import("./ExtractionLoop.js"))

/**
 * A working memory that has the semantic memory in context read the turns that are added, in the background.
 *
 * Each process reads the turns that it added. They are marked in the store when they were read, and nothing reads them
 * again. When the scope ends, what is pending is read within `shutdown`; the rest is noted in the store, and one of the
 * processes that start next reads it. Turns that no extraction could read, or that a killed process had pending, are
 * read by consolidation. Failures are logged.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  inner: Service,
  options?: Options | undefined
): Effect.Effect<Service, never, MemoryStore | SemanticMemory | Scope.Scope> =>
  Effect.flatMap(implementation, ({ make }) => make(inner, options ?? {}))

/**
 * `make` over the working memory in context. `MemoryConfig` switches it on for `DefaultMemory`:
 * `semantic.extractAfterSeconds`.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultMemory, FactExtraction } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Facts are read from a conversation once it has had no turn for two minutes.
 * const memory = FactExtraction.layer({ quiet: "2 minutes" }).pipe(Layer.provideMerge(DefaultMemory.layer()))
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<WorkingMemory, never, WorkingMemory | MemoryStore | SemanticMemory> =>
  Layer.scoped(
    WorkingMemory,
    Effect.flatMap(WorkingMemory, (inner) => make(inner, options))
  )
