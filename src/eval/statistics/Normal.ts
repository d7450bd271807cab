/**
 * The standard normal distribution: its cumulative distribution function and the inverse of it.
 *
 * @since 0.1.0
 * @private
 */

const density = (x: number): number => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)

/** Below this the continued fraction of the tail converges in few steps; above it the series does. */
const tail = -3

/** The chance of a value below `x`, for `x` of at most 0: relative error of about 1e-14. */
const lowerHalf = (x: number): number => {
  if (x < tail) {
    // Laplace's continued fraction of the ratio of tail and density, from its end.
    let fraction = 0
    for (let i = 120; i > 0; i--) fraction = i / (-x + fraction)
    return density(x) / (-x + fraction)
  }
  // The series of Marsaglia (2004): x + x^3/3 + x^5/(3·5) + …
  let term = x
  let sum = x
  for (let i = 3; Math.abs(term) > 1e-18; i += 2) {
    term *= (x * x) / i
    sum += term
  }
  return 0.5 + sum * density(x)
}

/** The chance of a value below `x`. */
export const distribution = (x: number): number => (x <= 0 ? lowerHalf(x) : 1 - lowerHalf(-x))

/**
 * The value below which a share of all values is; the share is above 0 and below 1. Newton's steps from 0 go down to
 * the value and never below it: the function is convex there. The steps end where rounding turns one back.
 */
export const quantile = (share: number): number => {
  if (share > 0.5) return -quantile(1 - share)
  let x = 0
  for (;;) {
    const next = x - (lowerHalf(x) - share) / density(x)
    if (!(next < x - 1e-15)) return x
    x = next
  }
}
