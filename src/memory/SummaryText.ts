/**
 * Texts cut to a number of tokens, where sentences, words or at least characters end.
 *
 * @internal
 * @since 0.1.0
 */
import * as EntryGroups from "./EntryGroups.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import * as MemorySummary from "./MemorySummary.js"

type Counter = (text: string) => number

/** No tokenizer makes one token of so many characters, but of white space. */
export const perToken = 32

const ellipsis = "…"

const segmenters = {
  sentence: new Intl.Segmenter("en", { granularity: "sentence" }),
  word: new Intl.Segmenter("en", { granularity: "word" }),
  grapheme: new Intl.Segmenter("en", { granularity: "grapheme" })
} as const

/** The longest beginning that ends where a segment does and fits; empty when not even one segment does. */
const beginning = (
  text: string,
  granularity: keyof typeof segmenters,
  ending: string,
  maxTokens: number,
  count: Counter
): string => {
  const ends: Array<number> = []
  for (const { index, segment } of segmenters[granularity].segment(text)) ends.push(index + segment.length)
  const upTo = (index: number): string => text.slice(0, ends[index] as number).trimEnd()
  const fits = (index: number): boolean => upTo(index) !== "" && count(upTo(index) + ending) <= maxTokens
  let low = -1
  let high = ends.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    // Leading space fits nowhere and yet is too short.
    if (upTo(middle) === "" || fits(middle)) low = middle
    else high = middle
  }
  // More text may be fewer tokens, so that the search can end beside the bound.
  while (low >= 0 && !fits(low)) low--
  return low < 0 ? "" : upTo(low) + ending
}

/**
 * The text, or as much of its beginning as fits: whole words with an ellipsis behind, or characters where the first word is too long. Empty
 * when nothing fits. Reads no more of a huge text than could fit.
 */
export const cut = (text: string, maxTokens: number, count: Counter): string => {
  const most = maxTokens * perToken
  if (text.length <= most && count(text) <= maxTokens) return text
  const head = text.slice(0, most)
  const words = beginning(head, "word", ellipsis, maxTokens, count)
  return words === "" ? beginning(head, "grapheme", ellipsis, maxTokens, count) : words
}

/** As `cut`, but at the end of a sentence where that keeps half of what fits. */
export const cutSentences = (text: string, maxTokens: number, count: Counter): string => {
  const words = cut(text, maxTokens, count)
  if (words === text) return text
  const sentences = beginning(text.slice(0, maxTokens * perToken), "sentence", "", maxTokens, count)
  return 2 * sentences.length >= words.length ? sentences : words
}

/** How much each may have when they share what is there: the small ones what they need, the others alike. */
export const share = (needs: ReadonlyArray<number>, available: number): number => {
  let left = available
  const sorted = needs.toSorted((a, b) => a - b)
  for (let index = 0; index < sorted.length; index++) {
    const even = Math.floor(left / (sorted.length - index))
    if ((sorted[index] as number) > even) return even
    left -= sorted[index] as number
  }
  return available
}

/** Tokens of a line that say something. */
const leastLine = 8

const heading = /^\[summary of \d{1,16} turns\]\s*/

const lineOf = (entry: MemoryEntry, most: number): string => {
  const text = MemorySummary.isSummary(entry) ? entry.content.replace(heading, "") : entry.content
  return `- ${entry.role}: ${text.slice(0, most).replace(/\s+/g, " ").trim()}`
}

/**
 * What entries begin with, a line each, under a line that says how many turns they are. Where not all have room for a few words, the most
 * important do.
 */
export const extract = (entries: ReadonlyArray<MemoryEntry>, maxTokens: number, count: Counter): string => {
  const turns = entries.reduce((sum, entry) => sum + MemorySummary.turns(entry), 0)
  const title = `[summary of ${turns} turns]`
  let available = maxTokens - count(title)
  const fitting = Math.max(1, Math.floor(available / leastLine))
  const chosen =
    entries.length <= fitting
      ? entries
      : entries
          .toSorted((a, b) => b.importance - a.importance || EntryGroups.order(b, a))
          .slice(0, fitting)
          .toSorted(EntryGroups.order)
  const lines = chosen.map((entry) => lineOf(entry, maxTokens * perToken))
  const needs = lines.map((line) => count(line) + 1)
  while (available > 0) {
    const each = share(needs, available) - 1
    const parts = each < 1 ? [] : lines.map((line) => cut(line, each, count)).filter((line) => line !== "")
    const text = [title, ...parts].join("\n")
    if (parts.length > 0 && count(text) <= maxTokens) return text
    // Lines together may be more tokens than each alone.
    available -= Math.max(1, Math.floor(available / 16))
  }
  return cut(title, maxTokens, count)
}
