/**
 * The skills that can be executed, by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type { SessionId, UserId } from "../domain/Ids.js"
import type { ToolDefinition } from "../llm/LlmClient.js"
import type { SkillDefinition, SkillResult } from "./SkillDefinition.js"
import type { SkillAlreadyRegisteredError, SkillError, SkillValidationError } from "./SkillError.js"

/**
 * For whom a skill is executed.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillContext {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}

/**
 * A skill as the registry holds it: its types are erased and what it requires is provided already.
 *
 * @since 0.1.0
 * @category models
 */
export interface RegisteredSkill {
  readonly definition: SkillDefinition
  /** What is wrong with these parameters, one text each; empty when nothing is. */
  readonly validate: (params: unknown) => ReadonlyArray<string>
  /** One attempt with parameters that were validated. Timeouts, retries, permissions and the cache are the executor's. */
  readonly execute: (params: unknown, context: SkillContext) => Effect.Effect<SkillResult, SkillError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  readonly category?: string | undefined
  /** Only skills whose permissions are all among these. */
  readonly permissions?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a skill. A name that is taken fails with `SkillAlreadyRegisteredError` and the first skill stays; a definition that cannot be
   * used fails with `SkillValidationError`.
   */
  readonly register: (skill: RegisteredSkill) => Effect.Effect<void, SkillAlreadyRegisteredError | SkillValidationError>
  /** The skill of exactly this name. */
  readonly get: (name: string) => Effect.Effect<Option.Option<RegisteredSkill>>
  /** The definitions that fit, in the order of registration. None: empty. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SkillDefinition>>
  /** The skills that fit as a model sees them, in the same order. */
  readonly schemas: (options?: ListOptions) => Effect.Effect<ReadonlyArray<ToolDefinition>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SkillRegistry extends Context.Tag("effect-lexigram/skill/SkillRegistry")<SkillRegistry, Service>() {}

/**
 * Always empty: what is registered is forgotten.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillRegistry> = Layer.succeed(SkillRegistry, {
  register: () => Effect.void,
  get: () => Effect.succeedNone,
  list: () => Effect.succeed([]),
  schemas: () => Effect.succeed([])
})
