/**
 * How much texts have in common.
 *
 * @internal
 * @since 0.1.0
 */

/**
 * What a text is compared by: its words without case and punctuation, each once.
 *
 * @category models
 */
export type Terms = ReadonlySet<string>

const word = /[\p{L}\p{M}\p{N}]+/gu

/**
 * The words of a text, in lower case and compatible forms. Linear in its length.
 *
 * @category constructors
 */
export const terms = (text: string): Terms => new Set(text.normalize("NFKC").toLowerCase().match(word) ?? [])

/**
 * Jaccard: what both have of what either has, 0 to 1. Two empty sets are the same: 1.
 *
 * @category combinators
 */
export const jaccard = (a: Terms, b: Terms): number => {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a]
  if (large.size === 0) return 1
  let both = 0
  for (const term of small) if (large.has(term)) both++
  return both / (a.size + b.size - both)
}

/**
 * Whether two sets agree at least so far. Sizes alone often say that they cannot.
 *
 * @category combinators
 */
export const isAlike = (a: Terms, b: Terms, threshold: number): boolean =>
  Math.min(a.size, b.size) >= threshold * Math.max(a.size, b.size) && jaccard(a, b) >= threshold

/**
 * What an item is compared by: its words, and what it says (`SameText.gist`).
 *
 * @category models
 */
export interface Compared {
  readonly terms: Terms
  readonly gist: string
}

/**
 * The items of which no earlier one is a double, in their order, one after another: whoever needs few of many computes
 * few. Doubles say the same, and their words agree at least so far. Linear in the number of items.
 *
 * @category combinators
 */
export function* distinct<A>(items: Iterable<A>, of: (item: A) => Compared, threshold: number): Generator<A> {
  const kept = new Map<string, Array<Terms>>()
  for (const item of items) {
    const { gist, terms } = of(item)
    const others = kept.get(gist)
    if (others?.some((other) => isAlike(terms, other, threshold)) === true) continue
    if (others === undefined) kept.set(gist, [terms])
    else others.push(terms)
    yield item
  }
}
