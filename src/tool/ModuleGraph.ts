/**
 * Which module may use the tools of which other.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * @since 0.1.0
 * @category models
 */
export interface VisibilityRequest {
  /** The module of the agent; absent when the agent belongs to none. */
  readonly caller?: string | undefined
  /** The module of the tool; absent when the tool belongs to none. */
  readonly owner?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * True if the caller may see and call tools of the owner. Asked when tools are listed and again when one is called; the same question
   * has the same answer for as long as a run lasts. Any failure counts as no.
   */
  readonly isVisible: (request: VisibilityRequest) => Effect.Effect<boolean, unknown>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ModuleGraph extends Context.Tag("effect-lexigram/tool/ModuleGraph")<ModuleGraph, Service>() {}

/**
 * No modules: every tool is visible to everybody.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<ModuleGraph> = Layer.succeed(ModuleGraph, {
  isVisible: () => Effect.succeed(true)
})
