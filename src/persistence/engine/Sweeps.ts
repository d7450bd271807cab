/**
 * Decides at random how often a write is followed by a sweep of old or surplus rows, so that the average cost does not
 * depend on the amount of data and short-lived processes sweep too.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/**
 * Runs an effect once in `times` calls on average; always if `times` is one or less.
 *
 * @category combinators
 */
export const oneIn = <E, R>(times: number, effect: Effect.Effect<void, E, R>): Effect.Effect<void, E, R> =>
  times <= 1 ? effect : Effect.flatMap(Random.next, (drawn) => (drawn * times < 1 ? effect : Effect.void))
