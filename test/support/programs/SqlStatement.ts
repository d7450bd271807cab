/** Runs a statement on a file until told to stop or until it is done; then reports the result and waits. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import type * as DatabaseQueryError from "../../../src/builtin/sql/DatabaseQueryError.js"
import * as DatabaseQuerySkill from "../../../src/builtin/sql/DatabaseQuerySkill.js"
import * as Programs from "../Programs.js"
import { call } from "../Skills.js"

export interface Input {
  readonly sqlite: string
  readonly sql: string
  readonly timeout: number
  readonly maxConcurrent: number
  readonly statements: number
}

Programs.main<Input>(({ hear, input, say }) =>
  Effect.gen(function* () {
    const skill = DatabaseQuerySkill.make(input)
    const one = Effect.map(Effect.either(call(skill, { sql: input.sql })), (result) =>
      Either.isRight(result) ? "answered" : (result.left as DatabaseQueryError.DatabaseQueryError).reason
    )
    const told = yield* Deferred.make<void>()
    const all = Effect.all(
      Array.from({ length: input.statements }, () => one),
      { concurrency: "unbounded" }
    )
    const running = yield* Effect.fork(all)
    yield* Effect.fork(Effect.zipRight(hear, Deferred.succeed(told, undefined)))
    const reasons = yield* Effect.raceFirst(
      Fiber.join(running),
      Effect.as(Effect.zipRight(Deferred.await(told), Fiber.interrupt(running)), ["stopped"])
    )
    yield* say(reasons)
    return yield* Effect.never
  })
)
