/**
 * Compares tasks by their words, without the values that only one task has.
 *
 * @private
 * @since 0.1.0
 */
import * as TextAnalyzer from "../text/TextAnalyzer.js"

/**
 * Characters of a text that are read, and words that count, so that a megabyte costs no more than a long letter.
 */
const maxText = 8_000
const maxTerms = 64

const closers: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["`", "`"],
  ["'", "'"],
  ["\u2018", "\u2019"],
  ["\u201a", "\u2018"],
  ["\u201c", "\u201d"],
  ["\u201e", "\u201c"],
  ["\u00ab", "\u00bb"],
  ["\u300c", "\u300d"],
  ["\u300e", "\u300f"]
])

/** Marks that also occur within words: they quote only at word boundaries. */
const apostrophes = new Set(["'", "\u2019", "\u2018"])

const letter = /\p{L}/u
const digit = /\p{N}/u
const wordCharacter = /[\p{L}\p{N}]/u

const isWordAt = (text: string, index: number): boolean => wordCharacter.test(text.charAt(index))

/** Replaces a value whose quotes were removed. No input text contains it. */
const MARK = "\u0000"

const quoteEnd = (text: string, from: number, closer: string): number => {
  let end = text.indexOf(closer, from)
  while (end >= 0 && apostrophes.has(closer) && isWordAt(text, end + 1)) end = text.indexOf(closer, end + 1)
  return end
}

/** Linear time: the end of an unclosed mark is searched once, for all marks of the same kind. */
const withoutQuotes = (text: string): string => {
  const out: Array<string> = []
  const endless = new Set<string>()
  let kept = 0
  for (let index = 0; index < text.length; index++) {
    const opener = text.charAt(index)
    const closer = closers.get(opener)
    if (closer === undefined || endless.has(closer)) continue
    if (apostrophes.has(opener) && index > 0 && isWordAt(text, index - 1)) continue
    const end = quoteEnd(text, index + 1, closer)
    if (end < 0) {
      endless.add(closer)
      continue
    }
    out.push(text.slice(kept, index), ` ${MARK} `)
    index = end
    kept = end + 1
  }
  out.push(text.slice(kept))
  return out.join("")
}

interface Token {
  /** Without the punctuation around it. Empty if there is nothing else. */
  readonly word: string
  readonly raw: string
  readonly opensSentence: boolean
}

const trimmed = (raw: string): string => {
  const characters = Array.from(raw)
  let start = 0
  let end = characters.length
  while (start < end && !wordCharacter.test(characters[start] ?? "")) start++
  while (end > start && !wordCharacter.test(characters[end - 1] ?? "")) end--
  return characters.slice(start, end).join("")
}

const endsSentence = (raw: string, word: string): boolean => {
  const last = raw.at(-1) ?? ""
  // "Mr." and "J." end no sentence.
  if (last === ".") return !(isCapitalised(word) && word.length <= 3)
  return last === "!" || last === "?" || last === ":"
}

const isUpper = (character: string): boolean => character !== character.toLowerCase()

/** "Bob", not "PDF": a word without lower-case letters is an abbreviation. */
const isCapitalised = (word: string): boolean =>
  isUpper(word.charAt(0)) && (word.length === 1 || word.slice(1) !== word.slice(1).toUpperCase())

const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  for (const line of text.split("\n")) {
    let opensSentence = true
    for (const raw of line.split(/\s+/u)) {
      if (raw === "") continue
      const word = raw === MARK ? "" : trimmed(raw)
      tokens.push({ raw, word, opensSentence })
      opensSentence = raw === MARK ? false : (word === "" && opensSentence) || endsSentence(raw, word)
    }
  }
  return tokens
}

/** Recognizes numbers, ids, addresses, paths and file names by their form. */
const isValue = ({ raw, word }: Token): boolean =>
  raw === MARK ||
  digit.test(word) ||
  raw.includes("@") ||
  raw.includes("://") ||
  raw.includes("\\") ||
  /^[("[{<]*(?:~|\.{1,2})?\//u.test(raw) ||
  word.includes(".") ||
  word.includes("_")

/** Words of courtesy, which are not part of a task. */
const courtesies = new Set("please kindly thanks thank bitte danke".split(" "))

const germanWords = new Set(
  "der die das den dem des ein eine einen einem einer eines und oder für mit von zum zur im nicht bitte ist sind".split(
    " "
  )
)

/**
 * Whether a capital letter within a sentence marks a name. Not if most words have one, and not in German, where every
 * noun has.
 */
const capitalsTell = (tokens: ReadonlyArray<Token>): boolean => {
  let words = 0
  let capitals = 0
  let german = 0
  for (const token of tokens) {
    if (token.word === "" || isValue(token)) continue
    if (germanWords.has(token.word.toLowerCase())) german++
    if (token.opensSentence) continue
    words++
    if (isCapitalised(token.word)) capitals++
  }
  return german < 2 && capitals * 2 <= words
}

const split = (
  text: string
): { readonly tokens: ReadonlyArray<Token>; readonly isTaken: (token: Token) => boolean } => {
  const tokens = tokensOf(withoutQuotes(text.slice(0, maxText).replaceAll(MARK, " ")))
  const tell = capitalsTell(tokens)
  return {
    tokens,
    isTaken: (token) =>
      isValue(token) || (tell && !token.opensSentence && letter.test(token.word) && isCapitalised(token.word))
  }
}

/**
 * The text on one line, with `…` for names, numbers, quoted texts, ids, paths and addresses.
 *
 * @category conversions
 */
export const masked = (text: string): string => {
  const { isTaken, tokens } = split(text)
  const out: Array<string> = []
  for (const token of tokens) {
    const shown = isTaken(token) ? "…" : token.raw
    if (shown !== "…" || out.at(-1) !== "…") out.push(shown)
  }
  return out.join(" ")
}

/**
 * The distinct stems of a task's words that are not values, sorted; at most 64, the first of the task. Can be empty.
 *
 * @category conversions
 */
export const termsOf = (task: string): ReadonlyArray<string> => {
  const { isTaken, tokens } = split(task)
  const words = tokens
    .filter((token) => token.word !== "" && !isTaken(token) && !courtesies.has(token.word.toLowerCase()))
    .map((token) => token.word)
  return Array.from(new Set(TextAnalyzer.queryTerms(TextAnalyzer.english, words.join(" "))))
    .slice(0, maxTerms)
    .sort()
}

/**
 * Equal for tasks that differ only in values, small words and word order. Empty for a task without words.
 *
 * @category conversions
 */
export const fromTask = (task: string): string => termsOf(task).join(" ")

/**
 * How much two signatures share: 0 nothing, 1 everything (Dice: twice the shared words divided by the words of both). 0
 * if one is empty.
 *
 * @category getters
 */
export const similarity = (left: string, right: string): number => {
  if (left === "" || right === "") return 0
  const ours = new Set(left.split(" "))
  const theirs = new Set(right.split(" "))
  let shared = 0
  for (const term of ours) if (theirs.has(term)) shared++
  return (2 * shared) / (ours.size + theirs.size)
}
