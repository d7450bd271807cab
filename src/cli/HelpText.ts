/**
 * Makes the help of `@effect/cli` fit a terminal: a line of a list of commands has the name and what it does, and the
 * flags are in the help of the command.
 *
 * @private
 * @since 0.1.0
 */
import * as VisibleText from "../internal/text/VisibleText.js"

const ITEM = "  - "

/** The name of a command and what it does, of a line that has its flags between them. */
const itemOf = (line: string): readonly [string, string] => {
  const text = line.slice(ITEM.length).trimEnd()
  const gap = text.lastIndexOf("  ")
  const words = text.slice(0, gap === -1 ? text.length : gap).split(" ")
  const end = words.findIndex((word) => /^[[(<]/.test(word))
  return [
    words
      .slice(0, end === -1 ? words.length : end)
      .join(" ")
      .trim(),
    gap === -1 ? "" : text.slice(gap).trim()
  ]
}

/**
 * The text of a help without colors. Lists of commands have two columns.
 *
 * @category conversions
 */
export const compact = (text: string, columns: number): string => {
  const [before = "", list] = text.split(/^COMMANDS$/m)
  if (list === undefined) return text
  const items = list.split("\n").filter((line) => line.startsWith(ITEM))
  const rows = items.map(itemOf)
  const width = Math.max(0, ...rows.map(([name]) => name.length))
  const lines = rows.flatMap(([name, about]) =>
    VisibleText.wrap(about, Math.max(20, columns - width - 6)).map((part, i) =>
      `  ${(i === 0 ? name : "").padEnd(width)}  ${part}`.trimEnd()
    )
  )
  return `${before}COMMANDS\n\n${lines.join("\n")}\n`
}
