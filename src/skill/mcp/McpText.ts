/**
 * Makes text from servers safe to show: hidden characters visible, length bounded.
 *
 * @private
 * @since 0.1.0
 */

// Control characters except line ends and tabs, bidirectional marks, zero-width characters and tag characters.
// Characters that scripts and emoji need (joiners, variation selectors of the first plane) stay.
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}}`

/**
 * Replaces every hidden character by its code point.
 *
 * @since 0.1.0
 * @category conversions
 */
export const visible = (text: string): string => text.replace(hidden, escaped)

/**
 * At most `max` characters, with a note on how many are missing; never half a surrogate pair.
 *
 * @since 0.1.0
 * @category conversions
 */
export const truncate = (text: string, max: number): string => {
  if (text.length <= max) return text
  const last = text.charCodeAt(max - 1)
  const end = last >= 0xd800 && last <= 0xdbff ? max - 1 : max
  return `${text.slice(0, end)}… [${text.length - end} more characters]`
}

/**
 * Maximum nesting of data that is read.
 *
 * @since 0.1.0
 * @category constants
 */
const MAX_DEPTH = 64

/**
 * Whether data has at most `max` characters and is not too deep. Stops at the limit and does not recurse.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isWithin = (value: unknown, max: number): boolean => {
  let size = 0
  let level: Array<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return false
    const next: Array<unknown> = []
    for (const item of level) {
      size += typeof item === "string" ? item.length + 2 : 4
      if (size > max) return false
      if (typeof item !== "object" || item === null) continue
      if (Array.isArray(item)) for (const inner of item) next.push(inner)
      else {
        for (const [key, inner] of Object.entries(item)) {
          size += key.length
          next.push(inner)
        }
      }
      if (size + 4 * next.length > max) return false
    }
    level = next
  }
  return true
}

/** Keys define own properties, so `__proto__` stays data. */
const mapped = (value: unknown, f: (item: unknown, key: string) => unknown, key = ""): unknown => {
  if (Array.isArray(value)) return value.map((item) => mapped(item, f, key))
  if (typeof value !== "object" || value === null) return f(value, key)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, mapped(inner, f, name)]))
}

/**
 * Makes all texts in data visible; the data must be within `MAX_DEPTH`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const visibleData = <A>(value: A): A =>
  mapped(value, (item) => (typeof item === "string" ? visible(item) : item)) as A

/**
 * Makes a schema's descriptive texts visible and cuts them; its validation keywords stay as they are.
 *
 * @since 0.1.0
 * @category conversions
 */
export const visibleSchema = <A>(schema: A, maxDescription: number): A =>
  mapped(schema, (item, key) =>
    typeof item === "string" && (key === "description" || key === "title" || key === "$comment")
      ? truncate(visible(item), maxDescription)
      : item
  ) as A
