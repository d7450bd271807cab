/**
 * A frozen copy of plain data.
 *
 * @internal
 * @since 0.1.0
 */

const MAX_DEPTH = 32

class NoData extends Error {}

/** `undefined` when it is no record of plain data, or nests deeper than 32 levels. Fields that are `undefined` are left out. */
export const copy = (value: unknown): Readonly<Record<string, unknown>> | undefined => {
  try {
    return record(value, 0)
  } catch (error) {
    if (error instanceof NoData) return undefined
    throw error
  }
}

const empty: Readonly<Record<string, unknown>> = Object.freeze({})

const record = (value: unknown, depth: number): Readonly<Record<string, unknown>> => {
  if (value === null || typeof value !== "object" || depth > MAX_DEPTH) throw new NoData()
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw new NoData()
  const keys = Object.keys(value)
  if (keys.length === 0) return empty
  const copied: Record<string, unknown> = {}
  for (const key of keys) {
    const field = (value as Record<string, unknown>)[key]
    if (field === undefined) continue
    const data = any(field, depth + 1)
    if (key === "__proto__") {
      Object.defineProperty(copied, key, { value: data, enumerable: true, configurable: true, writable: true })
    } else copied[key] = data
  }
  return Object.freeze(copied)
}

const any = (value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      if (Number.isFinite(value)) return value
      throw new NoData()
    case "object":
      if (value === null) return null
      if (!Array.isArray(value)) return record(value, depth)
      if (depth > MAX_DEPTH) throw new NoData()
      return Object.freeze(Array.from(value, (item) => any(item, depth + 1)))
    default:
      throw new NoData()
  }
}
