/**
 * Plain values as texts and back, those included that JSON has no form for: numbers that are not finite, big integers,
 * dates, bytes. What is plain JSON is written as that. Absent fields and those that are `undefined` are the same.
 *
 * @internal
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"

/** Stands before a text that holds more than JSON does; no JSON begins with it. */
const mark = "!"

/** A field of this name is ours within such a text, and what was called so has one more sign before it. */
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

/** Deeper than any data is that is worth keeping: what is below is `null`. */
const deepest = 1000

/** What contains itself is `null` where it does. */
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

/** Whether the JSON of a value that has no `null` in it is all of the value. */
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
 * Always a text that databases keep as it is.
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
 * What `encode` was given. Throws a `SyntaxError` on anything else.
 *
 * @category conversions
 */
export const decode = (text: string): unknown =>
  text.startsWith(mark) ? unmark(JSON.parse(text.slice(mark.length))) : JSON.parse(text)
