/**
 * Finds where sentences and list items begin. Linear for any text.
 *
 * @private
 * @since 0.1.0
 */

const NEWLINE = 10

const isSpace = (unit: number): boolean => unit === 32 || (unit >= 9 && unit <= 13) || unit === 0xa0 || unit === 0x3000

const isEnd = (unit: number): boolean => unit === 0x2e || unit === 0x21 || unit === 0x3f || unit === 0x2026

/** Full stops of scripts that put no space after them. */
const isWideEnd = (unit: number): boolean => unit === 0x3002 || unit === 0xff01 || unit === 0xff1f || unit === 0xff61

/** Quotes, brackets and emphasis that may follow the end of a sentence. */
const isCloser = (unit: number): boolean =>
  unit === 0x22 ||
  unit === 0x27 ||
  unit === 0x29 ||
  unit === 0x5d ||
  unit === 0x2a ||
  unit === 0x5f ||
  unit === 0x2019 ||
  unit === 0x201d ||
  unit === 0xbb ||
  unit === 0x300d

const abbreviations: ReadonlySet<string> = new Set(
  "e.g i.e etc vs cf dr mr mrs ms prof st no fig eq vol resp approx incl al z.b d.h bzw usw ca p.ex".split(" ")
)

/** Characters before a full stop that are looked at. */
const BACK = 6

const isAbbreviated = (text: string, from: number, stop: number): boolean => {
  const before = text.slice(Math.max(from, stop - BACK), stop).toLowerCase()
  const word = /[\p{L}.]{1,6}$/u.exec(before)?.[0] ?? ""
  return abbreviations.has(word) || /^\p{L}$/u.test(word)
}

const isLower = (text: string, at: number): boolean => /^\p{Ll}/u.test(text.slice(at, at + 2))

const item = /^ {0,12}(?:[-*+]|\d{1,9}[.)])[ \t]/

/**
 * The places from `start` to `end` at which a sentence or a list item begins, ascending, the first one included.
 *
 * @category getters
 */
export const starts = (text: string, start: number, end: number): ReadonlyArray<number> => {
  const found = [start]
  const begin = (at: number): void => {
    if (at < end && at > (found[found.length - 1] as number)) found.push(at)
  }
  for (let at = start; at < end; ) {
    const unit = text.charCodeAt(at)
    if (unit === NEWLINE) {
      at++
      if (item.test(text.slice(at, at + 24))) begin(at)
      continue
    }
    const isWide = isWideEnd(unit)
    if (!isWide && !isEnd(unit)) {
      at++
      continue
    }
    const stop = at
    at++
    while (at < end && (isEnd(text.charCodeAt(at)) || isWideEnd(text.charCodeAt(at)))) at++
    const isSingle = at === stop + 1 && unit === 0x2e
    while (at < end && isCloser(text.charCodeAt(at))) at++
    const after = at
    while (at < end && isSpace(text.charCodeAt(at)) && text.charCodeAt(at) !== NEWLINE) at++
    // A line break is left to the next round, which looks for list items.
    const first = text.charCodeAt(at) === NEWLINE ? at + 1 : at
    if (!isWide && (first === after || (isSingle && (isAbbreviated(text, start, stop) || isLower(text, first)))))
      continue
    begin(first)
  }
  return found
}
