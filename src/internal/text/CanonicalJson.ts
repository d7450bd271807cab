/**
 * Canonical JSON: equal plain data gives one text, whatever the order of keys. Used for cache keys and request hashes.
 *
 * @since 0.1.0
 */

import * as Encoding from "effect/Encoding"
import { isPlainObject } from "./PlainObject.js"
import * as Sha256 from "./Sha256.js"

const write = (value: unknown, out: Array<string>): boolean => {
  if (value === null) return out.push("null") > 0
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
      return out.push(JSON.stringify(value)) > 0
    case "bigint":
      return out.push(`${value}n`) > 0
    case "object":
      break
    default:
      return false
  }
  if (Array.isArray(value)) {
    out.push("[")
    value.forEach((item, index) => {
      if (index > 0) out.push(",")
      if (!write(item, out)) out.push("null")
    })
    return out.push("]") > 0
  }
  if (value instanceof Uint8Array) return out.push(`bytes"${Encoding.encodeBase64(value)}"`) > 0
  if (!isPlainObject(value) && typeof (value as { toJSON?: unknown }).toJSON === "function") {
    return write((value as { toJSON: () => unknown }).toJSON(), out)
  }
  out.push("{")
  let first = true
  for (const key of Object.keys(value).sort()) {
    const at = out.length
    out.push(`${first ? "" : ","}${JSON.stringify(key)}:`)
    if (write((value as Record<string, unknown>)[key], out)) first = false
    else out.length = at
  }
  return out.push("}") > 0
}

/**
 * Writes JSON with sorted keys. Absent and `undefined` fields are equal; text is not normalized. Bytes and big integers
 * have forms that JSON does not have. Throws a `RangeError` on data that is cyclic or too deep for the stack.
 *
 * @since 0.1.0
 * @category conversions
 */
export const stringify = (value: unknown): string => {
  const out: Array<string> = []
  return write(value, out) ? out.join("") : "undefined"
}

/**
 * SHA-256 of the canonical text, as 64 hexadecimal digits.
 *
 * @since 0.1.0
 * @category conversions
 */
export const hash = (value: unknown): string => Sha256.hex(stringify(value))
