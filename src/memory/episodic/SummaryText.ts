/**
 * Cuts texts to a number of tokens at the end of a sentence, a word or a character.
 *
 * @private
 * @since 0.1.0
 */
import * as EntryGroups from "../entry/EntryGroups.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as MemorySummary from "./MemorySummary.js"

type Counter = (text: string) => number

/** No tokenizer makes one token of this many characters, except of white space. */
export const perToken = 32

const ellipsis = "…"

/** The first characters of a text. Never splits a surrogate pair. */
const head = (text: string, most: number): string => {
  if (text.length <= most) return text
  return text.slice(0, (text.charCodeAt(most - 1) & 0xfc00) === 0xd800 ? most - 1 : most)
}

const segmenters = {
  sentence: new Intl.Segmenter("en", { granularity: "sentence" }),
  word: new Intl.Segmenter("en", { granularity: "word" }),
  grapheme: new Intl.Segmenter("en", { granularity: "grapheme" })
} as const

/** How far before the limit a boundary is searched: segmenters need quadratic time for a long text. */
const lookBack = { sentence: 4000, word: 200, grapheme: 100 } as const

/** The number of characters that fit together with the ending. */
const fitting = (text: string, ending: string, maxTokens: number, count: Counter): number => {
  const fits = (length: number): boolean => count(head(text, length) + ending) <= maxTokens
  let low = 0
  let high = Math.min(text.length, Math.max(16, maxTokens))
  while (high < text.length && fits(high)) {
    low = high
    high = Math.min(text.length, 2 * high)
  }
  high++
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (fits(middle)) low = middle
    else high = middle
  }
  return low
}

/** The longest beginning that fits and ends at a segment boundary. Empty if no boundary is near enough. */
const beginning = (
  text: string,
  granularity: keyof typeof segmenters,
  ending: string,
  maxTokens: number,
  count: Counter
): string => {
  const most = fitting(text, ending, maxTokens, count)
  const from = head(text, Math.max(0, most - lookBack[granularity])).length
  const ends: Array<number> = []
  // Two more characters show whether a segment ends at the limit.
  for (const { index, segment } of segmenters[granularity].segment(text.slice(from, head(text, most + 2).length))) {
    const end = from + index + segment.length
    if (end <= most) ends.push(end)
  }
  // A shorter text can have more tokens, so the last one need not fit.
  for (const end of ends.reverse()) {
    const start = text.slice(0, end).trimEnd()
    if (start === "") break
    if (count(start + ending) <= maxTokens) return start + ending
  }
  return ""
}

/**
 * Cuts the text to what fits: whole words followed by an ellipsis, or characters if there is no word boundary. Empty if
 * nothing fits. Reads no more of a huge text than could fit.
 */
export const truncate = (text: string, maxTokens: number, count: Counter): string => {
  const most = maxTokens * perToken
  if (text.length <= most && count(text) <= maxTokens) return text
  const start = head(text, most)
  const words = beginning(start, "word", ellipsis, maxTokens, count)
  return words === "" ? beginning(start, "grapheme", ellipsis, maxTokens, count) : words
}

/** Like `cut`, but at the end of a sentence if that keeps half of what fits. */
export const cutSentences = (text: string, maxTokens: number, count: Counter): string => {
  const words = truncate(text, maxTokens, count)
  if (words === text) return text
  const sentences = beginning(head(text, maxTokens * perToken), "sentence", "", maxTokens, count)
  return 2 * sentences.length >= words.length ? sentences : words
}

/** The share of each of several needs: small ones get what they need, the others get equal parts. */
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

/** Minimum tokens of a useful line. */
const leastLine = 8

const heading = /^\[summary of \d{1,16} turns\]\s*/

const lineOf = (entry: MemoryEntry, most: number): string => {
  const text = MemorySummary.isSummary(entry) ? entry.content.replace(heading, "") : entry.content
  return `- ${entry.role}: ${head(text, most).replace(/\s+/g, " ").trim()}`
}

/**
 * The beginnings of the entries, one line each, under a line with the number of turns. If not all of them have room for
 * a few words, the most important do.
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
    const parts = each < 1 ? [] : lines.map((line) => truncate(line, each, count)).filter((line) => line !== "")
    const text = [title, ...parts].join("\n")
    if (parts.length > 0 && count(text) <= maxTokens) return text
    // Lines together may have more tokens than the sum of each.
    available -= Math.max(1, Math.floor(available / 16))
  }
  return truncate(title, maxTokens, count)
}
