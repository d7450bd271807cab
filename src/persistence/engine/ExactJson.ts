/**
 * Converts plain values to texts and back, including values that JSON lacks: non-finite numbers, big integers, dates,
 * bytes. Plain JSON values become JSON. Absent and `undefined` fields are the same.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"

/** Prefix of a text with more than JSON; no JSON begins with it. */
const mark = "!"

/** Reserved field name within such a text. A field that has this name gets another sign in front. */
const own = "$"

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const tagged = (kind: string, value: unknown) => ({ [own]: kind, value })

const renamed = (fields: object, rename: (key: string) => string, f: (value: unknown) => unknown): object =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [rename(key), f(value)]))

const deeper = (key: string): string => (key.startsWith(own) ? own + key : key)
const higher = (key: string): string => (key.startsWith(own) ? key.slice(own.length) : key)

/** Nesting limit. Deeper values become `null`. */
const deepest = 1000

/** Cyclic references become `null`. */
const marked = (value: unknown, above: Set<object>): unknown => {
  switch (typeof value) {
    case "bigint":
      return tagged("bigint", String(value))
    case "number":
      return isJson(value) ? value : tagged("number", Object.is(value, -0) ? "-0" : String(value))
    case "object":
      break
    default:
      return value
  }
  if (value === null || above.size >= deepest || above.has(value)) return null
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : tagged("date", value.getTime())
  if (value instanceof Uint8Array) return tagged("bytes", Buffer.from(value).toString("base64"))
  above.add(value)
  const result = markedIn(value, above)
  above.delete(value)
  return result
}

const markedIn = (value: object, above: Set<object>): unknown => {
  if (Array.isArray(value)) {
    return Array.from(value, (item) => (item === undefined ? tagged("undefined", null) : marked(item, above)))
  }
  if (isPlain(value)) return renamed(value, deeper, (field) => marked(field, above))
  const text = plain(value)
  return text === undefined ? null : marked(JSON.parse(text), above)
}

const unmark = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(unmark)
  if (!Object.hasOwn(value, own)) return renamed(value, higher, unmark)
  const { [own]: kind, value: given } = value as { readonly [own]: unknown; readonly value?: unknown }
  switch (kind) {
    case "bigint":
      return BigInt(String(given))
    case "number":
      return Number(given)
    case "date":
      return DateTime.toDateUtc(DateTime.unsafeMake(Number(given)))
    case "bytes":
      return new Uint8Array(Buffer.from(String(given), "base64"))
    default:
      return undefined
  }
}

const plain = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

const isJson = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0)

/** Whether the JSON of a value without `null` is lossless. */
const isExact = (value: unknown, depth: number): boolean => {
  if (typeof value === "number") return isJson(value)
  if (typeof value !== "object" || value === null) return true
  if (depth === 0) return false
  if (Array.isArray(value)) return value.every((item) => isExact(item, depth - 1))
  if (!isPlain(value)) return false
  for (const key in value) if (!isExact((value as Record<string, unknown>)[key], depth - 1)) return false
  return true
}

/**
 * Returns a text that databases store unchanged.
 *
 * @category conversions
 */
export const encode = (value: unknown): string => {
  const text = plain(value)
  if (text !== undefined && !text.includes("null") && isExact(value, deepest)) return text
  const whole = JSON.stringify(marked(value, new Set()) ?? null)
  return whole === text ? whole : mark + whole
}

/**
 * The value given to `encode`. Throws a `SyntaxError` on any other text.
 *
 * @category conversions
 */
export const decode = (text: string): unknown =>
  text.startsWith(mark) ? unmark(JSON.parse(text.slice(mark.length))) : JSON.parse(text)
