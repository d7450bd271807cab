/**
 * Finds rows of digits that may be telephone numbers: groups of digits with a few separators and parentheses between
 * them.
 *
 * @private
 * @since 0.1.0
 */

/** A prefix of a row that ends with one of its groups. */
export interface Piece {
  readonly end: number
  readonly digits: string
  readonly isBalanced: boolean
}

export interface Row {
  readonly start: number
  /** End of the last group; absent if the row continues beyond the length of a number. */
  readonly end: number
  /** Longest first. */
  readonly pieces: ReadonlyArray<Piece>
}

interface Options {
  /** Most digits of a row. */
  readonly most: number
  /** Fewest digits of a piece. */
  readonly least: number
  /** Most separators between two digits. */
  readonly widest: number
  /** Tells whether a row may end at an index of the text. */
  readonly isEnd: (text: string, at: number) => boolean
}

const fewest = 7

/**
 * Most gaps of a number that have a parenthesis or several characters. A national number begins only after such a gap,
 * so this bounds the number of rows that contain a digit.
 */
const mostWideGaps = 3

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Space, point, slash, hyphen. */
const isSeparator = (code: number): boolean => code === 32 || (code >= 45 && code <= 47)

const isAlphanumeric = (code: number): boolean =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)

const open = 40
const close = 41

class Reader {
  private readonly pieces: Array<Piece & { readonly isOpen: boolean }> = []
  private digits = ""
  private depth = 0
  private isBroken = false
  private wideGaps = 0
  private last = -1

  constructor(
    private readonly text: string,
    private readonly start: number,
    private readonly options: Options
  ) {}

  /** Reads the row that starts with a parenthesis or a digit at `from`. */
  read(from: number): Row | undefined {
    const { options, text } = this
    let at = from
    if (text.charCodeAt(at) === open) {
      this.depth++
      at++
    }
    for (;;) {
      const begin = at
      const limit = begin + options.most - this.digits.length
      while (at < limit && isDigit(text.charCodeAt(at))) at++
      if (at === begin) break
      this.digits += text.slice(begin, at)
      if (isDigit(text.charCodeAt(at))) break
      this.endGroup(at)
      const next = this.gap(at)
      if (next < 0 || this.wideGaps > mostWideGaps || this.digits.length >= options.most) break
      at = next
    }
    if (this.pieces.length === 0) return undefined
    const end = this.wideGaps > mostWideGaps ? Number.POSITIVE_INFINITY : this.last
    const pieces = this.pieces.filter((piece) => piece.end <= end && (!piece.isOpen || piece.end === end))
    return pieces.length === 0 ? undefined : { start: this.start, end, pieces: pieces.reverse() }
  }

  private endGroup(at: number): void {
    const { digits, options, text } = this
    if (digits.length >= fewest && options.isEnd(text, at)) this.last = at
    if (digits.length < options.least) return
    const isClosed = text.charCodeAt(at) === close
    this.pieces.push({ end: at, digits, isBalanced: !this.isBroken && this.depth === 0, isOpen: isClosed })
    if (isClosed) {
      this.pieces.push({ end: at + 1, digits, isBalanced: !this.isBroken && this.depth === 1, isOpen: false })
    }
  }

  /** Start of the next group; -1 if there is none. */
  private gap(from: number): number {
    const { text } = this
    const { widest } = this.options
    let at = from
    while (at - from < widest && isSeparator(text.charCodeAt(at))) at++
    let width = at - from
    const code = text.charCodeAt(at)
    if (width < widest && (code === open || code === close)) {
      this.depth += code === open ? 1 : -1
      if (this.depth < 0 || this.depth > 1) this.isBroken = true
      width += 2
      at++
      if (isSeparator(text.charCodeAt(at))) at++
    }
    if (width > 1) this.wideGaps++
    return isDigit(text.charCodeAt(at)) ? at : -1
  }
}

const prefix = /(?<![A-Za-z0-9_+])(?<![0-9][.,]?)(?:\+ ?|00 ?)\(?[1-9]/g

const international: Options = {
  most: 18,
  least: fewest,
  widest: 3,
  isEnd: (text, at) => {
    const code = text.charCodeAt(at)
    return !isAlphanumeric(code) && code !== 95
  }
}

/** Two of the digits are the prefix. */
const internationalByZeros: Options = { ...international, least: fewest - 2 }

/** Returns the rows after `+` or `00`, with the digits after the prefix. */
export const internationalIn = (text: string): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  prefix.lastIndex = 0
  while (prefix.test(text)) {
    let from = prefix.lastIndex - 1
    if (text.charCodeAt(from - 1) === open) from--
    const sign = text.charCodeAt(from - 1) === 32 ? from - 2 : from - 1
    const isPlus = text[sign] === "+"
    const start = isPlus ? sign : sign - 1
    const row = new Reader(text, start, isPlus ? international : internationalByZeros).read(from)
    if (row !== undefined) rows.push(row)
    prefix.lastIndex = start + 1
  }
  return rows
}

const notBefore = "_+#$€£¥@&?"
const notBehind = "_%€$£°"
const money = "€$£%"

const isHomeEnd = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  if (at >= text.length) return true
  if (isAlphanumeric(code) || notBehind.includes(text[at] as string)) return false
  if (isAlphanumeric(text.charCodeAt(at + 1))) {
    // `./:+-` or a comma before one or two digits.
    if ((code >= 45 && code <= 47) || code === 58 || code === 43) return false
    if (code === 44 && isDigit(text.charCodeAt(at + 1))) {
      return isDigit(text.charCodeAt(at + 2)) && isDigit(text.charCodeAt(at + 3))
    }
  }
  return !money.includes(text[code === 32 ? at + 1 : at] ?? " ")
}

const isMark = (code: number): boolean => code === 46 || code === 47 || code === 58 || code === 92

const isHomeStart = (text: string, at: number): boolean => {
  if (at === 0) return true
  const before = text.charCodeAt(at - 1)
  if (isAlphanumeric(before) || notBefore.includes(text[at - 1] as string)) return false
  const earlier = text.charCodeAt(at - 2)
  if (isMark(before) && isMark(earlier)) return false
  if ((before >= 45 && before <= 47) || before === open) return !isAlphanumeric(earlier)
  return (before !== 58 && before !== 32) || !isDigit(earlier)
}

const home: Options = { most: 14, least: fewest, widest: 4, isEnd: isHomeEnd }

/** Returns the rows without a prefix, including those that begin within others. */
export const homeIn = (text: string): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isStart = isDigit(code) || (code === open && isDigit(text.charCodeAt(at + 1)))
    if (!isStart || !isHomeStart(text, at)) continue
    const row = new Reader(text, at, home).read(at)
    if (row !== undefined) rows.push(row)
  }
  return rows
}
