/**
 * Text from outside for a terminal: nothing in it moves the cursor, hides, or turns the direction of what stands around
 * it.
 *
 * @since 0.1.0
 */

// Controls, formats (bidirectional marks, zero-width and tag characters), line ends, private use, unassigned, lone
// surrogates. \p{Default_Ignorable_Code_Point} adds fillers and variation selectors.
const unseen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu

const escaped = (character: string): string =>
  `\\u{${(character.codePointAt(0) as number).toString(16).padStart(4, "0")}}`

/**
 * The text with every character that cannot be seen as its code point, line ends among them: always one line.
 *
 * @since 0.1.0
 * @category conversions
 */
export const visible = (text: string): string => text.replace(unseen, escaped)

/**
 * Lines of at most `width` columns, so that no line begins where the text says. A character that is not ASCII counts as
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
