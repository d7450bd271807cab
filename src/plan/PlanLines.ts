/**
 * The lines of a text, and the markers by which they announce steps of a plan.
 *
 * @private
 * @since 0.1.0
 */

/** How a line announces a step. The first kind that occurs in a text makes its steps. */
export type Marker = "label" | "numbered-heading" | "number" | "bullet" | "tag" | "decimal" | "heading"
export const markers: ReadonlyArray<Marker> = [
  "label",
  "numbered-heading",
  "number",
  "bullet",
  "tag",
  "decimal",
  "heading"
]

export interface Line {
  readonly start: number
  readonly end: number
  readonly indent: number
  /** Trimmed. */
  readonly text: string
  readonly marker: Marker | undefined
  readonly number: string | undefined
  /** The level of a heading; 0 for every other line. */
  readonly level: number
  /** The text after the marker. */
  readonly rest: string
}

// The beginning of a line decides what it is: no pattern looks further, however long the line is.
export const HEAD = 240

const heading = /^(#{1,6})[ \t]+/
const bullet = /^(?:[-*+•‣▪◦·–—][ \t]+(?:\[[ xX]\][ \t]+)?|[-*+•‣▪◦·–—]$)/
const label =
  /^step[ \t]{0,4}#?(\d{1,6}(?:\.\d{1,6}){0,6})(?:[ \t]{0,4}(?:[:.)、：]|[-–—](?=[ \t]))[ \t]*|(?=[*_`]{1,3}[ \t]{0,4}(?:[:：.)–—-]|$))|$)/i
// Four digits are a year.
const number =
  /^\(?(\d{1,3}(?:\.\d{1,6}){0,6})(?:[.)\]:、．：](?:[ \t]+|$|(?=[*_[`\p{L}]))|(?=[*_`]{1,3}[:.])|(?<=\.\d{1,6})[ \t]+)/u
const emphasis = /^(?:\*{1,3}|_{1,3}|`)(?=[^\s*_`])/
export const tag =
  /^[*_`]{0,3}\[[ \t]*(?:tool[ \t]{0,4}[:：=][ \t]{0,4}([^\][\n]{1,128})|(?:reason(?:ing)?|think|llm))[ \t]{0,8}\][*_`]{0,3}[:：]?[ \t]*/i
const rule = /^(?:-[ \t]*){3,}$|^(?:\*[ \t]*){3,}$|^(?:_[ \t]*){3,}$|^={3,}$/
export const fence = /^(`{3,}|~{3,})/
export const planMarker =
  /^(?:(?:the|my|our|here is the|here's the|final|new|revised|updated)[ \t]{1,4})?plan[*_`]{0,3}[ \t]{0,4}(?:[:：][*_`]{0,3}[ \t]*|$)/i

const indentOf = (line: string): number => {
  let indent = 0
  for (let i = 0; i < line.length; i++) {
    const char = line[i]
    if (char === " ") indent++
    else if (char === "\t") indent += 4
    else break
  }
  return indent
}

/** Removes the closing emphasis of a text whose opening one was removed, or restores the opening one. */
const closeEmphasis = (open: string, rest: string): string => {
  if (open === "") return rest
  if (rest.startsWith(open)) return rest.slice(open.length).replace(/^[ \t]{0,4}[:：.)–—-]?[ \t]*/, "")
  if (rest.endsWith(open)) return rest.slice(0, -open.length).trimEnd()
  return rest === "" ? rest : open + rest
}

export const read = (text: string, start: number, end: number): Line => {
  const raw = text.slice(start, end)
  const indent = indentOf(raw)
  const trimmed = raw.trim()
  const plain = (marker: Marker | undefined, rest: string, level: number = 0, found?: string): Line => ({
    start,
    end,
    indent,
    text: trimmed,
    marker,
    number: found,
    level,
    rest
  })
  if (trimmed === "" || rule.test(trimmed.slice(0, HEAD))) return plain(undefined, "")
  let rest = trimmed
  const level = heading.exec(rest.slice(0, HEAD))?.[1]?.length ?? 0
  if (level > 0) rest = rest.replace(heading, "")
  const item = level === 0 && bullet.test(rest.slice(0, HEAD))
  const bare = item ? rest.slice(bullet.exec(rest.slice(0, HEAD))![0].length) : rest
  const open = emphasis.exec(bare.slice(0, HEAD))?.[0] ?? ""
  const inner = bare.slice(open.length)
  const head = inner.slice(0, HEAD)
  const step = label.exec(head)
  if (step !== null) return plain("label", closeEmphasis(open, inner.slice(step[0].length)), level, step[1])
  if (item) return plain("bullet", bare)
  const numbered = number.exec(head)
  if (numbered !== null) {
    const behind = closeEmphasis(open, inner.slice(numbered[0].length))
    // "1. Step 1: x" announces one step twice.
    const twice = label.exec(behind.slice(0, HEAD))
    if (twice !== null) return plain("label", behind.slice(twice[0].length), level, twice[1])
    // "1.1 x" may be a step, "1.5 liters" is not: only several of them are a plan.
    const marker = /\d[ \t]+$/.test(numbered[0]) ? "decimal" : "number"
    return plain(level > 0 ? "numbered-heading" : marker, behind, level, numbered[1])
  }
  if (level > 0) return plain("heading", rest, level)
  return tag.test(trimmed.slice(0, HEAD)) ? plain("tag", trimmed) : plain(undefined, trimmed)
}

export const all = (text: string): ReadonlyArray<Line> => {
  const lines: Array<Line> = []
  for (let start = 0; start <= text.length; ) {
    const found = text.indexOf("\n", start)
    const end = found < 0 ? text.length : found
    lines.push(read(text, start, end))
    start = end + 1
  }
  return lines
}
