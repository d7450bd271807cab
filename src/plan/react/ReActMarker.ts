/**
 * The markers of the ReAct text protocol: their positions in a text, and the lines between them. Every function takes
 * time linear in the text it reads.
 *
 * @private
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export type Kind = "thought" | "action" | "input" | "observation" | "final" | "answer"

/**
 * @since 0.1.0
 * @category models
 */
export interface Marker {
  readonly kind: Kind
  /** Start of its line. */
  readonly line: number
  /** End of its line, exclusive. */
  readonly lineEnd: number
  /** The beginning of its content. */
  readonly content: number
}

/**
 * Maximum characters read of a line, so that no line is slow.
 *
 * @since 0.1.0
 * @category constants
 */
export const window = 96

/**
 * In the order of the groups of the pattern below.
 *
 * @since 0.1.0
 * @category constants
 */
export const kinds: ReadonlyArray<Kind> = ["thought", "input", "action", "observation", "final", "answer"]

/**
 * The markers that end an input. `Answer:` does not: it is too common a word at the start of a line.
 *
 * @since 0.1.0
 * @category constants
 */
export const boundaries: ReadonlyArray<Kind> = ["thought", "input", "action", "observation", "final"]

const pattern =
  /^\ufeff?[ \t]{0,32}(?:(?:#{1,6}|[-+•]|\*(?!\*)|\d{1,3}[.)])[ \t]{1,4})?([*_`]{0,3})(?:(thoughts?)|(action(?:[ _-]{0,2}\d{1,4})?[ _-]{0,2}input)|(action)|(observation)|(final[ _-]{0,2}answer)|(answer))(?:[ _-]{0,2}#?\d{1,4})?[.)]?([*_`]{0,3})[ \t]{0,4}[:：]([*_`]{0,3})/i

/**
 * The end of the line that contains `from`, exclusive.
 *
 * @since 0.1.0
 * @category getters
 */
export const endOfLine = (text: string, from: number): number => {
  const index = text.indexOf("\n", from)
  return index === -1 ? text.length : index
}

/**
 * The first start of a line at or after `from`, which is greater than 0.
 *
 * @since 0.1.0
 * @category getters
 */
export const nextLine = (text: string, from: number): number =>
  text[from - 1] === "\n" ? from : Math.min(endOfLine(text, from) + 1, text.length)

/**
 * Whether a line, without its indent, opens or closes a fenced block.
 *
 * @since 0.1.0
 * @category getters
 */
export const isFence = (line: string): boolean => line.startsWith("```") || line.startsWith("~~~")

/**
 * The marker at the beginning of a line.
 *
 * @since 0.1.0
 * @category getters
 */
export const at = (text: string, line: number): Marker | undefined => {
  const match = pattern.exec(text.slice(line, line + window))
  if (match === null) return undefined
  const opened = match[1]!
  const behind = match[9]!
  // `**Action:** x` closes its emphasis after the colon; in `Action:*.txt` the asterisk belongs to the content.
  const own = opened !== "" && match[8] === "" ? Math.min(opened.length, behind.length) : 0
  const kind = kinds[match.slice(2, 8).findIndex((group) => group !== undefined)]!
  return { kind, line, lineEnd: endOfLine(text, line), content: line + match[0].length - behind.length + own }
}

/**
 * The first marker of the wanted kinds on a line at or after `from`, which is the start of a line.
 *
 * @since 0.1.0
 * @category getters
 */
export const next = (text: string, from: number, wanted: ReadonlyArray<Kind>): Marker | undefined => {
  for (let line = from; line < text.length; line = endOfLine(text, line) + 1) {
    const marker = at(text, line)
    if (marker !== undefined && wanted.includes(marker.kind)) return marker
  }
  return undefined
}

const words = ["thoughts", "action", "observation", "final", "answer"]

const beginnings = words.flatMap((word) => Array.from(word, (_, index) => word.slice(0, index + 1))).join("|")

// It may exceed the pattern, never fall short: a line it lets through only waits.
const beginning = new RegExp(
  `^[\\s#+•*_\`~.)\\d-]*(?:(?:${words.join("|")}|thought)[\\s\\w#.)*\`-]*|${beginnings})?$`,
  "i"
)

/**
 * Whether more text can no longer change the result of `at` for a line that is still being written, nor whether it is a
 * fence.
 *
 * @since 0.1.0
 * @category getters
 */
export const isDecided = (line: string): boolean => {
  const start = line.slice(0, window)
  if (start.length === window) return true
  const colon = start.search(/[:：]/)
  if (colon === -1) return !beginning.test(start)
  if (at(start, 0) === undefined) return true
  return /^(?:[*_`]{3}|[*_`]{0,2}[^*_`])/.test(start.slice(colon + 1))
}
