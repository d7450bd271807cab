/**
 * Permutation tests that flip the signs of paired differences (Fisher 1935): if nothing changed, a difference and its
 * negative are as likely.
 *
 * @since 0.1.0
 * @private
 */
import type { PCGRandom } from "effect/Utils"

/** Chances of sums at most, and at least, as large as the sum that was found; and of sums as far from 0. */
export interface Chances {
  readonly atMost: number
  readonly atLeast: number
  readonly asFar: number
}

/** So many differences have a million sums, which are counted one by one. */
const mostExact = 20

/** Sums that differ by less than this part of the sum of the sizes are the same. */
const rounding = 1e-12

const certain: Chances = { atMost: 1, atLeast: 1, asFar: 1 }

interface Counts {
  atMost: number
  atLeast: number
  asFar: number
}

const counter = (found: number, width: number) => {
  const counts: Counts = { atMost: 0, atLeast: 0, asFar: 0 }
  const count = (sum: number): void => {
    if (sum <= found + width) counts.atMost++
    if (sum >= found - width) counts.atLeast++
    if (Math.abs(sum) >= Math.abs(found) - width) counts.asFar++
  }
  return { counts, count }
}

const shares = ({ asFar, atLeast, atMost }: Counts, all: number): Chances => ({
  atMost: atMost / all,
  atLeast: atLeast / all,
  asFar: asFar / all
})

/** All sums of sizes whose signs are free. */
const exact = (sizes: ReadonlyArray<number>, found: number, width: number): Chances => {
  const { count, counts } = counter(found, width)
  const add = (at: number, sum: number): void => {
    const size = sizes[at]
    if (size === undefined) count(sum)
    else {
      add(at + 1, sum + size)
      add(at + 1, sum - size)
    }
  }
  add(0, 0)
  return shares(counts, 2 ** sizes.length)
}

/** Samples of the sums, and the sum that was found as one more of them (Phipson and Smyth 2010). */
const sampled = (
  sizes: ReadonlyArray<number>,
  found: number,
  width: number,
  samples: number,
  random: PCGRandom
): Chances => {
  const { count, counts } = counter(found, width)
  const flips = Float64Array.from(sizes)
  for (let sample = 0; sample < samples; sample++) {
    let sum = 0
    let signs = 0
    for (let i = 0; i < flips.length; i++) {
      if (i % 32 === 0) signs = Math.floor(random.number() * 2 ** 32)
      const size = flips[i] ?? 0
      sum += (signs >>> (i % 32)) & 1 ? size : -size
    }
    count(sum)
  }
  count(found)
  return shares(counts, samples + 1)
}

/** Chance of at most `k` heads in `n` throws of a coin, for `k` of at most half of `n`: terms from the largest down. */
const heads = (k: number, n: number): number => {
  let log = -n * Math.LN2
  for (let i = 1; i <= k; i++) log += Math.log((n - k + i) / i)
  let term = 1
  let sum = 1
  for (let i = k; i > 0 && term > 1e-17; i--) {
    term *= i / (n - i + 1)
    sum += term
  }
  return Math.min(1, Math.exp(log) * sum)
}

const headsAtMost = (k: number, n: number): number => (2 * k <= n ? heads(k, n) : 1 - (k < n ? heads(n - k - 1, n) : 0))

/** The closed form where all differences have one size: the test of McNemar, which is the sign test. */
const binomial = (positive: number, n: number): Chances => ({
  atMost: headsAtMost(positive, n),
  atLeast: headsAtMost(n - positive, n),
  asFar: Math.min(1, 2 * headsAtMost(Math.min(positive, n - positive), n))
})

/** The chances of the sum of differences, none of which is 0, if the sign of each is as likely as the other one. */
export const chances = (
  differences: ReadonlyArray<number>,
  options: { readonly samples: number; readonly random: PCGRandom }
): Chances => {
  const [first = 0] = differences
  if (differences.length === 0) return certain
  const sizes = differences.map(Math.abs)
  if (sizes.every((size) => Math.abs(size - Math.abs(first)) <= rounding * Math.abs(first))) {
    return binomial(differences.filter((difference) => difference > 0).length, differences.length)
  }
  const found = differences.reduce((sum, difference) => sum + difference, 0)
  const width = rounding * sizes.reduce((sum, size) => sum + size, 0)
  return differences.length <= mostExact
    ? exact(sizes, found, width)
    : sampled(sizes, found, width, options.samples, options.random)
}
