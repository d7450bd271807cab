/**
 * Finds the known words and phrases of a folded text.
 *
 * @since 0.1.0
 * @private
 */
import * as Steps from "../pipeline/Steps.js"
import { type Folded, fold } from "./InjectionText.js"

const leet: { readonly [char: string]: string } = {
  "0": "o",
  "1": "i",
  "3": "e",
  "4": "a",
  "5": "s",
  "7": "t",
  "8": "b",
  "9": "g",
  "@": "a",
  $: "s",
  "!": "i"
}

/** A known word or phrase. */
export interface Word {
  readonly start: number
  readonly end: number
  /** Meanings; never 0. */
  readonly mask: number
  /** Number of words and phrases before it, including unknown ones. */
  readonly index: number
  /** Sentence or paragraph it belongs to. */
  readonly sentence: number
  readonly isDisguised: boolean
}

interface Node {
  next: Map<number, Node>
  /** Meanings of the entry that ends here. */
  exact: number
  /** Meanings of entries with this prefix. */
  stem: number
}

const node = (): Node => ({ next: new Map(), exact: 0, stem: 0 })

/** Known words and phrases and their meanings. */
export class Lexicon {
  private readonly root = node()

  /** Adds an entry. `word*` matches everything with this prefix. A word may be added several times. */
  add(entry: string, mask: number): void {
    const isStem = entry.endsWith("*")
    let at = this.root
    // Hyphens of a text count as spaces.
    for (const char of fold(isStem ? entry.slice(0, -1) : entry).text.replaceAll("-", " ")) {
      for (let i = 0; i < char.length; i++) {
        const code = char.charCodeAt(i)
        let next = at.next.get(code)
        if (next === undefined) {
          next = node()
          at.next.set(code, next)
        }
        at = next
      }
    }
    if (isStem) at.stem |= mask
    else at.exact |= mask
  }

  /** Length of the longest entry at an index, whatever follows it; 0 for none. */
  prefix(text: string, from: number): number {
    let at = this.root
    let length = 0
    for (let index = from; index < text.length; index++) {
      const next = at.next.get(text.charCodeAt(index))
      if (next === undefined) break
      at = next
      if (at.exact !== 0) length = index + 1 - from
    }
    return length
  }

  /** Longest entry at an index: its end and its meanings. */
  longest(text: string, from: number): { readonly end: number; readonly mask: number } | undefined {
    let at = this.root
    let found: { end: number; mask: number } | undefined
    let stem = 0
    let index = from
    for (;;) {
      let code = text.charCodeAt(index)
      let to = index + 1
      // Spaces, hyphens and underscores between words all count as one space.
      if (isSpace(code) || code === 0x2d || code === 0x5f) {
        if (index === from) break
        while (to < index + 8 && isSpace(text.charCodeAt(to))) to++
        code = 0x20
        stem = 0
      }
      const next = at.next.get(code)
      if (next === undefined) break
      at = next
      index = to
      stem |= at.stem
      const isEnd = isWide(code) || !isWordAt(text, index)
      if (isEnd && (at.exact !== 0 || stem !== 0)) found = { end: index, mask: at.exact | stem }
    }
    if (stem !== 0 && isWordAt(text, index)) {
      const end = wordEnd(text, index)
      if (found === undefined || end > found.end) return { end, mask: stem }
    }
    return found
  }
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** Scripts without spaces between words. */
const isWide = (code: number): boolean =>
  (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af)

const isLetter = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0xaa && code !== 0xd7 && code !== 0xf7 && code !== 0xab && code !== 0xbb && !isPunctuation(code))

const isPunctuation = (code: number): boolean =>
  (code >= 0x2000 && code <= 0x2bff) ||
  (code >= 0x3000 && code <= 0x303f) ||
  (code >= 0xff00 && code <= 0xff0f) ||
  code === 0xbf ||
  code === 0xb7

const isWordAt = (text: string, index: number): boolean => {
  const code = text.charCodeAt(index)
  return isLetter(code) && !isWide(code)
}

const wordEnd = (text: string, from: number): number => {
  let end = from
  while (isWordAt(text, end)) end++
  return end
}

const isLeet = (code: number): boolean => code === 0x40 || code === 0x24 || code === 0x21

/** Replaces digits of a word by the letters they resemble. */
export const unleet = (word: string): string => {
  let result = ""
  for (const char of word) result += leet[char] ?? char
  return result
}

/** Finds the known words of a folded text, in linear time. */
export const words = (folded: Folded, lexicon: Lexicon): ReadonlyArray<Word> =>
  Steps.finish(wordsInSteps(folded, lexicon))

export function* wordsInSteps({ disguised, text }: Folded, lexicon: Lexicon): Steps.Steps<ReadonlyArray<Word>> {
  const found: Array<Word> = []
  let at = 0
  let index = 0
  let sentence = 0
  let lines = 0
  const isDisguised = (start: number, end: number): boolean => {
    if (disguised.size === 0) return false
    for (let i = start; i < end; i++) if (disguised.has(i) && (i > start || end - start > 1)) return true
    return false
  }
  const push = (end: number, mask: number, isLeet: boolean): void => {
    if (mask !== 0) {
      found.push({ start: at, end, mask, index, sentence, isDisguised: isLeet || isDisguised(at, end) })
    }
    index++
    lines = 0
    at = end
  }
  let pause = Steps.perStep
  while (at < text.length) {
    if (at >= pause) {
      yield
      pause = at + Steps.perStep
    }
    const code = text.charCodeAt(at)
    if (!isLetter(code) && !isLeet(code)) {
      if (code === 0x0a) {
        if (++lines === 2) sentence++
      } else if (
        code === 0x3002 ||
        code === 0xff01 ||
        code === 0xff1f ||
        ((code === 0x2e || code === 0x3f) && (at + 1 >= text.length || isSpace(text.charCodeAt(at + 1))))
      ) {
        sentence++
      }
      at++
      continue
    }
    const known = isLeet(code) ? undefined : lexicon.longest(text, at)
    if (known !== undefined) {
      push(known.end, known.mask, false)
      continue
    }
    if (isWide(code)) {
      push(at + 1, 0, false)
      continue
    }
    let end = at
    let marks = 0
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end)
      if (code >= 0x30 && code <= 0x39) marks++
      else if (isLeet(code) && isWordAt(text, end + 1)) marks++
      else if (!isWordAt(text, end)) break
    }
    if (end === at) {
      if (code === 0x21 && (at + 1 >= text.length || isSpace(text.charCodeAt(at + 1)))) sentence++
      at++
      continue
    }
    if (marks > 0 && marks < end - at - 1 && end - at <= 24) {
      const plain = unleet(text.slice(at, end))
      const meant = lexicon.longest(plain, 0) ?? lexicon.longest(plain.replaceAll("ii", "ll"), 0)
      if (meant !== undefined && meant.end === plain.length) {
        push(end, meant.mask, true)
        continue
      }
    }
    push(end, 0, false)
  }
  return found
}
