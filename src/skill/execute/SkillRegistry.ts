/**
 * The skills that can be executed, by name.
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
  /** Only skills whose permissions are all allowed by these, wildcards included (see `Permissions.Allows`). */
  readonly permissions?: ReadonlyArray<string> | undefined
}

/**
 * What happened to the skill of a name.
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
   * Adds a skill. A name that is taken fails with `SkillAlreadyRegisteredError` and the first skill stays; a definition
   * that cannot be used fails with `SkillValidationError`.
   */
  readonly register: (skill: Skill.Bound) => Effect.Effect<void, SkillAlreadyRegisteredError | SkillValidationError>
  /** Adds a skill, or puts it in the place of the one of its name; executions that go on end with the old one. */
  readonly replace: (skill: Skill.Bound) => Effect.Effect<void, SkillValidationError>
  /**
   * Takes a skill away; false when there was none. With `skill`, only if the name still stands for exactly that one.
   */
  readonly unregister: (name: string, skill?: Skill.Bound | undefined) => Effect.Effect<boolean>
  /** The skill of exactly this name. */
  readonly get: (name: string) => Effect.Effect<Option.Option<Skill.Bound>>
  /** The definitions that fit, in the order of registration. None: empty. */
  readonly list: (options?: ListOptions) => Effect.Effect<ReadonlyArray<SkillDefinition>>
  /**
   * The skills that fit as a model sees them, in the same order; the same objects as long as the registry does not
   * change.
   */
  readonly schemas: (options?: ListOptions) => Effect.Effect<ReadonlyArray<ToolDefinition>>
  /** What happens from the time of subscription on. A subscriber that falls far behind loses the oldest changes. */
  readonly changes: Stream.Stream<Change>
}

/**
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
