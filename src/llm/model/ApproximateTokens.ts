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
