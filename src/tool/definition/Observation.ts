/**
 * Observations: the plain data and bounded text that a model reads of a result or failure.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface Observation {
  /** Plain JSON data; the truncated text where it was too long. */
  readonly result: unknown
  readonly text: string
  readonly truncated: boolean
}

const bigintText = (item: unknown): unknown => (typeof item === "bigint" ? item.toString() : item)

/** A replacer that marks cycles, so that the rest of a cyclic value can be read. */
const lenient = () => {
  const ancestors: Array<unknown> = []
  return function (this: unknown, _key: string, item: unknown): unknown {
    if (typeof item !== "object" || item === null) return bigintText(item)
    while (ancestors.length > 0 && ancestors[ancestors.length - 1] !== this) ancestors.pop()
    if (ancestors.includes(item)) return "[Circular]"
    ancestors.push(item)
    return item
  }
}

/**
 * A string unchanged, anything else as JSON; big integers become text and cycles a marker. `undefined` when a value has
 * no such form: functions, symbols, nesting deeper than the stack, a `toJSON` that throws.
 *
 * @since 0.1.0
 * @category conversions
 */
export const stringify = (value: unknown): string | undefined =>
  typeof value === "string" ? value : (strict(value) ?? loose(value))

const strict = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const loose = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value, lenient())
  } catch {
    return undefined
  }
}

/** Deeper data is read back from its text, which takes no stack. */
const MAX_DEPTH = 100

const isPlain = (value: unknown, depth: number = 0): boolean => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true
    case "number":
      return Number.isFinite(value)
    case "object": {
      if (value === null) return true
      if (depth > MAX_DEPTH) return false
      if (!Array.isArray(value)) {
        const prototype = Object.getPrototypeOf(value)
        if (prototype !== Object.prototype && prototype !== null) return false
      }
      return Object.values(value).every((item) => isPlain(item, depth + 1))
    }
    default:
      return false
  }
}

/**
 * Truncates a text to `max` characters and marks the cut. A surrogate pair is never split.
 *
 * @since 0.1.0
 * @category conversions
 */
export const truncate = (text: string, max: number): { readonly text: string; readonly truncated: boolean } => {
  if (text.length <= max) return { text, truncated: false }
  const limit = Math.max(0, Math.floor(max) || 0)
  const last = text.charCodeAt(limit - 1)
  const end = last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit
  return {
    text: `${text.slice(0, end)}\n[TRUNCATED: ${text.length - end} of ${text.length} characters left out]`,
    truncated: true
  }
}

/**
 * Makes a result plain and bounded; `undefined` becomes "ok". Returns nothing when it has no JSON form.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Observation } from "effect-lexigram/tool"
 *
 * console.log(Observation.make({ celsius: 21, stations: 12n }, 1_000)?.text) // {"celsius":21,"stations":"12"}
 * console.log(Observation.make("x".repeat(5_000), 1_000)?.truncated) // true
 * ```
 */
export const make = (value: unknown, max: number): Observation | undefined => {
  if (value === undefined) return make("ok", max)
  if (typeof value === "string") {
    const { text, truncated } = truncate(value, max)
    return { result: text, text, truncated }
  }
  const exact = strict(value)
  const whole = exact ?? loose(value)
  if (whole === undefined) return undefined
  const { text, truncated } = truncate(whole, max)
  if (truncated) return { result: text, text, truncated }
  return { result: exact !== undefined && isPlain(value) ? value : JSON.parse(whole), text, truncated }
}
