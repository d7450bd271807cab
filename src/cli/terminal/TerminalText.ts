/**
 * Text for terminals: colors, and what others wrote without what would move the cursor.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type * as Screen from "./Screen.js"

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

/**
 * @category models
 */
export type Style = keyof typeof codes

/**
 * @category combinators
 */
export const paint = ({ hasColors }: Pick<Screen.Service, "hasColors">, style: Style, text: string): string =>
  hasColors && text !== "" ? `\u001b[${codes[style]}m${text}\u001b[0m` : text

/**
 * Text of models, tools and people with its lines: other controls and what is invisible are shown by their code points.
 *
 * @category conversions
 */
export const plain = (text: string): string =>
  text.replace(/\r\n?/g, "\n").replace(/[^\n\t]+/g, (line) => VisibleText.visible(line))

/**
 * One line of at most `most` characters.
 *
 * @category conversions
 */
export const line = (value: unknown, most: number): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value))
  const flat = VisibleText.visible(
    text
      .slice(0, 4 * most)
      .replace(/\s+/g, " ")
      .trim()
  )
  return flat.length <= most && text.length <= 4 * most ? flat : `${flat.slice(0, Math.max(0, most - 1))}…`
}

/**
 * How much there is of something.
 *
 * @category conversions
 */
export const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`

/**
 * @category conversions
 */
export const duration = (millis: number): string =>
  millis < 1000 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(1)} s`

/**
 * A time of day in UTC, of milliseconds since the epoch.
 *
 * @category conversions
 */
export const time = (millis: number): string =>
  Option.match(DateTime.make(millis), {
    onNone: () => "?",
    onSome: (at) => DateTime.formatIso(at).slice(0, 19).replace("T", " ")
  })

/**
 * Named values, one a line. Those that are empty are left out.
 *
 * @category conversions
 */
export const fields = (
  screen: Pick<Screen.Service, "hasColors">,
  named: ReadonlyArray<readonly [name: string, value: string]>
): string =>
  named
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `${paint(screen, "dim", name.padEnd(10))} ${line(value, 400)}\n`)
    .join("")

/** Columns of a text that has no controls: a character that is not ASCII takes two at most. */
const widthOf = (text: string): number => {
  let width = 0
  for (const character of text) width += (character.codePointAt(0) ?? 0) < 128 ? 1 : 2
  return width
}

/**
 * Rows with aligned columns. The last column takes what the line has left.
 *
 * @category conversions
 */
export const table = (
  screen: Pick<Screen.Service, "hasColors" | "columns">,
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): string => {
  const cells = [head, ...rows].map((row) => row.map((cell) => line(cell, 200)))
  const widths = head.map((_, i) => Math.max(...cells.map((row) => widthOf(row[i] ?? ""))))
  const last = head.length - 1
  const before = widths.slice(0, last).reduce((sum, width) => sum + width + 2, 0)
  const most = Math.max(10, screen.columns() - before)
  return cells
    .map((row, index) => {
      const texts = row.map((cell, i) =>
        i === last ? (VisibleText.wrap(cell, most)[0] ?? "") : cell + " ".repeat((widths[i] ?? 0) - widthOf(cell))
      )
      const text = texts.join("  ").trimEnd()
      return `${index === 0 ? paint(screen, "dim", text) : text}\n`
    })
    .join("")
}
