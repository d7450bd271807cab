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
import type { Lexicon, Word } from "./InjectionWords.js"

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

/** Finds words with spaced letters: `i g n o r e`. */
export const spelled = (text: string, lexicon: Lexicon): ReadonlyArray<Payload> => {
  const payloads: Array<Payload> = []
  let left = longestSpelled
  for (const match of text.matchAll(single)) {
    if (left <= 0) break
    left -= match[0].length
    const parts = match[0].slice(0, longestSpelled).split(/[ ._*\-|/·]{2,3}/)
    const joined = parts.map((part) => part.replace(/[ ._*\-|/·]/g, "")).join(" ")
    payloads.push({
      text: segmented(joined, lexicon),
      start: match.index,
      end: match.index + match[0].length,
      kind: "spelled"
    })
  }
  return payloads
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
