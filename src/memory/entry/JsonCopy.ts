/**
 * Copies plain data into frozen values.
 *
 * @private
 * @since 0.1.0
 */

/**
 * Maximum depth of nested lists and records.
 *
 * @category constants
 */
export const maxDepth = 32

/**
 * Maximum number of values at all levels. A value that is referenced several times is copied and counted each time.
 *
 * @category constants
 */
export const maxValues = 100_000

class NoData extends Error {}

interface Budget {
  readonly depth: number
  values: number
}

/**
 * Returns `undefined` if the value is not a record of plain data, exceeds the bounds, or throws while it is read. Omits
 * fields that are `undefined`.
 *
 * @category constructors
 */
export const copy = (
  value: unknown,
  bounds?: { readonly maxDepth: number; readonly maxValues: number } | undefined
): Readonly<Record<string, unknown>> | undefined => {
  try {
    return record(value, 1, { depth: bounds?.maxDepth ?? maxDepth, values: bounds?.maxValues ?? maxValues })
  } catch {
    // What a getter or a proxy throws may reveal the data, so it is dropped.
    return undefined
  }
}

const empty: Readonly<Record<string, unknown>> = Object.freeze({})

const record = (value: unknown, depth: number, budget: Budget): Readonly<Record<string, unknown>> => {
  if (value === null || typeof value !== "object" || depth > budget.depth) throw new NoData()
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw new NoData()
  const keys = Object.keys(value)
  if (keys.length === 0) return empty
  const copied: Record<string, unknown> = {}
  for (const key of keys) {
    const field = (value as Record<string, unknown>)[key]
    if (field === undefined) continue
    const data = any(field, depth + 1, budget)
    if (key === "__proto__") {
      Object.defineProperty(copied, key, { value: data, enumerable: true, configurable: true, writable: true })
    } else copied[key] = data
  }
  return Object.freeze(copied)
}

const any = (value: unknown, depth: number, budget: Budget): unknown => {
  if (--budget.values < 0) throw new NoData()
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      if (Number.isFinite(value)) return value
      throw new NoData()
    case "object":
      if (value === null) return null
      if (!Array.isArray(value)) return record(value, depth, budget)
      if (depth > budget.depth) throw new NoData()
      return Object.freeze(Array.from(value, (item) => any(item, depth + 1, budget)))
    default:
      throw new NoData()
  }
}
