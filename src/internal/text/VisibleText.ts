/**
 * Prepares external text for a terminal: no character moves the cursor, is invisible, or changes the direction of its
 * surroundings.
 *
 * @since 0.1.0
 */

// Controls, formats (bidirectional marks, zero-width and tag characters), line ends, private use, unassigned, lone
// surrogates. \p{Default_Ignorable_Code_Point} adds fillers and variation selectors.
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}}`

/**
 * Replaces every invisible character, line ends included, by its code point: the result is one line.
 *
 * @since 0.1.0
 * @category conversions
 */
export const visible = (text: string): string => text.replace(unseen, escaped)

/**
 * Splits a line at `width` columns, so that the text cannot choose where a line begins. A non-ASCII character counts as
 * two.
 *
 * @since 0.1.0
 * @category conversions
 */
export const wrap = (line: string, width: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let from = 0
  let at = 0
  let used = 0
  for (const character of line) {
    const columns = (character.codePointAt(0) as number) < 128 ? 1 : 2
    if (used + columns > width && at > from) {
      lines.push(line.slice(from, at))
      from = at
      used = 0
    }
    at += character.length
    used += columns
  }
  lines.push(line.slice(from))
  return lines
}
