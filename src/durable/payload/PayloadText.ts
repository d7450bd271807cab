/**
 * The size and the text of a value that a durable run keeps.
 *
 * @private
 * @since 0.1.0
 */
import { count } from "../../internal/Count.js"
import * as ExactJson from "../../persistence/engine/ExactJson.js"

/**
 * In bytes of the text of a value, in UTF-8. `above`: a larger one is kept as a blob. `most`: a larger one is not kept.
 *
 * @category models
 */
export interface Bounds {
  readonly above: number
  readonly most: number
}

/** What databases and stores of blobs can give back as one text. */
const MOST = 2 ** 28

/**
 * @category constructors
 */
export const bounds = (
  options: { readonly above?: number | undefined; readonly most?: number | undefined } = {}
): Bounds => ({
  above: count(options.above, 65_536, 1),
  most: Math.min(MOST, count(options.most, 32 * 1_048_576, 1))
})

/**
 * - `Small`: at most `above`
 * - `Large`: above it
 * - `TooLarge`: above `most`; `bytes` is a lower bound where the value was not encoded
 *
 * @category models
 */
export type Measured =
  | { readonly _tag: "Small" }
  | { readonly _tag: "Large"; readonly text: string }
  | { readonly _tag: "TooLarge"; readonly bytes: number }

const small: Measured = { _tag: "Small" }

/** The most bytes of a text for each unit of an estimate: those of an escaped control character. */
const WIDEST = 6

/** An estimate of more than so many times the bound is above it: a digit and its comma are counted as four. */
const SURELY = 4

/** Deeper values are not kept. */
const DEEPEST = 1000

const scalar = (value: unknown): number => {
  switch (typeof value) {
    case "string":
      return value.length + 2
    case "number":
      return 4
    case "bigint":
      return String(value).length + 10
    default:
      return 6
  }
}

/** Adds up units of the text of a value, and stops above `limit`. */
const estimate = (value: unknown, limit: number): number => {
  const above = new Set<object>()
  let units = 0
  const add = (value: unknown): void => {
    if (typeof value !== "object" || value === null) {
      units += scalar(value)
      return
    }
    units += 2
    if (value instanceof Uint8Array) units += 32 + Math.ceil(value.length / 3) * 4
    else if (value instanceof Date || value instanceof URL) units += 16 + String(value).length
    else if (above.size < DEEPEST && !above.has(value)) addAll(value)
  }
  const addAll = (value: object): void => {
    above.add(value)
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && units <= limit; at++) {
        units += 1
        add(value[at])
      }
    } else {
      for (const key in value) {
        if (units > limit) break
        const field = (value as Record<string, unknown>)[key]
        // No text has these fields.
        if (field === undefined || typeof field === "function" || typeof field === "symbol") continue
        units += key.length + 4
        add(field)
      }
    }
    above.delete(value)
  }
  add(value)
  return units
}

const isBelow = (estimated: number, { above, most }: Bounds): boolean => estimated * WIDEST <= Math.min(above, most)

/** Whether a value that is not encoded yet is surely small. */
export const isSmall = (value: unknown, bounds: Bounds): boolean =>
  isBelow(estimate(value, Math.min(bounds.above, bounds.most)), bounds)

/** Makes the text of a value only where it may be above a bound. */
export const measure = (value: unknown, bounds: Bounds): Measured => {
  const { above, most } = bounds
  const estimated = estimate(value, SURELY * most)
  if (isBelow(estimated, bounds)) return small
  if (estimated > SURELY * most) return { _tag: "TooLarge", bytes: Math.floor(estimated / SURELY) }
  const text = ExactJson.encode(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > most) return { _tag: "TooLarge", bytes }
  return bytes > above ? { _tag: "Large", text } : small
}

/** The value of a text; `undefined` if it is none that was measured. */
export const read = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: ExactJson.decode(text) }
  } catch {
    return undefined
  }
}
