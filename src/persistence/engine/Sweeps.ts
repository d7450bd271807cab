/**
 * How often something that is written is followed by a look at what is too old or too much: by chance, so that it costs
 * the same on average however much there is, and happens however short processes live.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * Runs an effect once in so many times on average; every time for one and less.
 *
 * @category combinators
 */
export const oneIn = <E, R>(times: number, effect: Effect.Effect<void, E, R>): Effect.Effect<void, E, R> =>
  times <= 1 ? effect : Effect.flatMap(Random.next, (drawn) => (drawn * times < 1 ? effect : Effect.void))
