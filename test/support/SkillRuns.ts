/** Runs skills without executor features, for tests of composites. */
import * as Effect from "effect/Effect"
import * as Skill from "../../src/skill/definition/Skill.js"
import { type SkillError, SkillNotFoundError, SkillValidationError } from "../../src/skill/definition/SkillError.js"

const invalid = (skillName: string) => (found: string | ReadonlyArray<string>) => {
  const errors = typeof found === "string" ? [found] : found
  return new SkillValidationError({ skillName, errors, message: errors.join("; ") })
}

const execute = (skill: Skill.Any, params: unknown, run: Skill.Run): Effect.Effect<unknown, unknown> => {
  const { definition, erased, problem } = skill
  if (problem !== undefined) return Effect.fail(problem)
  return Effect.tap(
    Effect.suspend(
      () =>
        erased.handle(params, { id: "1", skillName: definition.name, attempt: 1 }, run) as Effect.Effect<
          unknown,
          unknown
        >
    ),
    (result) => Effect.mapError(erased.encode(result), invalid(definition.name))
  )
}

/** References resolve to these skills, with values in JSON form. */
export const make = (...registered: ReadonlyArray<Skill.Any>): Skill.Run => {
  const run = (skill: Skill.Any, params: unknown): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      const { definition, erased } = skill
      if (!erased.reference) {
        return erased.encodeParams(params) === undefined
          ? Effect.fail(invalid(definition.name)("The parameters do not fit"))
          : execute(skill, params, run as Skill.Run)
      }
      const found = registered.find((one) => one.definition.name === definition.name)
      if (found === undefined) {
        return Effect.fail(new SkillNotFoundError({ skillName: definition.name, message: "no such skill" }))
      }
      return Effect.mapError(found.erased.decode(params), invalid(definition.name)).pipe(
        Effect.flatMap((decoded) => execute(found, decoded, run as Skill.Run)),
        Effect.flatMap((result) => Effect.orDie(found.erased.encode(result)))
      )
    })
  return run as Skill.Run
}

/** Calls a skill by name, with parameters and result in JSON form. */
export const call = (
  skill: Skill.Any,
  params: unknown,
  ...registered: ReadonlyArray<Skill.Any>
): Effect.Effect<unknown, unknown> =>
  make(skill, ...registered)(Skill.ref(skill.definition.name) as Skill.Skill<unknown, unknown, SkillError>, params)
