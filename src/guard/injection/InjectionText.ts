/**
 * Folds text for the injection detector: removes case, accents, width and disguise, and maps each character to its
 * place in the source.
 *
 * @since 0.1.0
 * @private
 */

import * as Steps from "../pipeline/Steps.js"

/** A text derived from another. */
export interface Folded {
  readonly text: string
  /** Source place of each character; absent where nothing moved. */
  readonly map: ReadonlyArray<number> | undefined
  /** Places in `text` where characters that only serve as disguise were dropped or replaced. */
  readonly disguised: ReadonlySet<number>
  /** Text written in tag characters. */
  readonly hidden: { readonly text: string; readonly start: number; readonly end: number } | undefined
}

// Letters of other scripts that resemble Latin ones; they count as Latin only in words that also have Latin letters.
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

// Letters that are always Latin but have no decomposition.
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

/** Invisible characters, as pairs of first and last. */
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

/** Characters above this are read as they are, except variants of width or style. */
const hasForms = (code: number): boolean =>
  code < 0x2e80 ||
  (code >= 0xa720 && code <= 0xa7ff) ||
  (code >= 0xf900 && code <= 0xffef) ||
  (code >= 0x1d400 && code <= 0x1f2ff)

const longestForm = 4

/** Returns a character without case, accent, width and style; empty for an accent. */
const formOf = (code: number): string => {
  const lower = String.fromCodePoint(code)
    .normalize(code < 0x2e80 ? "NFKD" : "NFKC")
    .toLowerCase()
  let form = ""
  for (const one of lower) if (!isCombining(one.codePointAt(0) as number)) form += variants.get(one) ?? one
  // Some characters decompose to a sentence of eighteen.
  return form.length > longestForm ? String.fromCodePoint(code) : form
}

/** Forms of alphabets are few and requested often. */
const cached = 0x2e80
const forms: Array<string | undefined> = []
/** Forms of the remaining characters, some thousands. */
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

/** Returns the text in lower case, without accents, width, style and invisible characters. */
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

/** Rewrites words of two alphabets in one. */
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
