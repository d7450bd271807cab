/**
 * Divides a text into lines of prose, sentences, clauses and words.
 *
 * @private
 * @since 0.1.0
 */
import type { Word } from "./FactVerbs.js"

/** Maximum characters of a sentence that is read. */
const maxSentence = 400

/**
 * @category constructors
 */
export const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const cutting = wordSet("because although though but which who where when while whereas since until unless except so")
const speakers = wordSet("i my our we")
const titles = wordSet("dr mr mrs ms prof st")
/** May stand between a conjunction and the speaker. */
const linking = wordSet("now then today currently")

/**
 * Words at which an object or a clause ends.
 *
 * @category guards
 */
export const isCutting = (low: string): boolean => cutting.has(low)

/** Contractions of a subject and a verb. */
const contractions: ReadonlyMap<string, readonly [string, string]> = new Map([
  ["i'm", ["I", "am"]],
  ["i've", ["I", "have"]],
  ["we're", ["we", "are"]],
  ["we've", ["we", "have"]],
  ["name's", ["name", "is"]]
])

const edges = /^[("'“”‘’«»[*_~-]+|(?<![)"'“”‘’«»\]*_~,:!.?-])[)"'“”‘’«»\]*_~,:!.?-]+$/g

/**
 * The words of a sentence, without their punctuation.
 *
 * @category conversions
 */
export const wordsOf = (sentence: string): ReadonlyArray<Word> => {
  const words: Array<Word> = []
  for (const raw of sentence.replaceAll("’", "'").split(" ")) {
    const bare = raw.replace(edges, "")
    if (bare === "") continue
    const low = bare.toLowerCase()
    const text = titles.has(low) && raw.endsWith(".") ? `${bare}.` : bare
    const breaks = /[,:]["'”)]*$/.test(raw)
    const both = contractions.get(low)
    if (both === undefined) words.push({ text, low, breaks })
    else {
      const [subject, verb] = both
      words.push({ text: subject, low: subject.toLowerCase(), breaks: false }, { text: verb, low: verb, breaks })
    }
  }
  return words
}

const abbreviations = wordSet("mr mrs ms dr prof st sr jr vs etc approx inc ltd co no")

/** Whether the period at this place ends a sentence. */
const ends = (text: string, at: number): boolean => {
  const next = text[at + 1]
  if (next !== undefined && next !== " " && next !== '"' && next !== "”" && next !== ")") return false
  let from = at
  while (from > 0 && at - from < 8 && /[A-Za-z.]/.test(text[from - 1]!)) from--
  const before = text.slice(from, at).toLowerCase()
  return !(abbreviations.has(before) || /^[a-z]$|\./.test(before))
}

/**
 * @category models
 */
export interface Sentence {
  readonly text: string
  readonly asks: boolean
}

/**
 * The sentences of a line.
 *
 * @category conversions
 */
export const sentencesOf = (line: string): ReadonlyArray<Sentence> => {
  const sentences: Array<Sentence> = []
  let from = 0
  const push = (to: number, asks: boolean): void => {
    const text = line.slice(from, to).trim()
    if (text !== "") sentences.push({ text, asks })
    from = to + 1
  }
  for (let at = 0; at < line.length; at++) {
    const char = line[at]
    if (char === "?" || char === "!" || char === ";" || char === "…") push(at, char === "?")
    else if (char === "." && ends(line, at)) push(at, false)
  }
  push(line.length, false)
  return sentences
}

const fence = /^\s*(?:```|~~~)/
const quoted = /^\s*(?:>|\||(?:system|assistant|user|human|ai|tool)\s*:)/i
const bullet = /^\s*(?:[-*•]|\d{1,3}[.)])\s+/

/**
 * The lines of prose: no code, quotation or transcript.
 *
 * @category conversions
 */
export const linesOf = (text: string): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let inCode = false
  for (const line of text.split(/\r\n|[\n\r\u2028\u2029]/)) {
    if (fence.test(line)) inCode = !inCode
    else if (!inCode && !quoted.test(line) && !/^(?: {4}|\t)/.test(line)) {
      lines.push(line.replace(bullet, "").replace(/\s+/g, " "))
    }
  }
  return lines
}

const code = /[`{}<>=\\]|:\/\//
/** What speaks for another role is a transcript, or pretends to be one. */
const otherRole = /\b(?:system|assistant|developer|admin(?:istrator)?)\s*:/i
const quotation = /["“«]([^"”»]{0,400})/

/**
 * Whether a sentence states something in plain words: no question, code, quotation or transcript.
 *
 * @category guards
 */
export const isPlain = ({ asks, text }: Sentence): boolean => {
  if (asks || text.length > maxSentence || code.test(text) || otherRole.test(text)) return false
  const inner = quotation.exec(text)?.[1]
  return inner === undefined || inner.trim().split(" ").length <= 3
}

/**
 * Clauses that could stand alone: what follows a conjunction, or a comma if it begins with the speaker.
 *
 * @category conversions
 */
export const clausesOf = (words: ReadonlyArray<Word>): ReadonlyArray<ReadonlyArray<Word>> => {
  const clauses: Array<ReadonlyArray<Word>> = []
  let from = 0
  for (let at = 1; at < words.length; at++) {
    const joins = words[at]!.low === "and" || cutting.has(words[at]!.low)
    let begin = at + (joins ? 1 : 0)
    if (joins && linking.has(words[begin]?.low ?? "")) begin++
    const next = words[begin]
    if (next === undefined || !speakers.has(next.low) || !(joins || words[at - 1]!.breaks)) continue
    clauses.push(words.slice(from, at))
    from = begin
    at = begin
  }
  clauses.push(words.slice(from))
  return clauses
}
