/**
 * Decodes text hidden in a text: encoded, escaped, rotated or reversed. Decodes once, within bounds.
 *
 * @since 0.1.0
 * @private
 */
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import { bits } from "./InjectionLexicon.js"
import type { Folded } from "./InjectionText.js"
import { type Lexicon, unleet, type Word } from "./InjectionWords.js"

/** Text decoded from a part of another; all its places map to that part. */
export interface Payload {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly kind: string
}

/** Most encoded pieces per text, the longest piece, and their total length. */
const most = 64
const longest = 32_768
const total = 131_072

const base64 = /[A-Za-z0-9+/_-]{20,}={0,2}/g
const hex = /(?:0x)?[0-9a-fA-F]{2}(?:[ :,]?(?:0x|\\x)?[0-9a-fA-F]{2}){11,}/g
const escaped = /(?:%[0-9a-fA-F]{2}|&#x?[0-9a-fA-F]{2,6};|\\u\{?[0-9a-fA-F]{4,6}\}?|\\x[0-9a-fA-F]{2})/g

// biome-ignore lint/suspicious/noControlCharactersInRegex: what no text holds
const unprintable = /[\u0000-\u0008\u000e-\u001f\u007f\ufffd]/

/** True if decoded bytes are words: identifiers and images decode to noise. */
const isText = (text: string): boolean => text.length >= 8 && !unprintable.test(text) && / |[\u3040-\u9fff]/.test(text)

const utf8 = new TextDecoder()

const fromHex = (source: string): string => {
  const digits = source.replace(/0x|\\x|[ :,]/g, "")
  const bytes = new Uint8Array(digits.length >> 1)
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16)
  return utf8.decode(bytes)
}

const fromBase64 = (source: string): string => {
  const plain = source.replaceAll("=", "")
  // A remainder of one is not a whole byte.
  const whole = plain.length % 4 === 1 ? plain.slice(0, -1) : plain
  return Either.getOrElse(
    Either.map(Encoding.decodeBase64Url(whole.replaceAll("+", "-").replaceAll("/", "_")), (bytes) =>
      utf8.decode(bytes)
    ),
    () => ""
  )
}

const unescaped = (source: string): string =>
  source
    .replace(/(?:%[0-9a-fA-F]{2})+/g, (run) => fromHex(run.replaceAll("%", "")))
    .replace(
      /&#(x?)([0-9a-fA-F]{2,6});|\\u\{?([0-9a-fA-F]{4,6})\}?|\\x([0-9a-fA-F]{2})/g,
      (whole, x, entity, u, byte) => {
        const code =
          entity === undefined ? Number.parseInt(u ?? byte, 16) : Number.parseInt(entity, x === "x" ? 16 : 10)
        return code >= 0x20 && code <= 0x10ffff ? String.fromCodePoint(code) : whole
      }
    )

const rotate = (text: string): string =>
  text.replace(/[a-z]/g, (char) => String.fromCharCode(((char.charCodeAt(0) - 97 + 13) % 26) + 97))

/** Spans the first to the last word of this meaning, with some surroundings; `undefined` for fewer than two. */
const spanAround = (words: ReadonlyArray<Word>, text: string, mask: number) => {
  const found = words.filter((word) => (word.mask & mask) !== 0)
  if (found.length < 2) return undefined
  const start = Math.max(0, (found[0] as Word).start - 200)
  return { start, end: Math.min(text.length, (found.at(-1) as Word).end + 200, start + longest) }
}

/** Finds text hidden in the source as written. Places refer to the source. */
export const inSource = (source: string): ReadonlyArray<Payload> => {
  const payloads: Array<Payload> = []
  let left = total
  const take = (start: number, length: number, kind: string, decode: (piece: string) => string): void => {
    if (payloads.length >= most || left <= 0) return
    const piece = source.slice(start, start + Math.min(length, longest))
    left -= piece.length
    const text = decode(piece)
    if (isText(text)) payloads.push({ text, start, end: start + length, kind })
  }
  let tried = 0
  for (const match of source.matchAll(base64)) {
    if (++tried > 8 * most) break
    take(match.index, match[0].length, "base64", fromBase64)
  }
  tried = 0
  for (const match of source.matchAll(hex)) {
    if (++tried > 8 * most) break
    take(match.index, match[0].length, "hex", fromHex)
  }
  let first = -1
  let last = -1
  let count = 0
  for (const match of source.matchAll(escaped)) {
    if (first < 0) first = match.index
    if (match.index - first > longest) break
    last = match.index + match[0].length
    count++
  }
  if (count >= 6) {
    const start = Math.max(0, first - 100)
    take(start, Math.min(source.length, last + 100) - start, "escaped", unescaped)
  }
  return payloads
}

/** Finds text hidden in the words. Places refer to the folded text. */
export const inWords = ({ text }: Folded, words: ReadonlyArray<Word>): ReadonlyArray<Payload> => {
  const payloads: Array<Payload> = []
  const rotated = spanAround(words, text, bits.rotated)
  if (rotated !== undefined) {
    payloads.push({ ...rotated, text: rotate(text.slice(rotated.start, rotated.end)), kind: "rot13" })
  }
  const mirrored = spanAround(words, text, bits.mirrored)
  if (mirrored !== undefined) {
    const backwards = Array.from(text.slice(mirrored.start, mirrored.end)).reverse().join("")
    payloads.push({ ...mirrored, text: backwards, kind: "reversed" })
  }
  return payloads
}

const single = /(?<![\p{L}\p{N}])[\p{L}\p{N}](?:[ ._*\-|/·]{1,3}[\p{L}\p{N}]){7,}(?![\p{L}\p{N}])/gu

/** Length of text that is read letter by letter. */
const longestSpelled = 16_384

/** Broken at the end of a line, with emphasis around some letters, or with dots between all of them. */
// What is rare comes first, and what stands before it is looked at afterwards: most places are left at once.
const parted =
  /-[ \t]{0,8}\r?\n[ \t]{0,8}(?=\p{L})(?<=\p{L}-[ \t]{0,8}\r?\n[ \t]{0,8})|[*~`]{1,3}(?=\p{L})(?<=\p{L}[*~`]{1,3})|\p{L}(?=[.·•|]\p{L})(?<![\p{L}\p{N}.]\p{L})(?:[.·•|]\p{L}){3,}(?![\p{L}\p{N}])/gu

/** The same, and emphasis around words. */
const partedAround = new RegExp(`${parted.source}|(?<!\\p{L})[*~\`]{1,3}(?=\\p{L})|(?<=\\p{L})[*~\`]{1,3}`, "gu")

/** Digits and signs that stand for letters. */
const digit = /[013457@$]/g
const lettersBefore = /\p{L}{0,24}$/u
const endsWord = /[\p{L}\p{N}]$/u
const withDigits = /^(?![\da-f]{3,24}(?![\p{L}\p{N}]))[\p{L}\d@$!]{3,24}(?![\p{L}\p{N}])/u

/** Digits among letters, and those that stand for a word or its end. */
const digitsAround = /(?<![\p{L}\p{N}])[\p{L}\d@$!]{1,24}(?![\p{L}\p{N}])/gu

interface Found {
  readonly piece: string
  readonly index: number
}

const allOf = (pattern: RegExp) =>
  function* (text: string): Iterable<Found> {
    for (const { 0: piece, index } of text.matchAll(pattern)) yield { piece, index }
  }

/** Words with digits among their letters, but no hexadecimal numbers: `1gn0r3`. Looks around digits only. */
function* digitsWithin(text: string): Iterable<Found> {
  let last = 0
  for (const { index: at } of text.matchAll(digit)) {
    if (at < last) continue
    const before = text.slice(Math.max(last, at - 24), at)
    const start = at - (lettersBefore.exec(before)?.[0].length ?? 0)
    const piece = withDigits.exec(text.slice(start, start + 25))?.[0]
    if (piece === undefined || at - start > 23 || !/\p{L}/u.test(piece)) continue
    if (endsWord.test(text.slice(Math.max(0, start - 2), start))) continue
    last = start + piece.length
    yield { piece, index: start }
  }
}

interface Reading {
  /** Words that are written in another way; one of them is proof of little. */
  readonly find: (text: string) => Iterable<Found>
  readonly fewest: number
  /** What is read in another way where there are enough. */
  readonly replaced: RegExp
  readonly read: (piece: string) => string
  /** Whether such a word is known if it is read so: without one, there is nothing to find. Default: not asked. */
  readonly isKnown?: ((text: string, start: number, end: number) => boolean) | undefined
}

/** Characters around such words that are read with them, and the distance at which others belong to another part. */
const surroundings = 200

/** Reads the parts of a text with such words in another way, up to a total length. */
const reread = (text: string, reading: Reading): ReadonlyArray<Payload> => {
  const { fewest, find, isKnown = () => true, read, replaced } = reading
  const payloads: Array<Payload> = []
  let left = longestSpelled
  let count = 0
  let start = -1
  let end = -1
  let hasKnown = false
  const close = (): void => {
    if (count >= fewest && hasKnown) {
      const part = text.slice(Math.max(0, start - surroundings), Math.min(end, start + left) + surroundings)
      left -= part.length
      payloads.push({ text: part.replace(replaced, read), start, end, kind: "spelled" })
    }
    count = 0
    hasKnown = false
  }
  for (const { index, piece } of find(text)) {
    if (left <= 0) break
    if (count > 0 && index - end > surroundings) close()
    if (count === 0) start = index
    end = index + piece.length
    count++
    hasKnown ||= isKnown(text, index, end)
  }
  if (left > 0) close()
  return payloads
}

const withoutMarks = (piece: string): string => piece.replace(/[^\p{L}]/gu, "")

/** The word around a place, with the marks within it. */
const wordAround = (text: string, start: number, end: number): string => {
  const before = /[\p{L}*~`]{0,24}$/u.exec(text.slice(Math.max(0, start - 24), start))
  const after = /^[\p{L}*~`]{0,24}/u.exec(text.slice(end, end + 24))
  return `${before?.[0] ?? ""}${text.slice(start, end)}${after?.[0] ?? ""}`
}

/** Finds words with spaces, marks or digits among their letters. Places refer to the folded text. */
export const spelled = (text: string, lexicon: Lexicon): ReadonlyArray<Payload> => {
  const isWord = (word: string): boolean => lexicon.longest(word, 0)?.end === word.length
  return [
    ...reread(text, { find: allOf(single), replaced: single, fewest: 1, read: (piece) => spaced(piece, lexicon) }),
    ...reread(text, {
      find: allOf(parted),
      fewest: 2,
      replaced: partedAround,
      read: withoutMarks,
      isKnown: (text, start, end) => isWord(withoutMarks(wordAround(text, start, end)))
    }),
    ...reread(text, {
      find: digitsWithin,
      fewest: 2,
      replaced: digitsAround,
      read: unleet,
      isKnown: (text, start, end) => isWord(unleet(text.slice(start, end)))
    })
  ]
}

/** Joins spaced letters: `i g n o r e`. Wider spaces part the words, or the lexicon does. */
const spaced = (piece: string, lexicon: Lexicon): string => {
  const parts = piece.split(/[ ._*\-|/·]{2,3}/)
  const joined = parts.map((part) => part.replace(/[ ._*\-|/·]/g, "")).join(" ")
  return parts.length > 2 ? joined : segmented(joined, lexicon)
}

/** Inserts spaces between the known words of a text without spaces. */
const segmented = (text: string, lexicon: Lexicon): string => {
  let result = ""
  for (let at = 0; at < text.length; ) {
    const length = lexicon.prefix(text, at)
    result += length > 2 ? ` ${text.slice(at, at + length)} ` : (text[at] as string)
    at += length > 2 ? length : 1
  }
  return result
}
