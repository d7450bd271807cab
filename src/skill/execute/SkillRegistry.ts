/**
 * The skill registry port: executable skills by name.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ToolDefinition } from "../../llm/model/LlmClient.js"
import type * as Skill from "../definition/Skill.js"
import type { SkillDefinition } from "../definition/SkillDefinition.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../definition/SkillError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ListOptions {
  readonly category?: string | undefined
  /** Keeps only skills whose permissions are all allowed by these, wildcards included (see `Permissions.Allows`). */
  readonly permissions?: ReadonlyArray<string> | undefined
}

/**
 * A change to the skill of a name.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly _tag: "Registered" | "Replaced" | "Removed"
  readonly skillName: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Adds a skill. A taken name fails with `SkillAlreadyRegisteredError` and keeps the first skill; an invalid
   * definition fails with `SkillValidationError`.
   */
  readonly register: (skill: Skill.Bound) => Effect.Effect<void, SkillAlreadyRegisteredError | SkillValidationError>
  /** Adds a skill or replaces the one of its name; executions in progress finish with the old one. */
  readonly replace: (skill: Skill.Bound) => Effect.Effect<void, SkillValidationError>
  /**
   * Removes a skill; false if there was none. With `skill`, removes it only if the name still refers to exactly that
   * skill.
   */
  readonly unregister: (name: string, skill?: Skill.Bound | undefined) => Effect.Effect<boolean>
  /** The skill with exactly this name. */
  readonly get: (name: string) => Effect.Effect<Option.Option<Skill.Bound>>
  /** The matching definitions in order of registration, or an empty list. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SkillDefinition>>
  /**
   * The matching skills as a model sees them, in the same order. Returns the same objects until the registry changes.
   */
  readonly schemas: (options?: ListOptions) => Effect.Effect<ReadonlyArray<ToolDefinition>>
  /** Changes from the time of subscription on. A slow subscriber loses the oldest. */
  readonly changes: Stream.Stream<Change>
}

/**
 * @example
 * ```ts
 * import { SkillRegistry } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * // The names of the skills that a reader may use.
 * const names = Effect.gen(function* () {
 *   const registry = yield* SkillRegistry.SkillRegistry
 *   return (yield* registry.list({ permissions: ["files.read"] })).map(({ name }) => name)
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SkillRegistry extends Context.Tag("effect-lexigram/skill/SkillRegistry")<SkillRegistry, Service>() {}

/**
 * A registry that is always empty and keeps nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  register: () => Effect.void,
  replace: () => Effect.void,
  unregister: () => Effect.succeed(false),
  get: () => Effect.succeedNone,
  list: () => Effect.succeed([]),
  schemas: () => Effect.succeed([]),
  changes: Stream.empty
}

/**
 * A registry that is always empty and keeps nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillRegistry> = Layer.succeed(SkillRegistry, noop)
