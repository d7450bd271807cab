/**
 * Encodes any string as a text that every database stores exactly, compares exactly and sorts by code unit. Postgres
 * rejects NUL, both databases reject lone surrogates, and both sort by code point, which differs for characters beyond
 * the basic plane. Most texts stay as they are; only these characters are escaped.
 *
 * @private
 * @since 0.1.0
 */

/** Sorts below all others: precedes NUL and itself. */
const LOW = "\u0001"
/** The last character below the surrogates: precedes itself and everything above it. */
const HIGH = "\ud7ff"
const high = 0xd7ff

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const special = /[\u0000\u0001\ud7ff-\uffff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const specials = /[\u0000\u0001\ud7ff-\uffff]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const escapes = /\u0001([\u0002\u0003])|\ud7ff([\s\S])([\s\S])/g

/** Base of digits for numbers below 2^14, starting at space: none of them is special. */
const BASE = 0x20
const DIGIT = 0x80

const escaped = (character: string): string => {
  const unit = character.charCodeAt(0)
  if (unit <= 1) return LOW + String.fromCharCode(unit + 2)
  const rest = unit - high
  return HIGH + String.fromCharCode(BASE + Math.floor(rest / DIGIT), BASE + (rest % DIGIT))
}

/**
 * Preserves the order by code unit and prefixes.
 *
 * @category conversions
 */
export const encode = (text: string): string => (special.test(text) ? text.replace(specials, escaped) : text)

/**
 * The text given to `encode`.
 *
 * @category conversions
 */
export const decode = (text: string): string =>
  text.includes(LOW) || text.includes(HIGH)
    ? text.replace(escapes, (_, low: string | undefined, first: string, second: string) =>
        low !== undefined
          ? String.fromCharCode(low.charCodeAt(0) - 2)
          : String.fromCharCode(high + (first.charCodeAt(0) - BASE) * DIGIT + (second.charCodeAt(0) - BASE))
      )
    : text
