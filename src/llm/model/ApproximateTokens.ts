/**
 * An approximate count of tokens by script, without a vocabulary.
 *
 * @private
 * @since 0.1.0
 */

/**
 * Tokens per UTF-16 unit outside ASCII, by script; the high values are for scripts that tokenizers have no merges for.
 */
const weight = (code: number): number => {
  if (code < 0x370) return 0.6 // Latin with marks
  if (code < 0x590) return 0.5 // Greek, Cyrillic, Armenian
  if (code < 0x780) return 0.75 // Hebrew, Arabic
  if (code < 0x1100) return 1.1 // the scripts of India, Thai, Georgian and others
  if (code < 0x2e80) return 1 // Hangul letters, signs and symbols
  if (code < 0xd800) return 1.15 // Chinese, Japanese, Korean
  if (code < 0xe000) return 1.5 // half of a pair: emoji, rare characters
  return 1
}

const wordBase = 0.45
const perLetter = 0.18
const usualWord = 16
const perFurtherLetter = 0.6
const perDigit = 0.6
const perSign = 0.65
const perSpace = 0.15
const perControl = 0.5

/**
 * The approximate number of tokens of a text.
 *
 * @category getters
 */
export const approximateCount = (text: string): number => {
  let total = 0
  let letters = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if ((code >= 97 && code <= 122) || (code >= 65 && code <= 90)) {
      letters++
      total += letters === 1 ? wordBase + perLetter : letters <= usualWord ? perLetter : perFurtherLetter
      continue
    }
    letters = 0
    if (code >= 48 && code <= 57) total += perDigit
    else if (code === 32) total += index > 0 && text.charCodeAt(index - 1) === 32 ? perSpace : 0
    else if (code < 32) total += perControl
    else if (code < 128) total += perSign
    else total += weight(code)
  }
  return Math.ceil(total)
}

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90)

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** The end of the run of one kind that begins at `from`. */
const runEnd = (text: string, from: number, is: (code: number) => boolean): number => {
  let to = from
  while (to < text.length && is(text.charCodeAt(to))) to++
  return to
}

const isSpace = (code: number): boolean => code === 32

/** UTF-8 bytes of a UTF-16 unit; each half of a pair counts two. */
const bytesOf = (code: number): number => (code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3)

/**
 * Never below the true count of `cl100k_base` and `o200k_base`. A token has at least one byte, three digits are one
 * token, four spaces are at most one, and the space before a word joins it. English text counts three to four times too
 * high.
 *
 * @category getters
 */
export const tokenBound = (text: string): number => {
  let total = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (isDigit(code)) {
      const end = runEnd(text, at, isDigit)
      total += Math.ceil((end - at) / 3)
      at = end
    } else if (isSpace(code)) {
      const end = runEnd(text, at, isSpace)
      // The last space of a run joins a following letter, and is a token of its own before anything else.
      total += Math.ceil((end - at - 1) / 4) + (isLetter(text.charCodeAt(end)) ? 0 : 1)
      at = end
    } else {
      total += code < 128 ? 1 : bytesOf(code)
      at++
    }
  }
  return total
}
