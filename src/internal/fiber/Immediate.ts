/**
 * Knows the functions whose effects end without waiting for anything, so that their callers need no time limit. Each
 * limit costs a fiber. A wrapper of such a function is another function, and not known.
 *
 * @private
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"

type Function = (...args: ReadonlyArray<never>) => Effect.Effect<unknown, unknown, unknown>

const known = new WeakSet<Function>()

/**
 * Declares that the effects of a function end without waiting.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <F extends Function>(f: F): F => {
  known.add(f)
  return f
}

/**
 * @since 0.1.0
 * @category guards
 */
export const is = (f: Function): boolean => known.has(f)
