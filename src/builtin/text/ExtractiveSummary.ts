/**
 * Summaries of sentences that stand in the text.
 *
 * A sentence counts by the words it has in common with the rest of the text: the mean weight of its content words,
 * where the weight of a word is how often the text says it (Luhn, "The Automatic Creation of Literature Abstracts",
 * 1958; the weights of a chosen sentence's words are squared down afterwards, as SumBasic does (Nenkova and
 * Vanderwende, 2005), so that nothing is said twice). Linear in the text but for the sentences that are chosen.
 *
 * @private
 * @since 0.1.0
 */
import * as StopWords from "../../internal/text/StopWords.js"

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" })
const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" })

/** `Intl.Segmenter` takes a time that grows with the square of its text: it gets pieces. */
const PIECE = 800

const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/** Cut behind the last match of `end` in each piece, else at its end, never within a character. */
const piecesOf = (text: string, end: RegExp): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let from = 0
  while (text.length - from > PIECE) {
    let to = from + PIECE
    for (const match of text.slice(from, to).matchAll(end)) to = from + match.index + match[0].length
    if (/[\uD800-\uDBFF]/.test(text[to - 1] ?? "")) to++
    pieces.push(text.slice(from, to))
    from = to
  }
  pieces.push(text.slice(from))
  return pieces
}

interface Word {
  readonly text: string
  readonly end: number
}

/** Letters and digits in a row; scripts that write no spaces are segmented. */
function* words(text: string): Generator<Word> {
  for (const { 0: run, index } of text.matchAll(/[\p{L}\p{M}\p{N}_]+(?:['’.·-][\p{L}\p{M}\p{N}_]+)*/gu)) {
    if (!spaceless.test(run)) {
      yield { text: run, end: index + run.length }
      continue
    }
    let from = index
    for (const piece of piecesOf(run, /[^\p{L}]/gu)) {
      for (const part of wordSegmenter.segment(piece)) {
        if (part.isWordLike === true) yield { text: part.segment, end: from + part.index + part.segment.length }
      }
      from += piece.length
    }
  }
}

/**
 * The words of a text, in any script.
 *
 * @since 0.1.0
 * @category getters
 */
export const wordsOf = (text: string): ReadonlyArray<string> => Array.from(words(text), (word) => word.text)

/** Sentences, and what stands on lines of its own. */
const sentencesOf = (text: string): ReadonlyArray<string> =>
  text
    .split(/\n[^\S\n]*\n|\n(?=[^\S\n]*(?:[-*•#]|\d+[.)])\s)/)
    .flatMap((block) => piecesOf(block, /[.!?…][)"'”’]*\s|[。！？\n]/g))
    .flatMap((piece) =>
      Array.from(sentenceSegmenter.segment(piece), ({ segment }) => segment.replace(/\s+/g, " ").trim())
    )
    .filter((sentence) => sentence !== "")

interface Sentence {
  readonly text: string
  readonly position: number
  readonly length: number
  readonly content: ReadonlyArray<string>
}

const read = (text: string, position: number): Sentence => {
  const words = wordsOf(text)
  const content = words.map((word) => word.toLowerCase()).filter((word) => !StopWords.isStopWord(word))
  return { text, position, length: words.length, content }
}

const frequencies = (sentences: ReadonlyArray<Sentence>): Map<string, number> => {
  const total = sentences.reduce((sum, { content }) => sum + content.length, 0)
  const weights = new Map<string, number>()
  for (const { content } of sentences) {
    for (const word of content) weights.set(word, (weights.get(word) ?? 0) + 1 / total)
  }
  return weights
}

const scoreOf = ({ content }: Sentence, weights: ReadonlyMap<string, number>): number =>
  content.length === 0
    ? 0
    : // A heading of one frequent word would beat every sentence that says something about it.
      content.reduce((sum, word) => sum + (weights.get(word) ?? 0), 0) / Math.max(content.length, 5)

/** Sentences that are considered: in a long text the best of the first look. */
const CANDIDATES = 400

const better = (a: Sentence, b: Sentence, weights: ReadonlyMap<string, number>): number =>
  scoreOf(b, weights) - scoreOf(a, weights) || a.position - b.position

const choose = (sentences: ReadonlyArray<Sentence>, maxWords: number): ReadonlyArray<Sentence> => {
  const weights = frequencies(sentences)
  let left = maxWords
  let candidates = sentences
    .filter(({ length }) => length > 0 && length <= maxWords)
    .toSorted((a, b) => better(a, b, weights))
    .slice(0, CANDIDATES)
  const chosen: Array<Sentence> = []
  while (candidates.length > 0) {
    const best = candidates.reduce((one, other) => (better(one, other, weights) <= 0 ? one : other))
    chosen.push(best)
    left -= best.length
    for (const word of new Set(best.content)) weights.set(word, (weights.get(word) ?? 0) ** 2)
    candidates = candidates.filter((candidate) => candidate !== best && candidate.length <= left)
  }
  return chosen.toSorted((a, b) => a.position - b.position)
}

/** The first words of a text, as they stand. */
const truncate = (text: string, maxWords: number): string => {
  let left = maxWords
  let end = 0
  for (const word of words(text)) {
    if (left-- === 0) return `${text.slice(0, end)}…`
    end = word.end
  }
  return text
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (text: string, maxWords: number): { readonly summary: string; readonly word_count: number } => {
  const sentences = sentencesOf(text).map(read)
  const total = sentences.reduce((sum, { length }) => sum + length, 0)
  if (total <= maxWords) return { summary: text.trim(), word_count: total }
  const chosen = choose(sentences, maxWords)
  if (chosen.length > 0) {
    return {
      summary: chosen.map((sentence) => sentence.text).join(" "),
      word_count: chosen.reduce((sum, { length }) => sum + length, 0)
    }
  }
  const first = sentences.find(({ length }) => length > 0)
  return { summary: truncate(first?.text ?? "", maxWords), word_count: maxWords }
}
