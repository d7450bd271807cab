/** Skills executed by themselves: decoded, handled and checked, without an executor around them. */
import * as Effect from "effect/Effect"
import type * as Skill from "../../src/skill/Skill.js"
import { SkillExecutionError, SkillValidationError } from "../../src/skill/SkillError.js"

const call = (skillName: string): Skill.SkillCall => ({ skillName, id: "execution-1", attempt: 1 })

const noRun: Skill.Run = () => Effect.dieMessage("nothing is composed here")

/** With parameters as they come. */
export const unknown = <P, A, E, R>(
  skill: Skill.Skill<P, A, E, R>,
  params: unknown
): Effect.Effect<A, E | SkillValidationError | SkillExecutionError, R> =>
  Effect.gen(function* () {
    const { erased } = skill
    const { name } = skill.definition
    const decoded = yield* Effect.mapError(
      erased.decode(params),
      (errors) => new SkillValidationError({ skillName: name, errors, message: errors.join("; ") })
    )
    const result = yield* erased.handle(decoded, call(name), noRun) as Effect.Effect<unknown, E, R>
    const encoded = yield* Effect.mapError(
      erased.encode(result),
      (message) => new SkillExecutionError({ skillName: name, message })
    )
    return (yield* Effect.orDie(erased.decodeResult(encoded))) as A
  })

export const output = <P, A, E, R>(skill: Skill.Skill<P, A, E, R>, params: P) => unknown(skill, params)
