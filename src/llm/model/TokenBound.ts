/**
 * Computes an upper bound of the tokens of a text under byte pair encodings, without their vocabulary.
 *
 * @private
 * @since 0.1.0
 */

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
