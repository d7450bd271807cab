/**
 * Any string as a text that every database keeps exactly, compares exactly and puts into the order of code units:
 * Postgres takes no NUL, neither takes half a surrogate pair, and both order by code point, which is another order as
 * soon as a text has characters beyond the first plane. Most texts are what they are; only these characters are written
 * otherwise.
 *
 * @internal
 * @since 0.1.0
 */

/** Below all others: stands before NUL and before itself. */
const LOW = "\u0001"
/** The last one below the surrogates: stands before itself and before everything above it. */
const HIGH = "\ud7ff"
const high = 0xd7ff

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const special = /[\u0000\u0001\ud7ff-\uffff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const specials = /[\u0000\u0001\ud7ff-\uffff]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const escapes = /\u0001([\u0002\u0003])|\ud7ff([\s\S])([\s\S])/g

/** Digits of a number below 2^14, from a space on: none of them is special. */
const BASE = 0x20
const DIGIT = 0x80

const escaped = (character: string): string => {
  const unit = character.charCodeAt(0)
  if (unit <= 1) return LOW + String.fromCharCode(unit + 2)
  const rest = unit - high
  return HIGH + String.fromCharCode(BASE + Math.floor(rest / DIGIT), BASE + (rest % DIGIT))
}

/**
 * Of two texts the order by code unit is that of what they are made into, and what one begins with is what the other
 * begins with.
 *
 * @category conversions
 */
export const encode = (text: string): string => (special.test(text) ? text.replace(specials, escaped) : text)

/**
 * What `encode` was given.
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
