/**
 * Sources of skills: built-in, exported by modules, or custom.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { nearest } from "../../internal/text/Nearest.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import * as BoundSkill from "../definition/BoundSkill.js"
import type * as Skill from "../definition/Skill.js"
import * as DefaultSkillRegistry from "../execute/DefaultSkillRegistry.js"
import * as SkillRegistry from "../execute/SkillRegistry.js"

/**
 * A source, or a part of it, provides no skills.
 *
 * - `Refused`: its kind is not loaded
 * - `Unavailable`: it does not exist, cannot be loaded, or took too long
 * - `NoSkills`: it was loaded but has no skills
 * - `Unknown`: no skill has this name
 * - `NotRegistered`: the registry already has a skill of this name, or refuses this one
 *
 * @since 0.1.0
 * @category errors
 */
export class SkillSourceError extends ErrorCode.TaggedError<SkillSourceError>(
  "effect-lexigram/skill/SkillSource/SkillSourceError"
)("SkillSourceError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_113"),
  /** The name of the source. */
  source: Schema.String,
  reason: Schema.Literal("Refused", "Unavailable", "NoSkills", "Unknown", "NotRegistered"),
  /** The affected module, file or skill. */
  subject: Schema.optional(Schema.String)
}) {}

/**
 * The content of a source.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  readonly skills: ReadonlyArray<Skill.Bound>
  /** Missing parts, and why. */
  readonly problems: ReadonlyArray<SkillSourceError>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SkillSource<out R = never> {
  /** Name in logs and reports. */
  readonly name: string
  /** Fails if the source as a whole cannot be read; unreadable parts are problems. */
  readonly load: Effect.Effect<Loaded, SkillSourceError, R>
}

/**
 * The requirements of a source.
 *
 * @since 0.1.0
 * @category models
 */
export type ServicesOf<S extends SkillSource<any>> = S extends SkillSource<infer R> ? R : never

/**
 * A custom source. Requirements of its skills are taken from the context in which it is loaded.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <const S extends ReadonlyArray<Skill.Any>, R = never>(
  name: string,
  skills: Effect.Effect<S, SkillSourceError, R>
): SkillSource<R | Skill.ServicesOf<S[number]>> => ({
  name,
  load: Effect.flatMap(skills, (skills) => Effect.map(BoundSkill.all(skills), (skills) => ({ skills, problems: [] })))
})

/**
 * A source of these skills.
 *
 * @example
 * ```ts
 * import { Skill, SkillSource } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const hours = Skill.make("hours", { description: "The opening hours", handler: () => Effect.succeed("9 to 5") })
 *
 * // Requires SkillRegistry and Scope.
 * const reports = SkillSource.register(SkillSource.fromSkills("desk", [hours]))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromSkills = <const S extends ReadonlyArray<Skill.Any>>(
  name: string,
  skills: S
): SkillSource<Skill.ServicesOf<S[number]>> => make(name, Effect.succeed(skills))

const unknown = (source: string, given: string, known: ReadonlyArray<string>): SkillSourceError => {
  const subject = VisibleText.visible(given.slice(0, DefaultSkillRegistry.MAX_NAME_LENGTH))
  const similar = nearest(given, known)
  const hint = similar === undefined ? `Known are ${known.join(", ")}`.slice(0, 500) : `Did you mean "${similar}"?`
  return new SkillSourceError({
    source,
    reason: "Unknown",
    subject,
    message: `There is no skill "${subject}" among those of ${source}`,
    ...(known.length === 0 ? {} : { hint })
  })
}

/**
 * The skills with these names, in the order of the names. An unknown name is a problem that suggests a similar name.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromNames = <const S extends ReadonlyArray<Skill.Any>>(
  name: string,
  skills: S,
  names: ReadonlyArray<string>
): SkillSource<Skill.ServicesOf<S[number]>> => ({
  name,
  load: Effect.suspend(() => {
    const known = new Map<string, S[number]>()
    for (const skill of skills) if (!known.has(skill.definition.name)) known.set(skill.definition.name, skill)
    const problems: Array<SkillSourceError> = []
    const wanted: Array<S[number]> = []
    for (const given of new Set(names)) {
      const skill = known.get(given)
      if (skill === undefined) problems.push(unknown(name, given, [...known.keys()]))
      else wanted.push(skill)
    }
    return Effect.map(BoundSkill.all(wanted), (skills) => ({ skills, problems }))
  })
})

/**
 * The outcome of a source.
 *
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly source: string
  /** Names of the registered skills. */
  readonly registered: ReadonlyArray<string>
  readonly problems: ReadonlyArray<SkillSourceError>
}

const events: { readonly [Reason in SkillSourceError["reason"]]: string } = {
  Refused: "skills_refused_module",
  Unavailable: "skills_unavailable_source",
  NoSkills: "skills_empty_module",
  Unknown: "skills_unknown_builtin",
  NotRegistered: "skills_not_registered"
}

/**
 * Logs a problem with its hint, as `register` does.
 *
 * @internal
 * @since 0.1.0
 * @category registration
 */
export const warn = (problem: SkillSourceError): Effect.Effect<void> =>
  Effect.annotateLogs(
    Effect.logWarning(problem.hint === undefined ? problem.message : `${problem.message}. ${problem.hint}`),
    { module: "SkillSource", event: events[problem.reason], source: problem.source }
  )

/**
 * Registers the skills of the sources until the scope closes, one source after another. If two skills share a name, the
 * first one wins. Failures of a source never fail this effect: they are in the report and logged as warnings.
 *
 * @since 0.1.0
 * @category registration
 */
export const register = <const S extends ReadonlyArray<SkillSource<any>>>(
  ...sources: S
): Effect.Effect<ReadonlyArray<Report>, never, SkillRegistry.SkillRegistry | Scope.Scope | ServicesOf<S[number]>> =>
  Effect.forEach(sources as ReadonlyArray<SkillSource<ServicesOf<S[number]>>>, (source) =>
    Effect.gen(function* () {
      const registry = yield* SkillRegistry.SkillRegistry
      const loaded = Either.getOrElse(
        yield* Effect.either(source.load),
        (error): Loaded => ({ skills: [], problems: [error] })
      )
      const problems = [...loaded.problems]
      const registered: Array<string> = []
      for (const skill of loaded.skills) {
        yield* Effect.addFinalizer(() => registry.unregister(skill.definition.name, skill))
        const added = yield* Effect.either(registry.register(skill))
        if (Either.isRight(added)) {
          registered.push(skill.definition.name)
          continue
        }
        problems.push(
          new SkillSourceError({
            source: source.name,
            reason: "NotRegistered",
            subject: added.left.skillName,
            message: `The skill "${added.left.skillName}" of ${source.name} is skipped: ${added.left.message}`,
            cause: added.left
          })
        )
      }
      yield* Effect.forEach(problems, warn, { discard: true })
      return { source: source.name, registered, problems }
    })
  )
