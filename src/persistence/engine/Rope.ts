/**
 * Splits long texts into pieces at boundaries that depend on the content: similar texts share most pieces, wherever one
 * was changed, extended or truncated. A text stored many times, like the state of a graph at each step, only takes
 * space for its changes.
 *
 * Pieces are named by their hashes. If a text has several pieces, their names form a text that is split the same way.
 *
 * @private
 * @since 0.1.0
 */
import { createHash } from "node:crypto"

/**
 * `ref` identifies the text: the number of levels of names, and the name of the last piece.
 *
 * @category models
 */
export interface Rope {
  readonly ref: string
  /** The name in `ref`. If this piece is stored, all others are. */
  readonly top: string
  /** All pieces by name. */
  readonly pieces: ReadonlyMap<string, string>
}

/** The fewest characters of a piece, except the last one, and the most. */
const least = 2048
const most = 32_768
/** A piece ends at one in 2^13 places on average. */
const bits = 13
/** A boundary depends on this many characters before it. */
const reach = 32

/** Characters of a name: 192 bits. */
const width = 32

const nameOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, width)

/** Fixed pseudorandom numbers. Other numbers would yield other pieces. */
const gear: Int32Array = (() => {
  const numbers = new Int32Array(256)
  let state = 0x9e3779b9
  for (let index = 0; index < numbers.length; index++) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0
    numbers[index] = Math.imul(state ^ (state >>> 13), 0x297a2d39)
  }
  return numbers
})()

/** Never splits a surrogate pair. */
const endOf = (text: string, begin: number): number => {
  const end = Math.min(begin + most, text.length)
  let hash = 0
  let at = Math.min(begin + least - reach, end)
  for (; at < end; at++) {
    const unit = text.charCodeAt(at)
    hash = ((hash << 1) + (gear[(unit ^ (unit >>> 8)) & 255] as number)) | 0
    if (at - begin >= least && hash >>> (32 - bits) === 0) break
  }
  const low = text.charCodeAt(at)
  return low >= 0xdc00 && low <= 0xdfff ? at + 1 : at
}

const cut = (text: string): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  for (let begin = 0; begin < text.length; ) {
    const end = endOf(text, begin)
    pieces.push(text.slice(begin, end))
    begin = end
  }
  return pieces
}

/**
 * @category constructors
 */
export const make = (text: string): Rope => {
  const pieces = new Map<string, string>()
  for (let level = 0, whole = text; ; level++) {
    const names = cut(whole).map((piece) => {
      const name = nameOf(piece)
      pieces.set(name, piece)
      return name
    })
    if (names.length <= 1) {
      const top = names[0] ?? nameOf("")
      if (names.length === 0) pieces.set(top, "")
      return { ref: `${level}.${top}`, top, pieces }
    }
    whole = names.join("")
  }
}

const parse = (ref: string): { readonly level: number; readonly top: string } => {
  const dot = ref.indexOf(".")
  return { level: Number(ref.slice(0, dot)), top: ref.slice(dot + 1) }
}

const namesIn = (text: string): ReadonlyArray<string> => {
  const names: Array<string> = []
  for (let at = 0; at < text.length; at += width) names.push(text.slice(at, at + width))
  return names
}

/**
 * Joins texts. `wanted` names the pieces to add to `known` before the next call. The texts are complete when it is
 * empty.
 *
 * @category conversions
 */
export const resolve = (
  refs: Iterable<string>,
  known: ReadonlyMap<string, string>
): { readonly texts: ReadonlyMap<string, string>; readonly wanted: ReadonlySet<string> } => {
  const texts = new Map<string, string>()
  const wanted = new Set<string>()
  for (const ref of refs) {
    const { level, top } = parse(ref)
    let names: ReadonlyArray<string> = [top]
    for (let left = level; ; left--) {
      const missing = names.filter((name) => !known.has(name))
      if (missing.length > 0) {
        for (const name of missing) wanted.add(name)
        break
      }
      const text = names.map((name) => known.get(name) as string).join("")
      if (left === 0) {
        texts.set(ref, text)
        break
      }
      names = namesIn(text)
    }
  }
  return { texts, wanted }
}
