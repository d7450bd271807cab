/**
 * Reads the clock in the step that uses the time.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * Continues with the milliseconds since the epoch, in one operation where `Clock.currentTimeMillis` takes four.
 *
 * @since 0.1.0
 * @category combinators
 */
export const use = <A, E, R>(f: (now: number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    f(Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeMillis())
  )
