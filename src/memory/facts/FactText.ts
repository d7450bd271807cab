/**
 * What facts are compared by.
 *
 * @internal
 * @since 0.1.0
 */
import * as Sha256 from "../../internal/text/Sha256.js"

/** Characters of a key that is kept whole; a longer one is its beginning and a digest. */
const maxWhole = 256
const maxBeginning = 190

const lone = /\p{Cs}/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: no database takes all of them
const blank = /[\s\u0000-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+/g

/**
 * For reading: spaces and characters that show nothing become one space.
 *
 * @category conversions
 */
export const plain = (text: string): string => text.replace(lone, "\ufffd").replace(blank, " ").trim()

/** Raised and lowered figures, and fractions behind a figure: as plain ones they would make another number of it. */
const raised = /[\u00b2\u00b3\u00b9\u2070-\u209c]+/g
const fraction = /(?<=\p{Nd})[\u00bc-\u00be\u2150-\u215e]/gu

const folded = (text: string): string =>
  plain(text.replace(raised, "^$&").replace(fraction, " $&").normalize("NFKC").toLowerCase().normalize("NFC"))

/**
 * Equal for what differs in case, spaces and the forms of Unicode; at most 256 characters, empty when there is nothing
 * to read.
 *
 * @category conversions
 */
export const key = (text: string): string => {
  const whole = folded(text)
  return whole.length <= maxWhole ? whole : `${whole.slice(0, maxBeginning).replace(lone, "")}#${Sha256.hex(whole)}`
}

/**
 * What the keys of texts that begin like this begin with. Only the first characters count of one that is longer than
 * those a key keeps.
 *
 * @category conversions
 */
export const prefix = (text: string): string => {
  // A space at its end shall not end a word.
  const whole = folded(`${text}.`).slice(0, -1)
  return whole.length <= maxBeginning ? whole : whole.slice(0, maxBeginning).replace(lone, "")
}

const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}][\p{M}]*|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}\p{N}])+/gu

/**
 * The words, with a space before, between and behind them, so that one text names another as whole words exactly if it
 * includes its words. Of scripts that write no spaces each character is a word. Empty when there are none.
 *
 * @category conversions
 */
export const words = (text: string): string => {
  const found = folded(text).match(word)
  return found === null ? "" : ` ${found.join(" ")} `
}
