/**
 * Reads the blocks of Markdown and of plain text: headings, paragraphs, fenced code and tables, by their places in the
 * text. Linear for any text: a line is read once, and only the beginning of a long line is matched.
 *
 * @private
 * @since 0.1.0
 */

/**
 * `meta` is front matter.
 *
 * @category models
 */
export type Kind = "heading" | "prose" | "code" | "table" | "meta"

/**
 * From `start` to `end` in UTF-16 units, without the line break at the end. Blocks are in order and do not overlap;
 * only white space is between them.
 *
 * @category models
 */
export interface Block {
  readonly kind: Kind
  readonly start: number
  readonly end: number
  /** 1 to 6, of a heading. */
  readonly level?: number | undefined
  /** The text of a heading without its marks. */
  readonly title?: string | undefined
}

/** Characters of a line that are matched. */
const LOOK = 1_000
/** Characters of a title. */
const MAX_TITLE = 200
/** Characters of front matter. */
const MAX_META = 20_000

interface Line {
  readonly start: number
  /** Without the line break. */
  readonly end: number
  /** Where the next line begins. */
  readonly next: number
  /** The beginning of the line. */
  readonly text: string
}

const RETURN = 13

const lineAt = (text: string, start: number): Line => {
  const found = text.indexOf("\n", start)
  const next = found < 0 ? text.length : found + 1
  let end = found < 0 ? text.length : found
  if (end > start && text.charCodeAt(end - 1) === RETURN) end--
  return { start, end, next, text: text.slice(start, Math.min(end, start + LOOK)) }
}

const isBlank = ({ end, start, text }: Line): boolean => end - start === text.length && text.trim() === ""

const atx = /^ {0,3}(#{1,6})(?=[ \t]|$)/

/** A title without closing marks, emphasis, code marks, links and tags. */
const titleOf = (raw: string): string =>
  raw
    .slice(0, 2 * MAX_TITLE)
    .trim()
    .replace(/(?:^|[ \t])#{1,16}$/, "")
    .replace(/<[^<>]{0,200}>/g, "")
    .replace(/!?\[([^[\]]{0,200})\]\([^()\s]{0,300}\)/g, "$1")
    .replace(/[`*]/g, "")
    .trim()
    .slice(0, MAX_TITLE)

/** The fence that a line opens: its character and length. */
const fenceOf = ({ text }: Line): { readonly mark: string; readonly length: number } | undefined => {
  const indent = /^ {0,3}/.exec(text)?.[0].length ?? 0
  const mark = text[indent]
  if (mark !== "`" && mark !== "~") return undefined
  let end = indent
  while (text[end] === mark) end++
  const length = end - indent
  if (length < 3 || (mark === "`" && text.includes("`", end))) return undefined
  return { mark, length }
}

const closes = (line: Line, { length, mark }: { readonly mark: string; readonly length: number }): boolean => {
  const found = fenceOf(line)
  if (found === undefined || found.mark !== mark || found.length < length) return false
  return line.text.trim() === mark.repeat(found.length) && line.text.length === line.end - line.start
}

const delimiter = /^ {0,3}[|:-][ \t|:-]*$/

/** Whether the line is the second one of a table. */
const isDelimiter = ({ end, start, text }: Line): boolean =>
  text.length === end - start && text.includes("|") && text.includes("-") && delimiter.test(text)

const underline = /^ {0,3}(?:={1,200}|-{2,200})[ \t]*$/

/** The blocks so far, and a paragraph that is not finished. */
class Reader {
  readonly blocks: Array<Block> = []
  private from = -1
  private to = -1
  private lines = 0

  constructor(readonly text: string) {}

  add(block: Block): void {
    this.finish()
    if (block.end > block.start) this.blocks.push(block)
  }

  extend(line: Line): void {
    if (this.from < 0) this.from = line.start
    this.to = line.end
    this.lines++
  }

  finish(): void {
    if (this.from >= 0) this.blocks.push({ kind: "prose", start: this.from, end: this.to })
    this.forget()
  }

  /** Turns a paragraph of one short line into a heading. */
  underlined(line: Line): boolean {
    if (this.lines !== 1 || this.to - this.from > MAX_TITLE || !underline.test(line.text)) return false
    const title = titleOf(this.text.slice(this.from, this.to))
    if (title === "") return false
    const level = line.text.includes("=") ? 1 : 2
    this.blocks.push({ kind: "heading", start: this.from, end: line.end, level, title })
    this.forget()
    return true
  }

  private forget(): void {
    this.from = -1
    this.lines = 0
  }
}

/** Reads front matter and returns where it ends. */
const readMeta = (reader: Reader): number => {
  const { text } = reader
  const first = lineAt(text, text.charCodeAt(0) === 0xfeff ? 1 : 0)
  if (first.text !== "---" || first.next >= text.length) return 0
  for (let line = lineAt(text, first.next); line.start < MAX_META; line = lineAt(text, line.next)) {
    if (line.text === "---" || line.text === "...") {
      reader.add({ kind: "meta", start: first.start, end: line.end })
      return line.next
    }
    if (line.next >= text.length) return 0
  }
  return 0
}

/** Reads a fenced block, which an end of the text closes, and returns where it ends. */
const readCode = (reader: Reader, first: Line, fence: { readonly mark: string; readonly length: number }): number => {
  const { text } = reader
  let end = first.end
  let at = first.next
  while (at < text.length) {
    const line = lineAt(text, at)
    at = line.next
    if (!isBlank(line)) end = line.end
    if (closes(line, fence)) break
  }
  reader.add({ kind: "code", start: first.start, end })
  return at
}

const readTable = (reader: Reader, first: Line): number => {
  const { text } = reader
  let end = first.end
  let at = first.next
  while (at < text.length) {
    const line = lineAt(text, at)
    if (isBlank(line) || !line.text.includes("|")) break
    end = line.end
    at = line.next
  }
  reader.add({ kind: "table", start: first.start, end })
  return at
}

/**
 * @category conversions
 */
export const markdown = (text: string): ReadonlyArray<Block> => {
  const reader = new Reader(text)
  let at = readMeta(reader)
  while (at < text.length) {
    const line = lineAt(text, at)
    at = line.next
    if (isBlank(line)) {
      reader.finish()
      continue
    }
    const fence = fenceOf(line)
    if (fence !== undefined) {
      reader.finish()
      at = readCode(reader, line, fence)
      continue
    }
    const heading = atx.exec(line.text)
    const isShort = line.end - line.start <= LOOK
    if (heading !== null && isShort) {
      const title = titleOf(line.text.slice(heading[0].length))
      reader.add({ kind: "heading", start: line.start, end: line.end, level: heading[1]!.length, title })
    } else if (isShort && line.text.includes("|") && at < text.length && isDelimiter(lineAt(text, at))) {
      reader.finish()
      at = readTable(reader, line)
    } else if (!reader.underlined(line)) reader.extend(line)
  }
  reader.finish()
  return reader.blocks
}

/**
 * Paragraphs of a text without marks.
 *
 * @category conversions
 */
export const plain = (text: string): ReadonlyArray<Block> => {
  const reader = new Reader(text)
  for (let at = 0; at < text.length; ) {
    const line = lineAt(text, at)
    at = line.next
    if (isBlank(line)) reader.finish()
    else reader.extend(line)
  }
  reader.finish()
  return reader.blocks
}

/** Characters of a text that are searched for its title. */
const TITLED = 20_000

/**
 * The title that a Markdown text gives itself: in its front matter, otherwise in its first heading, if that is of level
 * 1.
 *
 * @category getters
 */
export const titleIn = (text: string): string | undefined => {
  const blocks = markdown(text.slice(0, TITLED))
  const [first] = blocks
  if (first?.kind === "meta") {
    const found = /^title:[ \t]*(.{1,300})$/m.exec(text.slice(first.start, first.end))?.[1]
    const title = found === undefined ? "" : titleOf(found.trim().replace(/^["']|["']$/g, ""))
    if (title !== "") return title
  }
  const heading = blocks.find(({ kind }) => kind === "heading")
  return heading?.level === 1 && heading.title !== "" ? heading.title : undefined
}
