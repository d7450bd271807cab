/**
 * Groups skills under a name and a description.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Layer from "effect/Layer"
import { type Pipeable, pipeArguments } from "effect/Pipeable"
import type * as Scope from "effect/Scope"
import * as Skill from "../definition/Skill.js"
import type { SkillAlreadyRegisteredError, SkillValidationError } from "../definition/SkillError.js"
import * as DefaultSkillRegistry from "./DefaultSkillRegistry.js"
import * as SkillRegistration from "./SkillRegistration.js"
import type * as SkillRegistry from "./SkillRegistry.js"

/**
 * @since 0.1.0
 * @category symbols
 */
export const TypeId: unique symbol = Symbol.for("effect-lexigram/skill/SkillToolkit")

/**
 * Requirements and failures follow from the skills `S`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillToolkit<out S extends Skill.Any = Skill.Any> extends Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly description: string
  /** In the given order, each once. */
  readonly skills: ReadonlyArray<S>
}

/**
 * Any toolkit.
 *
 * @since 0.1.0
 * @category models
 */
export type Any = SkillToolkit

/**
 * The skills of a toolkit.
 *
 * @since 0.1.0
 * @category models
 */
export type SkillsOf<T extends Any> = T["skills"][number]

/**
 * The requirements of a toolkit's skills.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<T extends Any> = Skill.ServicesOf<SkillsOf<T>>

/**
 * @since 0.1.0
 * @category guards
 */
export const isSkillToolkit = (u: unknown): u is Any => typeof u === "object" && u !== null && TypeId in u

const proto = {
  [TypeId]: TypeId,
  pipe() {
    // biome-ignore lint/complexity/noArguments: the form `pipeArguments` takes
    return pipeArguments(this, arguments)
  }
}

const build = <S extends Skill.Any>(name: string, description: string, skills: ReadonlyArray<S>): SkillToolkit<S> =>
  Object.assign(Object.create(proto), { name, description, skills })

/**
 * A toolkit of these skills. A prefix is added to their names: `sql_` and `query` give `sql_query`; the skills inside a
 * composite keep their names. Duplicate names fail at registration.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Skill, SkillToolkit } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const dice = SkillToolkit.make(
 *   "dice",
 *   { description: "Chance", prefix: "dice_" },
 *   Skill.make("sides", { description: "How many sides there are", handler: () => Effect.succeed(6) })
 * )
 *
 * const layer = SkillToolkit.layer(dice)
 * ```
 */
export const make = <const S extends ReadonlyArray<Skill.Any>>(
  name: string,
  options: {
    readonly description: string
    /** Prefix of each skill's name. Default: none. */
    readonly prefix?: string | undefined
  },
  ...skills: S
): SkillToolkit<S[number]> => {
  const { description, prefix = "" } = options
  const named: ReadonlyArray<Skill.Any> =
    prefix === ""
      ? skills
      : skills.map((skill) => Skill.annotate(skill, { name: `${prefix}${skill.definition.name}` }) as Skill.Any)
  return build(name, description, [...new Set(named)] as ReadonlyArray<S[number]>)
}

/**
 * The skills of several toolkits in one.
 *
 * @since 0.1.0
 * @category combinators
 */
export const merge = <const T extends ReadonlyArray<Any>>(
  name: string,
  options: { readonly description: string },
  ...toolkits: T
): SkillToolkit<SkillsOf<T[number]>> =>
  build(name, options.description, [...new Set(toolkits.flatMap(({ skills }) => skills))])

const select = <S extends Skill.Any>(self: SkillToolkit<S>, isWanted: (name: string) => boolean): SkillToolkit<S> =>
  build(
    self.name,
    self.description,
    self.skills.filter((skill) => isWanted(skill.definition.name))
  )

/**
 * Keeps only the skills of these names; unknown names are ignored. The type still has the requirements of the others:
 * names are not known to it.
 *
 * @since 0.1.0
 * @category combinators
 */
export const pick: {
  (names: ReadonlyArray<string>): <S extends Skill.Any>(self: SkillToolkit<S>) => SkillToolkit<S>
  <S extends Skill.Any>(self: SkillToolkit<S>, names: ReadonlyArray<string>): SkillToolkit<S>
} = dual(2, <S extends Skill.Any>(self: SkillToolkit<S>, names: ReadonlyArray<string>) => {
  const wanted = new Set(names)
  return select(self, (name) => wanted.has(name))
})

/**
 * Removes the skills of these names.
 *
 * @since 0.1.0
 * @category combinators
 */
export const omit: {
  (names: ReadonlyArray<string>): <S extends Skill.Any>(self: SkillToolkit<S>) => SkillToolkit<S>
  <S extends Skill.Any>(self: SkillToolkit<S>, names: ReadonlyArray<string>): SkillToolkit<S>
} = dual(2, <S extends Skill.Any>(self: SkillToolkit<S>, names: ReadonlyArray<string>) => {
  const unwanted = new Set(names)
  return select(self, (name) => !unwanted.has(name))
})

const skillsOf = <T extends ReadonlyArray<Any>>(toolkits: T): ReadonlyArray<SkillsOf<T[number]>> =>
  toolkits.flatMap(({ skills }) => skills)

/**
 * Registers the skills until the scope closes, all of them or none.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = <const T extends ReadonlyArray<Any>>(
  ...toolkits: T
): Effect.Effect<
  void,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry.SkillRegistry | ServicesOf<T[number]> | Scope.Scope
> => SkillRegistration.register(...skillsOf(toolkits))

/**
 * `register` as a layer.
 *
 * @since 0.1.0
 * @category registration
 */
export const add = <const T extends ReadonlyArray<Any>>(
  ...toolkits: T
): Layer.Layer<
  never,
  SkillAlreadyRegisteredError | SkillValidationError,
  SkillRegistry.SkillRegistry | Exclude<ServicesOf<T[number]>, Scope.Scope>
> => SkillRegistration.layer(...skillsOf(toolkits))

/**
 * A registry of the skills of these toolkits.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const T extends ReadonlyArray<Any>>(
  ...toolkits: T
): Layer.Layer<
  SkillRegistry.SkillRegistry,
  SkillAlreadyRegisteredError | SkillValidationError,
  Exclude<ServicesOf<T[number]>, Scope.Scope>
> => DefaultSkillRegistry.layer(...skillsOf(toolkits))
