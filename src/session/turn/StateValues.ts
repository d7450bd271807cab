/**
 * Compares and merges values of the small state of sessions. Keys may have any name.
 *
 * @private
 * @since 0.1.0
 */

import * as Option from "effect/Option"
import { isPlainObject } from "../../internal/text/PlainObject.js"

/**
 * @category models
 */
export interface Attributes {
  readonly [key: string]: unknown
}

/** More than a session can hold; a longer comparison means a cycle. */
const maxComparisons = 1_000_000

/**
 * Whether two values are equal as plain data, ignoring the order of keys, at any depth.
 *
 * @category comparisons
 */
export const equal = (one: unknown, other: unknown): boolean => {
  const open: Array<unknown> = [one, other]
  for (let count = 0; open.length > 0; count++) {
    if (count > maxComparisons) return false
    const b = open.pop()
    const a = open.pop()
    if (a === b || Object.is(a, b)) continue
    if (Array.isArray(a) && Array.isArray(b)) {
      if (a.length !== b.length) return false
      for (let at = 0; at < a.length; at++) open.push(a[at], b[at])
      continue
    }
    if (!isPlainObject(a) || !isPlainObject(b)) return false
    const keys = Object.keys(a)
    if (keys.length !== Object.keys(b).length) return false
    for (const key of keys) {
      if (!Object.hasOwn(b, key)) return false
      open.push(a[key], b[key])
    }
  }
  return true
}

/**
 * @category getters
 */
export const get = (attributes: Attributes, key: string): Option.Option<unknown> =>
  Object.hasOwn(attributes, key) ? Option.some(attributes[key]) : Option.none()

/**
 * @category comparisons
 */
export const equalOption = (one: Option.Option<unknown>, other: Option.Option<unknown>): boolean =>
  Option.isSome(one) && Option.isSome(other) ? equal(one.value, other.value) : one._tag === other._tag

/**
 * @category conversions
 */
export const fromEntries = (entries: Iterable<readonly [string, unknown]>): Attributes =>
  // Defines, never assigns: `__proto__` is a key like any other.
  Object.fromEntries(entries)

/**
 * All keys of several records, each once, in order of first occurrence.
 *
 * @category getters
 */
export const keysOf = (...all: ReadonlyArray<Attributes>): ReadonlyArray<string> =>
  Array.from(new Set(all.flatMap((attributes) => Object.keys(attributes))))

/**
 * Applies the changes of one side to the other side's list of names: names it removed since the base go, names it added
 * are appended.
 *
 * @category combinators
 */
export const mergeNames = (
  base: ReadonlyArray<string>,
  ours: ReadonlyArray<string>,
  theirs: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const before = new Set(base)
  const there = new Set(theirs)
  const here = new Set(ours)
  return [
    ...ours.filter((name) => there.has(name) || !before.has(name)),
    ...Array.from(there).filter((name) => !here.has(name) && !before.has(name))
  ]
}

/**
 * Keys that both sides changed differently.
 *
 * @category models
 */
export interface Clash {
  readonly key: string
  readonly base: Option.Option<unknown>
  readonly ours: Option.Option<unknown>
  readonly theirs: Option.Option<unknown>
}

/**
 * A change by one side alone, or the same change by both, is settled; the rest are clashes.
 *
 * @category combinators
 */
export const threeWay = (
  base: Option.Option<unknown>,
  ours: Option.Option<unknown>,
  theirs: Option.Option<unknown>
): Option.Option<Option.Option<unknown>> => {
  if (equalOption(ours, theirs) || equalOption(base, theirs)) return Option.some(ours)
  return equalOption(base, ours) ? Option.some(theirs) : Option.none()
}

/**
 * Combines by key. `settled` has the keys in order, without those that clash.
 *
 * @category combinators
 */
export const mergeAttributes = (
  base: Attributes,
  ours: Attributes,
  theirs: Attributes
): { readonly settled: ReadonlyArray<readonly [string, unknown]>; readonly clashes: ReadonlyArray<Clash> } => {
  const settled: Array<readonly [string, unknown]> = []
  const clashes: Array<Clash> = []
  for (const key of keysOf(ours, theirs)) {
    const sides = { base: get(base, key), ours: get(ours, key), theirs: get(theirs, key) }
    const decided = threeWay(sides.base, sides.ours, sides.theirs)
    if (Option.isNone(decided)) clashes.push({ key, ...sides })
    else if (Option.isSome(decided.value)) settled.push([key, decided.value.value])
  }
  return { settled, clashes }
}
