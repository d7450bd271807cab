/**
 * What makes tasks alike: the words of a task without the values that only this one has.
 *
 * @internal
 * @since 0.1.0
 */
import * as TextAnalyzer from "../text/TextAnalyzer.js"

/**
 * What is looked at of a text, and how many words of it count, so that a task of a megabyte costs no more than a long
 * letter.
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

/** Marks that stand within words too: they quote only at the borders of words. */
const apostrophes = new Set(["'", "\u2019", "\u2018"])

const letter = /\p{L}/u
const digit = /\p{N}/u
const wordCharacter = /[\p{L}\p{N}]/u

const isWordAt = (text: string, index: number): boolean => wordCharacter.test(text.charAt(index))

/** A value in a text whose quotes were taken out; no text that comes in holds it. */
const MARK = "\u0000"

const quoteEnd = (text: string, from: number, closer: string): number => {
  let end = text.indexOf(closer, from)
  while (end >= 0 && apostrophes.has(closer) && isWordAt(text, end + 1)) end = text.indexOf(closer, end + 1)
  return end
}

/** Linear: of a mark without an end, and of all that are like it, the end is looked for once. */
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
  /** Without the signs around it; empty when nothing else is there. */
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

/** "Bob", not "PDF": what has no small letter is an abbreviation. */
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

/** Numbers, ids, addresses, paths and names of files, by their form. */
const isValue = ({ raw, word }: Token): boolean =>
  raw === MARK ||
  digit.test(word) ||
  raw.includes("@") ||
  raw.includes("://") ||
  raw.includes("\\") ||
  /^[("[{<]*(?:~|\.{1,2})?\//u.test(raw) ||
  word.includes(".") ||
  word.includes("_")

/** Said to whoever does a task, and no part of it. */
const courtesies = new Set("please kindly thanks thank bitte danke".split(" "))

const germanWords = new Set(
  "der die das den dem des ein eine einen einem einer eines und oder für mit von zum zur im nicht bitte ist sind".split(
    " "
  )
)

/**
 * Whether a capital letter within a sentence makes a name. It does not where most words have one, and not in German,
 * where every noun has.
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
 * The text in one line, `…` in the place of names, numbers, quoted texts, ids, paths and addresses.
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
 * The words of a task that are no values, in their stems, each once, sorted; at most 64, the first of the task. Empty:
 * none.
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
 * Equal for tasks that differ in values, small words and the order of words only; empty for a task without words.
 *
 * @category conversions
 */
export const of = (task: string): string => termsOf(task).join(" ")

/**
 * How much two signatures share: 0 nothing, 1 all (Dice: twice what both have by what each has). Of an empty one: 0.
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
