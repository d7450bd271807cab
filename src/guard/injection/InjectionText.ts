/**
 * Text as those read it who are not fooled by its dress: letters without case, accents, width and disguise, each with
 * its place in the text it came from, cut into words.
 *
 * @since 0.1.0
 * @private
 */

import * as Steps from "../pipeline/Steps.js"

/** A text that was made from another. */
export interface Folded {
  readonly text: string
  /** Where each character stood; absent where nothing moved. */
  readonly map: ReadonlyArray<number> | undefined
  /** Characters were dropped or replaced that only serve to disguise: by place in `text`. */
  readonly disguised: ReadonlySet<number>
  /** What is written in tag characters. */
  readonly hidden: { readonly text: string; readonly start: number; readonly end: number } | undefined
}

// Letters of other scripts that look like Latin ones; they count as such only in words that have Latin letters too.
const lookalikes = new Map<string, string>(
  Object.entries({
    а: "a",
    в: "b",
    с: "c",
    ԁ: "d",
    е: "e",
    һ: "h",
    і: "i",
    ј: "j",
    к: "k",
    ӏ: "l",
    м: "m",
    н: "h",
    о: "o",
    р: "p",
    ѕ: "s",
    т: "t",
    у: "y",
    х: "x",
    ԝ: "w",
    ԛ: "q",
    г: "r",
    α: "a",
    β: "b",
    ε: "e",
    η: "n",
    ι: "i",
    κ: "k",
    μ: "u",
    ν: "v",
    ο: "o",
    ρ: "p",
    τ: "t",
    υ: "u",
    χ: "x",
    ω: "w",
    γ: "y",
    ո: "n",
    ս: "u",
    օ: "o",
    հ: "h",
    ց: "g",
    զ: "q"
  })
)

// Letters that are Latin whatever stands beside them, but that no decomposition leads back.
const variants = new Map<string, string>(
  Object.entries({
    ı: "i",
    ł: "l",
    ø: "o",
    đ: "d",
    ħ: "h",
    ŧ: "t",
    æ: "ae",
    œ: "oe",
    ß: "ss",
    ɡ: "g",
    ɑ: "a",
    ɩ: "i",
    ᴀ: "a",
    ʙ: "b",
    ᴄ: "c",
    ᴅ: "d",
    ᴇ: "e",
    ғ: "f",
    ꜰ: "f",
    ɢ: "g",
    ʜ: "h",
    ɪ: "i",
    ᴊ: "j",
    ᴋ: "k",
    ʟ: "l",
    ᴍ: "m",
    ɴ: "n",
    ᴏ: "o",
    ᴘ: "p",
    ǫ: "q",
    ʀ: "r",
    ꜱ: "s",
    ᴛ: "t",
    ᴜ: "u",
    ᴠ: "v",
    ᴡ: "w",
    ʏ: "y",
    ᴢ: "z",
    "’": "'",
    ʼ: "'",
    "‘": "'"
  })
)

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

/** Everything a reader does not see, in pairs of first and last. */
const invisible = [
  0xad, 0xad, 0x34f, 0x34f, 0x61c, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180f, 0x200b, 0x200f, 0x202a,
  0x202e, 0x2060, 0x206f, 0x3164, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xfeff, 0xffa0, 0xffa0, 0xe0000, 0xe0fff
] as const

const isInvisible = (code: number): boolean => {
  for (let i = 0; i < invisible.length; i += 2) {
    if (code <= (invisible[i + 1] as number)) return code >= (invisible[i] as number)
  }
  return false
}

const isCombining = (code: number): boolean => code >= 0x300 && code <= 0x36f

/** Characters above this are read as they stand, but for those that only differ in width or style. */
const hasForms = (code: number): boolean =>
  code < 0x2e80 ||
  (code >= 0xa720 && code <= 0xa7ff) ||
  (code >= 0xf900 && code <= 0xffef) ||
  (code >= 0x1d400 && code <= 0x1f2ff)

const longestForm = 4

/** A character without case, accent, width and style; empty for an accent. */
const formOf = (code: number): string => {
  const lower = String.fromCodePoint(code)
    .normalize(code < 0x2e80 ? "NFKD" : "NFKC")
    .toLowerCase()
  let form = ""
  for (const one of lower) if (!isCombining(one.codePointAt(0) as number)) form += variants.get(one) ?? one
  // One character may be written out as a sentence of eighteen.
  return form.length > longestForm ? String.fromCodePoint(code) : form
}

/** Forms of the alphabets, which are few and asked for often. */
const cached = 0x2e80
const forms: Array<string | undefined> = []
/** Those of other characters that have one, of which there are some thousands. */
const otherForms = new Map<number, string>()

const otherFormOf = (code: number): string => {
  let form = otherForms.get(code)
  if (form === undefined) {
    form = formOf(code)
    otherForms.set(code, form)
  }
  return form
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ascii = /^[\u0000-\u007f]*$/

const none: ReadonlySet<number> = new Set()

/** Lower case, no accents, no width, no style, nothing invisible. */
export const fold = (source: string): Folded => Steps.finish(foldInSteps(source))

export function* foldInSteps(source: string): Steps.Steps<Folded> {
  if (ascii.test(source)) return { text: source.toLowerCase(), map: undefined, disguised: none, hidden: undefined }
  const map: Array<number> = []
  const disguised = new Set<number>()
  let text = ""
  let hidden = ""
  let hiddenStart = 0
  let hiddenEnd = 0
  const put = (piece: string, at: number, isDisguise: boolean): void => {
    if (isDisguise) disguised.add(text.length)
    text += piece
    for (let i = 0; i < piece.length; i++) map.push(at)
  }
  let pause = Steps.perStep
  for (let at = 0; at < source.length; at++) {
    if (at >= pause) {
      yield
      pause = at + Steps.perStep
    }
    const code = source.codePointAt(at) as number
    if (code < 0x80) {
      put(code >= 0x41 && code <= 0x5a ? String.fromCharCode(code + 32) : (source[at] as string), at, false)
      continue
    }
    const wide = code > 0xffff ? 1 : 0
    if (isInvisible(code)) {
      if (code >= 0xe0020 && code <= 0xe007e) {
        if (hidden === "") hiddenStart = at
        hidden += String.fromCharCode(code - 0xe0000)
        hiddenEnd = at + 2
      }
      disguised.add(text.length)
    } else if (code < cached) {
      let form = forms[code]
      if (form === undefined) {
        form = formOf(code)
        forms[code] = form
      }
      put(form, at, code > 0x2100 && form !== String.fromCharCode(code).toLowerCase())
    } else if (hasForms(code)) {
      put(otherFormOf(code), at, true)
    } else {
      put(wide === 0 ? (source[at] as string) : source.slice(at, at + 2), at, false)
    }
    at += wide
  }
  return {
    text: latinised(text, disguised),
    map,
    disguised,
    hidden: hidden === "" ? undefined : { text: hidden, start: hiddenStart, end: hiddenEnd }
  }
}

const foreign = /[\u0370-\u058f]/

/** Words of two alphabets are of one. */
const latinised = (text: string, disguised: Set<number>): string => {
  if (!foreign.test(text)) return text
  return text.replace(/[a-z\u0370-\u058f]+/g, (word: string, at: number) => {
    if (!foreign.test(word) || !/[a-z]/.test(word)) return word
    let result = ""
    for (let i = 0; i < word.length; i++) {
      const one = word[i] as string
      const other = lookalikes.get(one)
      if (other !== undefined) disguised.add(at + i)
      result += other ?? one
    }
    return result
  })
}

/** A known word or phrase. */
export interface Word {
  readonly start: number
  readonly end: number
  /** What is meant by it; never 0. */
  readonly mask: number
  /** How many words and phrases stand before it, unknown ones included. */
  readonly index: number
  /** In which sentence or paragraph it stands. */
  readonly sentence: number
  readonly isDisguised: boolean
}

interface Node {
  next: Map<number, Node>
  /** Of what ends here. */
  exact: number
  /** Of what begins like this. */
  stem: number
}

const node = (): Node => ({ next: new Map(), exact: 0, stem: 0 })

/** Known words and phrases, and what they mean. */
export class Lexicon {
  private readonly root = node()

  /** `word*` stands for everything that begins like this. The same word may be given several times. */
  add(entry: string, mask: number): void {
    const isStem = entry.endsWith("*")
    let at = this.root
    for (const char of fold(isStem ? entry.slice(0, -1) : entry).text) {
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

  /** How long the longest entry is that stands at a place, whatever comes behind it; 0 for none. */
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

  /** The longest entry at a place: where it ends, and what it means. */
  longest(text: string, from: number): { readonly end: number; readonly mask: number } | undefined {
    let at = this.root
    let found: { end: number; mask: number } | undefined
    let stem = 0
    let index = from
    for (;;) {
      let code = text.charCodeAt(index)
      let to = index + 1
      // Any space is one space, and so is a hyphen or an underscore between words.
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

/** Scripts that put no spaces between words. */
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

/** A word with digits read as the letters they look like. */
const unleet = (word: string): string => {
  let result = ""
  for (const char of word) result += leet[char] ?? char
  return result
}

/** The known words of a folded text. Takes time linear in the length of the text. */
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
