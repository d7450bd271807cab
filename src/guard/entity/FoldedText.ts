/**
 * Text as a reader sees it, for detectors: digits of every script become ASCII digits; full-width forms, hyphens,
 * spaces and quotes become plain ones; invisible characters between others are dropped. Offsets map back to the
 * original.
 *
 * @private
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface FoldedText {
  readonly text: string
  /** Offset in the original of a character of the folded text. */
  readonly origin: (index: number) => number
  /** Index of the first folded character at or after an offset of the original. */
  readonly locate: (origin: number) => number
}

/**
 * Longest run of invisible characters that is dropped; a longer run stays, and separates. So a distance in the original
 * is at most `maxInvisible + 1` times that in the folded text.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxInvisible = 4

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ascii = /^[\u0000-\u007f]*$/
const invisible = /[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+/g
const special =
  /(?:[\u00a0\u1680\u2000-\u200a\u2010-\u2013\u2018\u2019\u201c\u201d\u202f\u205f\u2212\u3000\ufe58\ufe63\uff01-\uff5e]|(?![0-9])\p{Nd})+/gu
const isDigit = /^\p{Nd}$/u
const digits = new Map<number, string>()

/** Decimal digits come in blocks of ten; only the mathematical ones are adjacent without a gap. */
const digitOf = (code: number): string => {
  const known = digits.get(code)
  if (known !== undefined) return known
  let value = 0
  if (code >= 0x1d7ce && code <= 0x1d7ff) value = (code - 0x1d7ce) % 10
  else while (value < 9 && isDigit.test(String.fromCodePoint(code - value - 1))) value++
  const digit = String(value)
  digits.set(code, digit)
  return digit
}

const plain = (character: string): string => {
  const code = character.codePointAt(0)!
  if (code >= 0xff01 && code <= 0xff5e) return String.fromCharCode(code - 0xfee0)
  switch (code) {
    case 0x2018:
    case 0x2019: {
      return "'"
    }
    case 0x201c:
    case 0x201d: {
      return '"'
    }
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2212:
    case 0xfe58:
    case 0xfe63: {
      return "-"
    }
    default: {
      if (!isDigit.test(character)) return " "
      // Keeps two code units: the first is a character that no detector reads.
      return character.length === 1 ? digitOf(code) : `\u200b${digitOf(code)}`
    }
  }
}

// Cached: texts in other scripts repeat the same characters.
const plains = new Map<string, string>()

const plainOf = (run: string): string => {
  let result = ""
  for (const character of run) {
    let known = plains.get(character)
    if (known === undefined) {
      known = plain(character)
      plains.set(character, known)
    }
    result += known
  }
  return result
}

const wide = /[\u0100-\u{10ffff}]/gu
const isLetter = /[\p{L}\p{N}]/u
/** Two characters that fold to ASCII letters. */
const asciiForms: { readonly [character: string]: string } = { "\u017f": "s", "\u212a": "k" }

/** Scripts that write no spaces, or endings right behind a number: a letter of them ends no word of another script. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

const narrowed = (character: string): string =>
  asciiForms[character] ??
  (isLetter.test(character) && !unspaced.test(character) ? "\u00aa" : "\u0080").repeat(character.length)

/**
 * Returns the same text with one byte per character, which regular expressions read many times faster: letters and
 * digits beyond Latin-1 become one letter, everything else and letters of scripts without spaces one non-letter.
 *
 * @since 0.1.0
 * @category conversions
 */
export const narrow = (text: string): string => Buffer.from(text.replace(wide, narrowed), "latin1").toString("latin1")

const same = (index: number): number => index

/**
 * Folds a text in linear time; ASCII text costs one scan.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (original: string): FoldedText => {
  if (ascii.test(original)) return { text: original, origin: same, locate: same }
  const visible = original.replace(special, plainOf)
  if (visible.search(invisible) < 0) return { text: visible, origin: same, locate: same }
  const places = new Uint32Array(visible.length)
  const parts: Array<string> = []
  let length = 0
  let kept = 0
  const keep = (end: number): void => {
    parts.push(visible.slice(kept, end))
    for (let place = kept; place < end; place++) places[length++] = place
  }
  for (const run of visible.matchAll(invisible)) {
    if (run[0].length > maxInvisible) continue
    keep(run.index)
    kept = run.index + run[0].length
  }
  keep(visible.length)
  return {
    text: parts.join(""),
    origin: (index) => (index < length ? places[index]! : visible.length),
    locate: (origin) => {
      let low = 0
      let high = length
      while (low < high) {
        const middle = (low + high) >>> 1
        if (places[middle]! < origin) low = middle + 1
        else high = middle
      }
      return low
    }
  }
}
