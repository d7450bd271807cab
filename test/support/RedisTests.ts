/** Common parts of the Redis tests. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
import * as RedisClient from "../../src/persistence/redis/RedisClient.js"

export const urlOf = ({ url }: { readonly url: string }): Redacted.Redacted<string> => Redacted.make(url)

/** Polls in real time. The time limit is a bound against hangs. */
export const eventually = <E, R>(
  check: Effect.Effect<boolean, E, R>,
  withinMillis = 120_000
): Effect.Effect<void, E, R> =>
  Effect.gen(function* () {
    const from = yield* Clock.currentTimeMillis
    while (!(yield* check)) {
      if ((yield* Clock.currentTimeMillis) - from > withinMillis) return yield* Effect.dieMessage("Not in time")
      yield* Effect.sleep(10)
    }
  }).pipe(Effect.withClock(Clock.make()))

/**
 * One connection per test file: stores with different prefixes are independent. It opens with the first test and closes
 * with the last one.
 */
export const connection = (options: RedisClient.Options): Layer.Layer<RedisClient.RedisClient> => {
  const scope = Effect.runSync(Scope.make())
  let opened: Promise<RedisClient.Service> | undefined
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Layer.effect(
    RedisClient.RedisClient,
    Effect.promise(() => {
      // Commands wait as long as a test may take: under load, 5 seconds pass before an answer is read.
      const patient = { connectTimeout: "2 minutes", commandTimeout: "2 minutes", ...options } as const
      opened ??= Effect.runPromise(Scope.extend(RedisClient.make(patient), scope))
      return opened
    })
  )
}
