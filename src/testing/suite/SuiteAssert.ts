/**
 * Assertions of port suites, independent of the test runner.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

/**
 * A broken promise. Runners that show differences find both sides in it.
 *
 * @since 0.1.0
 * @category errors
 */
export class Mismatch extends Error {
  override readonly name = "Mismatch"
  readonly showDiff = true
  constructor(
    what: string,
    readonly actual: unknown,
    readonly expected: unknown
  ) {
    super(`${what}: expected ${show(expected)}, got ${show(actual)}`)
  }
}

const shown = 600

const show = (value: unknown): string => {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= shown ? text : `${text.slice(0, shown)}… (${text.length} characters)`
}

const keys = (value: object): ReadonlyArray<string> =>
  Object.keys(value).filter((key) => (value as Record<string, unknown>)[key] !== undefined)

/** Compares plain data; a field that is `undefined` equals an absent one. */
const same = (a: unknown, b: unknown): boolean => {
  if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  if (Array.isArray(a) && a.length !== (b as ReadonlyArray<unknown>).length) return false
  const names = keys(a)
  return (
    names.length === keys(b).length &&
    names.every(
      (key) => Object.hasOwn(b, key) && same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key])
    )
  )
}

/**
 * Throws unless both are the same data.
 *
 * @since 0.1.0
 * @category assertions
 */
export const equal = (actual: unknown, expected: unknown, what: string): void => {
  if (!same(actual, expected)) throw new Mismatch(what, actual, expected)
}

/**
 * Throws unless both have the same elements in any order.
 *
 * @since 0.1.0
 * @category assertions
 */
export const sameMembers = (actual: ReadonlyArray<string>, expected: ReadonlyArray<string>, what: string): void =>
  equal([...actual].sort(), [...expected].sort(), what)

/**
 * Throws unless the condition holds.
 *
 * @since 0.1.0
 * @category assertions
 */
export const holds: (condition: boolean, what: string, actual?: unknown) => asserts condition = (
  condition,
  what,
  actual
) => {
  if (!condition) throw new Mismatch(what, actual ?? false, actual === undefined ? true : "what was promised")
}

/**
 * The failure of an effect; a success throws.
 *
 * @since 0.1.0
 * @category assertions
 */
export const failure = <A, E, R>(effect: Effect.Effect<A, E, R>, what: string): Effect.Effect<E, never, R> =>
  Effect.map(Effect.either(effect), (result) => {
    if (Either.isLeft(result)) return result.left
    throw new Mismatch(what, { succeeded: result.right }, "a failure")
  })
