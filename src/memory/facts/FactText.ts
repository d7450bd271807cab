/**
 * Normalizes the texts that facts are compared by.
 *
 * @private
 * @since 0.1.0
 */
import * as Sha256 from "../../internal/text/Sha256.js"

/** Maximum length of a key that is stored in full. A longer one is its beginning and a digest. */
const maxWhole = 256
const maxBeginning = 190

const lone = /\p{Cs}/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: no database takes all of them
const blank = /[\s\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g

/**
 * For display: replaces runs of white space and invisible characters by one space.
 *
 * @category conversions
 */
export const plain = (text: string): string => text.replace(lone, "\ufffd").replace(blank, " ").trim()

/** Superscripts, subscripts and fractions after a digit: as plain digits they would change the number. */
const raised = /[\u00b2\u00b3\u00b9\u2070-\u209c]+/g
const fraction = /(?<=\p{Nd})[\u00bc-\u00be\u2150-\u215e]/gu

const folded = (text: string): string =>
  plain(text.replace(raised, "^$&").replace(fraction, " $&").normalize("NFKC").toLowerCase().normalize("NFC"))

/**
 * Equal for texts that differ in case, spaces and Unicode form. At most 256 characters; empty for a text without
 * visible characters.
 *
 * @category conversions
 */
export const key = (text: string): string => {
  const whole = folded(text)
  return whole.length <= maxWhole ? whole : `${whole.slice(0, maxBeginning).replace(lone, "")}#${Sha256.hex(whole)}`
}

/**
 * The prefix of the keys of texts with this prefix. Of a prefix that is longer than keys keep, only the first
 * characters count.
 *
 * @category conversions
 */
export const prefix = (text: string): string => {
  // A trailing space must not end a word.
  const whole = folded(`${text}.`).slice(0, -1)
  return whole.length <= maxBeginning ? whole : whole.slice(0, maxBeginning).replace(lone, "")
}

const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}][\p{M}]*|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}\p{N}])+/gu

/**
 * The words, each with a space before and after it, so that a text contains another as whole words exactly if its words
 * include the other's. In scripts without spaces each character is a word. Empty if there are none.
 *
 * @category conversions
 */
export const words = (text: string): string => {
  const found = folded(text).match(word)
  return found === null ? "" : ` ${found.join(" ")} `
}
