/**
 * Registers skills in a registry for the lifetime of a scope or a layer.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as BoundSkill from "../definition/BoundSkill.js"
import type * as Skill from "../definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../definition/SkillError.js"
import { SkillRegistry } from "./SkillRegistry.js"

/**
 * Registers skills until the scope closes, all of them or none; their requirements are captured here. A skill that has
 * replaced one of these by then stays registered.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Effect.Effect<
  void,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry | Skill.ServicesOf<S[number]> | Scope.Scope
> =>
  Effect.gen(function* () {
    const registry = yield* SkillRegistry
    const bound = yield* BoundSkill.all(skills)
    const removeAll = Effect.forEach(bound, (skill) => registry.unregister(skill.definition.name, skill), {
      discard: true
    })
    // Added before registration, which a hook may interrupt.
    yield* Effect.addFinalizer(() => removeAll)
    yield* Effect.onError(Effect.forEach(bound, registry.register, { discard: true }), () => removeAll)
  })

/**
 * `register` as a layer.
 *
 * @example
 * ```ts
 * import { DefaultSkillRegistry, Skill, SkillRegistration } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const greet = Skill.make("greet", { description: "Greets", handler: () => Effect.succeed("hello") })
 *
 * // A part of an application that adds its skills to the registry in context.
 * const greetings = SkillRegistration.layer(greet)
 *
 * const skills = greetings.pipe(Layer.provideMerge(DefaultSkillRegistry.layerEmpty))
 * ```
 *
 * @since 0.1.0
 * @category registration
 */
export const layer = <const S extends ReadonlyArray<Skill.Any>>(
  ...skills: S
): Layer.Layer<
  never,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry | Exclude<Skill.ServicesOf<S[number]>, Scope.Scope>
> => Layer.scopedDiscard(register(...skills))
