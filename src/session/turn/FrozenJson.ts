/**
 * Copies a value as a JSON round trip would, frozen and without the text, so that a store in memory behaves as one on
 * text.
 *
 * @private
 * @since 0.1.0
 */

/** No conversation is this deep; beyond it a cycle is more likely. */
const maxDepth = 1000

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const any = (value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      // JSON has no negative zero.
      return Number.isFinite(value) ? value + 0 : null
    case "object":
      if (value === null) return null
      if (depth > maxDepth) throw new RangeError("The value is too deep")
      return Array.isArray(value) ? list(value, depth) : record(value, depth)
    case "bigint":
      throw new TypeError("A big integer is not JSON")
    default:
      return undefined
  }
}

const list = (values: ReadonlyArray<unknown>, depth: number): ReadonlyArray<unknown> => {
  const copied = new Array<unknown>(values.length)
  for (let at = 0; at < values.length; at++) copied[at] = any(values[at], depth + 1) ?? null
  return Object.freeze(copied)
}

const record = (value: object, depth: number): unknown => {
  if (typeof (value as { readonly toJSON?: unknown }).toJSON === "function" || !isPlain(value)) {
    const text = JSON.stringify(value)
    return text === undefined ? undefined : any(JSON.parse(text), depth + 1)
  }
  const copied: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const field = any((value as Record<string, unknown>)[key], depth + 1)
    if (field === undefined) continue
    if (key === "__proto__") {
      Object.defineProperty(copied, key, { value: field, enumerable: true, configurable: true, writable: true })
    } else copied[key] = field
  }
  return Object.freeze(copied)
}

/**
 * Throws where `JSON.stringify` would, on cycles and big integers, and on data deeper than 1,000 levels.
 *
 * @category constructors
 */
export const copy = <A extends object>(value: A): A => any(value, 0) as A
