/** Skills called as an executor does: raw parameters, results in JSON form. */
import * as Effect from "effect/Effect"
import type * as Skill from "../../src/skill/definition/Skill.js"

/** Parameters or a result that do not match. */
export class Misfit extends Error {
  readonly _tag = "Misfit"
}

const run: Skill.Run = () => Effect.dieMessage("no composite")

export const call = <P, A, E, R>(skill: Skill.Skill<P, A, E, R>, params: unknown): Effect.Effect<any, E | Misfit, R> =>
  Effect.gen(function* () {
    const { decode, encode, handle } = skill.erased
    const decoded = yield* Effect.mapError(decode(params), (issues) => new Misfit(issues.join("; ")))
    const call = { id: "call-1", skillName: skill.definition.name, attempt: 1 }
    const result = yield* handle(decoded, call, run) as Effect.Effect<unknown, E, R>
    return yield* Effect.mapError(encode(result), (message) => new Misfit(message))
  })
