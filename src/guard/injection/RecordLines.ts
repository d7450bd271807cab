/**
 * Finds records written line by line: names and values of YAML and headers, and tables with cells separated by commas,
 * semicolons, tabs or bars.
 *
 * @since 0.1.0
 * @private
 */
import * as Stepwise from "../../internal/fiber/Stepwise.js"
import type * as Steps from "../pipeline/Steps.js"
import { bits, lexicon } from "./InjectionLexicon.js"
import * as InjectionText from "./InjectionText.js"
import * as InjectionWords from "./InjectionWords.js"

/** A piece of a text and its replacement. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Ends a sentence and a line. */
export const boundary = "\n\n"

const instructive =
  bits.instructions |
  bits.prompt |
  bits.prior |
  bits.fresh |
  bits.persona |
  bits.unbound |
  bits.safety |
  bits.onward |
  bits.encoded

/** Name, colon and value. */
const shortestOrder = 5

/**
 * True for text about a model's instructions. Such a name and its value are read literally where only a colon marks the
 * name: `ignore: previous instructions` is an order on its own line, also within a list of settings.
 */
export const isInstructive = (text: string): boolean =>
  text.length >= shortestOrder &&
  InjectionWords.words(InjectionText.fold(text), lexicon()).some(({ mask }) => (mask & instructive) !== 0)

interface Line {
  readonly start: number
  readonly end: number
  readonly text: string
}

function* linesOf(text: string, pace: Stepwise.Pace): Steps.Steps<ReadonlyArray<Line>> {
  const lines: Array<Line> = []
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf("\n", start)
    const end = found < 0 ? text.length : found
    lines.push({ start, end, text: text.slice(start, end) })
    // Scanning is cheaper than processing.
    if (pace.isDue((end - start) / 4 + 2)) yield
    start = end + 1
  }
  return lines
}

const keyed =
  /^(?<lead>[ \t"']{0,64}(?:- ){0,4})(?<key>["']?[\p{L}_$][\p{L}\p{N}_$./-]{0,47}(?: [\p{L}\p{N}_$./-]{1,47}){0,3}["']?[ \t]{0,8}:)(?=[ \t\r]|$)/u

/** Lines allowed between two names: empty, a comment, a document border, an item, or indented text. */
const between = /^(?:[ \t\r]*$|[ \t]*#|---|\.\.\.|[ \t]*- |[ \t]{2})/

const mostShown = 200

/** Fixed cost of a line, in characters. */
const perLine = 16

/** Finds two or more lines that begin with a name and a colon. */
function* settings(
  lines: ReadonlyArray<Line>,
  from: number,
  edits: Array<Edit>,
  pace: Stepwise.Pace
): Steps.Steps<number> {
  const found: Array<Edit> = []
  let at = from
  for (; at < lines.length; at++) {
    const line = lines[at]!
    if (pace.isDue(line.text.length + perLine)) yield
    const groups = keyed.exec(line.text)?.groups
    if (groups === undefined) {
      if (between.test(line.text)) continue
      break
    }
    const start = line.start + groups["lead"]!.length
    const isKept = isInstructive(line.text.slice(0, mostShown))
    found.push({ start, end: isKept ? start : start + groups["key"]!.length, text: boundary })
  }
  if (found.length > 1) for (const edit of found) edits.push(edit)
  return at
}

const separators = [",", ";", "\t", "|"] as const

/** Starts and ends of the cells of a line. A separator in quotation marks is text. */
const cellsOf = (line: Line, separator: string): ReadonlyArray<Line> => {
  const cells: Array<Line> = []
  const { text } = line
  let begin = 0
  let isQuoted = false
  for (let i = 0; i <= text.length; i++) {
    const char = text[i]
    if (char === '"') isQuoted = !isQuoted
    if (i < text.length && (char !== separator || isQuoted)) continue
    cells.push({ start: line.start + begin, end: line.start + i, text: text.slice(begin, i) })
    begin = i + 1
  }
  return cells
}

const heading =
  /^[ \t]{0,8}["']?[\p{L}_][\p{L}\p{N}_./#()-]{0,40}(?: [\p{L}\p{N}_./#()-]{1,40}){0,2}["']?[ \t\r]{0,8}$/u
const rule = /^[ \t|:-]{3,}\r?$/

const isHeading = (cells: ReadonlyArray<Line>, separator: string): boolean => {
  // Bars may also enclose a line.
  const named = separator === "|" ? cells.filter(({ text }) => text.trim() !== "") : cells
  // A sentence has spaces after its commas.
  const fewest = separator === "," && named.some(({ text }) => text.startsWith(" ")) ? 3 : 2
  return (
    named.length >= fewest &&
    named.every(({ text }) => heading.test(text)) &&
    new Set(named.map(({ text }) => text.trim().toLowerCase())).size === named.length
  )
}

/** Finds a line of names followed by lines with as many values. */
function* table(
  lines: ReadonlyArray<Line>,
  from: number,
  edits: Array<Edit>,
  pace: Stepwise.Pace
): Steps.Steps<number> {
  const first = lines[from]!
  if (pace.isDue(first.text.length + perLine)) yield
  for (const separator of separators) {
    if (!first.text.includes(separator)) continue
    const names = cellsOf(first, separator)
    if (!isHeading(names, separator)) continue
    const found: Array<Edit> = []
    let at = from + 1
    for (; at < lines.length; at++) {
      const line = lines[at]!
      if (pace.isDue(line.text.length + perLine)) yield
      if (separator === "|" && rule.test(line.text)) continue
      const cells = cellsOf(line, separator)
      if (cells.length !== names.length) break
      for (const { start } of cells) found.push({ start, end: start, text: boundary })
    }
    if (found.length === 0) continue
    edits.push({ start: first.start, end: first.end, text: boundary })
    for (const edit of found) edits.push(edit)
    return at
  }
  return from + 1
}

/** Finds the edits that replace names and borders. Takes time linear in the text. */
export function* find(text: string): Steps.Steps<ReadonlyArray<Edit>> {
  const edits: Array<Edit> = []
  const pace = new Stepwise.Pace()
  const lines = yield* linesOf(text, pace)
  if (lines.length < 2) return edits
  for (let at = 0; at < lines.length; ) {
    const line = lines[at]!
    at = yield* (keyed.test(line.text) ? settings : table)(lines, at, edits, pace)
  }
  return edits
}
