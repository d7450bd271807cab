/**
 * The skill catalog port: `SKILL.md` skills an agent may use, disclosed in three levels: names and descriptions of all
 * skills, the instructions of activated ones, and files on demand. Text of a skill is data: it is escaped or fenced,
 * and bounded.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { nearest } from "../../internal/text/Nearest.js"
import { SkillNotFoundError } from "../definition/SkillError.js"
import type { LoadedSkill } from "../definition/SkillFile.js"
import * as SkillText from "../definition/SkillText.js"
import type * as ScriptRunner from "./ScriptRunner.js"
import type * as SkillAccess from "./SkillAccess.js"
import type * as SkillActivation from "./SkillActivation.js"
import type * as SkillArguments from "./SkillArguments.js"
import type * as SkillListing from "./SkillListing.js"
import type * as SkillTrust from "./SkillTrust.js"

/**
 * Errors of using a skill.
 *
 * @since 0.1.0
 * @category errors
 */
export type UseError = SkillNotFoundError | SkillAccess.SkillAccessError | SkillTrust.SkillTrustError

/**
 * Selects skills.
 *
 * @since 0.1.0
 * @category models
 */
export type Choice = (skill: { readonly name: string; readonly description: string }) => boolean

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The current skills: trusted, with unique names. */
  readonly skills: Effect.Effect<ReadonlyArray<LoadedSkill>>
  /** Whether `script` runs anything, and so whether models get a tool for it. */
  readonly scripts: boolean
  /**
   * Names and descriptions within a token budget, by default about 2,000. Skills that do not fit are left out whole and
   * reported. `only` selects skills. Returns the same object until the skills or the options change.
   */
  readonly listing: (options?: {
    readonly maxTokens?: number | undefined
    readonly only?: Choice | undefined
  }) => Effect.Effect<SkillListing.Listing>
  /** The current version of a skill: read again, and trust checked again, if it may have changed. */
  readonly skill: (name: string) => Effect.Effect<LoadedSkill, UseError>
  readonly activate: (
    name: string,
    params?: SkillArguments.Arguments | undefined
  ) => Effect.Effect<SkillActivation.SkillActivation, UseError>
  /** The text of a file of the skill: UTF-8, at most 1 MiB. */
  readonly readFile: (name: string, path: string) => Effect.Effect<string, UseError>
  /** Runs a script of the skill with `ScriptRunner`. */
  readonly script: (
    name: string,
    path: string,
    params?: unknown
  ) => Effect.Effect<ScriptRunner.ScriptResult, UseError | ScriptRunner.ScriptError>
}

/**
 * @example
 * ```ts
 * import { SkillCatalog } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * // For the prompt of a model.
 * const listing = Effect.gen(function* () {
 *   const catalog = yield* SkillCatalog.SkillCatalog
 *   const { text } = yield* catalog.listing({ maxTokens: 500, only: ({ name }) => !name.startsWith("internal-") })
 *   return text
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SkillCatalog extends Context.Tag("effect-lexigram/skill/SkillCatalog")<SkillCatalog, Service>() {}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const notFound = (name: string, names: ReadonlyArray<string>): SkillNotFoundError => {
  const similar = nearest(name, names)
  return new SkillNotFoundError({
    skillName: SkillText.name(name),
    message: `There is no skill named "${SkillText.name(name)}"`,
    hint:
      names.length === 0
        ? "There are no skills"
        : `${similar === undefined ? "" : `Did you mean "${SkillText.name(similar)}"? `}Skills: ${names
            .slice(0, 50)
            .map(SkillText.name)
            .join(", ")}${names.length > 50 ? ` and ${names.length - 50} more` : ""}`
  })
}

/**
 * A view of the catalog that holds only the chosen skills.
 *
 * @since 0.1.0
 * @category combinators
 */
export const filtered = (self: Service, only: Choice): Service => {
  const skills = Effect.map(self.skills, (all) => all.filter(({ file }) => only(file)))
  const ifChosen = <A, E>(name: string, use: Effect.Effect<A, E>): Effect.Effect<A, E | SkillNotFoundError> =>
    Effect.flatMap(skills, (chosen): Effect.Effect<A, E | SkillNotFoundError> => {
      const names = chosen.map(({ file }) => file.name)
      return names.includes(name) ? use : notFound(name, names)
    })
  return {
    skills,
    scripts: self.scripts,
    listing: (options) => {
      const outer = options?.only
      return self.listing({ ...options, only: outer === undefined ? only : (skill) => only(skill) && outer(skill) })
    },
    skill: (name) => ifChosen(name, self.skill(name)),
    activate: (name, params) => ifChosen(name, self.activate(name, params)),
    readFile: (name, path) => ifChosen(name, self.readFile(name, path)),
    script: (name, path, params) => ifChosen(name, self.script(name, path, params))
  }
}

/**
 * A catalog without skills.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  skills: Effect.succeed([]),
  scripts: false,
  listing: () => Effect.succeed({ text: "", tokens: 0, names: [], omitted: [], warnings: [] }),
  skill: (name) => notFound(name, []),
  activate: (name) => notFound(name, []),
  readFile: (name) => notFound(name, []),
  script: (name) => notFound(name, [])
}

/**
 * A catalog without skills.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SkillCatalog> = Layer.succeed(SkillCatalog, noop)
