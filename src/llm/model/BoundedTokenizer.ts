/**
 * Bounds the work of a tokenizer: encodes long runs in pieces, remembers lines of JSON, and approximates very long
 * texts.
 *
 * @private
 * @since 0.1.0
 */
import { approximateCount } from "./ApproximateTokens.js"

/** A run this long without (or only of) white space is not a word: byte pair encoding of it is quadratic. */
const longRun = 64
/** How many characters in such runs are still encoded, in pieces. */
const longRunBudget = 16_384
/** Longer texts are approximated: encoding blocks the thread. */
const exactLimit = 262_144

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13)

/** Cuts a long run, never between the halves of a surrogate pair. */
const pieces = (text: string): { readonly usual: ReadonlyArray<string>; readonly long: ReadonlyArray<string> } => {
  const usual: Array<string> = []
  const long: Array<string> = []
  let from = 0
  let runStart = 0
  let runSpace = false
  const endRun = (end: number) => {
    if (end - runStart <= longRun) return
    if (runStart > from) usual.push(text.slice(from, runStart))
    for (let at = runStart; at < end; ) {
      let next = Math.min(end, at + longRun)
      if (next < end && (text.charCodeAt(next) & 0xfc00) === 0xdc00) next++
      long.push(text.slice(at, next))
      at = next
    }
    from = end
  }
  for (let index = 0; index < text.length; index++) {
    const space = isSpace(text.charCodeAt(index))
    if (index > 0 && space !== runSpace) {
      endRun(index)
      runStart = index
    }
    runSpace = space
  }
  endRun(text.length)
  if (from < text.length) usual.push(text.slice(from))
  return { usual, long }
}

/** The maximum number of remembered lines of JSON, most recently used, and of their characters. */
const maxLines = 8192
const maxLineChars = 4_000_000

const newline = 10
const brace = 123

/**
 * Counts each line of JSON once: memory counts its parts line by line before it assembles them. The patterns of the
 * encodings never match across the end of a line and the brace after it, so the whole has as many tokens as its lines.
 * Only a line that was passed on its own is remembered, because a substring would keep the whole text in memory.
 */
const byLines = (encode: (text: string) => number): ((text: string) => number) => {
  const known = new Map<string, { readonly line: string; readonly tokens: number }>()
  let chars = 0
  const recall = (line: string): number | undefined => {
    const found = known.get(line)
    if (found === undefined) return undefined
    known.delete(line)
    known.set(found.line, found)
    return found.tokens
  }
  const remember = (line: string, tokens: number): void => {
    known.set(line, { line, tokens })
    chars += line.length
    for (const oldest of known.keys()) {
      if (known.size <= maxLines && chars <= maxLineChars) break
      known.delete(oldest)
      chars -= oldest.length
    }
  }
  const cut = (text: string, from: number): number => {
    let end = text.indexOf("\n", from)
    while (end >= 0 && text.charCodeAt(end + 1) !== brace) end = text.indexOf("\n", end + 1)
    return end < 0 ? text.length : end + 1
  }
  return (text) => {
    const first = cut(text, 0)
    if (first === text.length) {
      const isLine = text.charCodeAt(0) === brace && text.charCodeAt(text.length - 1) === newline
      const found = isLine ? recall(text) : undefined
      if (found !== undefined) return found
      const tokens = encode(text)
      if (isLine) remember(text, tokens)
      return tokens
    }
    let total = encode(text.slice(0, first))
    for (let from = first; from < text.length; ) {
      const end = cut(text, from)
      const line = text.slice(from, end)
      total += recall(line) ?? encode(line)
      from = end
    }
    return total
  }
}

export const bounded = (encodeText: (text: string) => number): ((text: string) => number) => {
  const encode = byLines(encodeText)
  return (text) => {
    if (text.length <= longRun) return encode(text)
    if (text.length > exactLimit) return approximateCount(text)
    const { long, usual } = pieces(text)
    let total = 0
    for (const piece of usual) total += encode(piece)
    let budget = longRunBudget
    for (const piece of long) {
      total += budget > 0 ? encode(piece) : approximateCount(piece)
      budget -= piece.length
    }
    return total
  }
}
