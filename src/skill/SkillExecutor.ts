/**
 * Executes skills by name: validation, permissions, cache, timeout and retries in one place.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SkillResult } from "./SkillDefinition.js"
import { type SkillError, SkillNotFoundError } from "./SkillError.js"
import type { SkillContext } from "./SkillRegistry.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ExecuteRequest extends SkillContext {
  readonly name: string
  /** As they came: from a model, a tool call or a program. */
  readonly params: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Executes a skill and gives its result. Parameters and permissions are checked before the first attempt; a skill that needs
   * permissions is refused to a request without a user. The timeout holds for each attempt. A cacheable skill may answer from the cache,
   * marked `cached`; otherwise each call executes it again.
   */
  readonly execute: (request: ExecuteRequest) => Effect.Effect<SkillResult, SkillError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillExecutor extends Context.Tag("effect-lexigram/skill/SkillExecutor")<SkillExecutor, Service>() {}

/**
 * Knows no skill: every name fails with `SkillNotFoundError`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillExecutor> = Layer.succeed(SkillExecutor, {
  execute: ({ name }) =>
    Effect.fail(
      new SkillNotFoundError({
        message: "There is no such skill: skills are not enabled",
        hint: "Provide a layer of SkillRegistry and SkillExecutor that holds the skill",
        skillName: name
      })
    )
})
