/**
 * Measures how similar texts are.
 *
 * @private
 * @since 0.1.0
 */

/**
 * The words of a text for comparison: distinct, without case and punctuation.
 *
 * @category models
 */
export type Terms = ReadonlySet<string>

const word = /[\p{L}\p{M}\p{N}]+/gu

/**
 * The words of a text, in lower case and compatibility form. Linear time.
 *
 * @category constructors
 */
export const terms = (text: string): Terms => new Set(text.normalize("NFKC").toLowerCase().match(word) ?? [])

/**
 * Jaccard similarity: common words divided by all words, 0 to 1. Two empty sets have similarity 1.
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
 * Whether two sets have at least this similarity. Their sizes alone often exclude it.
 *
 * @category combinators
 */
export const isAlike = (a: Terms, b: Terms, threshold: number): boolean =>
  Math.min(a.size, b.size) >= threshold * Math.max(a.size, b.size) && jaccard(a, b) >= threshold

/**
 * What items are compared by: their words and their meaning (`SameText.gist`).
 *
 * @category models
 */
export interface Compared {
  readonly terms: Terms
  readonly gist: string
}

/**
 * The items that do not duplicate an earlier one, in their order. Lazy: taking few items computes few. Duplicates say
 * the same and have at least this similarity. Linear in the number of items.
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
