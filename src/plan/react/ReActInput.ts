/**
 * Reads the input of a ReAct action, from the text after its marker to a value.
 *
 * @private
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import * as ReActMarker from "./ReActMarker.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Json = { readonly [key: string]: unknown }

const recordOf = (result: Either.Either<unknown, JsonRepair.Failure>): Json | undefined =>
  Either.isRight(result) && Predicate.isReadonlyRecord(result.right) ? (result.right as Json) : undefined

const count = (text: string, part: string): number => {
  let found = 0
  for (let i = text.indexOf(part); i !== -1; i = text.indexOf(part, i + part.length)) found++
  return found
}

/**
 * The text without the closing fence of a block that was opened before it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const withoutForeignFence = (text: string): string =>
  text.endsWith("```") && count(text, "```") % 2 === 1 && text.length > 3 ? text.slice(0, -3).trimEnd() : text

// The second quote is an opening one as well: the first one encloses it.
const nested = /^"[^"]*[\s([]"[^\s"]/

/** Removes quotes that enclose the text (`"a "b" c"`, but not `"a" or "b"`), or that stand alone at one end. */
const unquote = (text: string): string => {
  for (const quote of ['"', "'"]) {
    const starts = text.startsWith(quote)
    const ends = text.endsWith(quote)
    const quotes = starts || ends ? count(text, quote) : 0
    if (starts && ends && quotes % 2 === 0 && (quotes === 2 || nested.test(text))) return text.slice(1, -1)
    if (quotes === 1 && quote === '"') return (starts ? text.slice(1) : text.slice(0, -1)).trim()
  }
  return text
}

/**
 * The object at the beginning of a text, repaired if necessary.
 *
 * @since 0.1.0
 * @category conversions
 */
export const leadingRecord = (text: string): Json | undefined => {
  const balanced = JsonRepair.balancedAt(text, 0)
  return (
    (balanced === undefined ? undefined : recordOf(JsonRepair.decode(balanced.text))) ??
    recordOf(JsonRepair.parse(text)) ??
    (balanced === undefined ? undefined : recordOf(JsonRepair.parse(text.slice(0, balanced.end))))
  )
}

/** The object after an introduction (`The input is: {…}`): strict JSON, with nothing else on its last line. */
const introducedRecord = (text: string): Json | undefined => {
  const from = text.indexOf("{")
  if (from <= 0) return undefined
  const before = text.slice(0, from).trimEnd()
  const balanced =
    before.endsWith(":") || ReActMarker.isFence(before.slice(before.lastIndexOf("\n") + 1))
      ? JsonRepair.balancedAt(text, from)
      : undefined
  if (balanced === undefined || /^[ \t]{0,8}[^\s`]/.test(text.slice(balanced.end, balanced.end + 16))) return undefined
  return recordOf(JsonRepair.decode(balanced.text))
}

const decodeFenced = (block: string): unknown => {
  const language = block
    .slice(3, Math.min(ReActMarker.endOfLine(block, 0), 3 + ReActMarker.window))
    .trim()
    .toLowerCase()
  const inner = block.slice(ReActMarker.endOfLine(block, 0)).trim()
  const content = ReActMarker.isFence(inner.slice(-3)) ? inner.slice(0, -3).trim() : inner
  if (content === "") return {}
  const record =
    content.startsWith("{") && (language === "" || language.startsWith("json"))
      ? leadingRecord(content)
      : recordOf(JsonRepair.decode(content))
  // Code is an input of its own: the tool that runs it decides about the fence.
  return record ?? block
}

// `Action Input:** x` closes the emphasis of its marker; `**/*.ts` is an input.
const closesEmphasis = /^\*\*(?=\s|$)/

/**
 * An input as written, without surrounding emphasis and fence.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bare = (raw: string): string => withoutForeignFence(raw.replace(closesEmphasis, "").trim())

/**
 * The value of an input as written: decoded or repaired JSON, `{}` for none, else the text without enclosing quotes.
 * Fenced code stays as it is.
 *
 * @since 0.1.0
 * @category conversions
 */
export const decode = (raw: string): unknown => {
  const text = bare(raw)
  if (text === "" || text === "null" || text === "None") return {}
  if (ReActMarker.isFence(text)) return decodeFenced(text)
  const json = text.startsWith("`{") && text.endsWith("}`") ? text.slice(1, -1) : text
  const strict = JsonRepair.decode(json)
  if (Either.isRight(strict)) return strict.right
  return (json.startsWith("{") ? leadingRecord(json) : introducedRecord(json)) ?? unquote(text)
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Input {
  readonly value: unknown
  readonly raw: string
  /** The end of the input, exclusive. */
  readonly end: number
}

/** The end of the fenced block that opens at `from`, exclusive; `undefined` if nothing closes it. */
const fencedBlockEnd = (text: string, from: number): number | undefined => {
  const fence = text.slice(from, from + 3)
  for (
    let line = ReActMarker.endOfLine(text, from) + 1;
    line < text.length;
    line = ReActMarker.endOfLine(text, line) + 1
  ) {
    const end = ReActMarker.endOfLine(text, line)
    if (end - line < ReActMarker.window && text.slice(line, end).trim() === fence) return end
  }
  return undefined
}

/**
 * Reads the input at `from`. A JSON value and a closed fenced block are data as a whole, including markers inside them;
 * anything else ends at the next marker.
 *
 * @since 0.1.0
 * @category conversions
 */
export const read = (text: string, from: number): Input => {
  let start = from
  while (start < text.length && text.charCodeAt(start) <= 32) start++
  if (ReActMarker.isFence(text.slice(start, start + 3))) {
    const end = fencedBlockEnd(text, start)
    if (end !== undefined) {
      const raw = text.slice(start, end).trim()
      return { value: decode(raw), raw, end }
    }
  }
  const balanced = JsonRepair.balancedAt(text, start)
  const isJson = balanced !== undefined && Either.isRight(JsonRepair.decode(balanced.text))
  const ownLine = text.lastIndexOf("\n", start) + 1
  // A line of its own may be the next marker instead of the input.
  const search = isJson
    ? ReActMarker.nextLine(text, balanced.end)
    : ownLine > from
      ? ownLine
      : ReActMarker.nextLine(text, start)
  const end = ReActMarker.next(text, search, ReActMarker.boundaries)?.line ?? text.length
  const raw = text.slice(start, end).trim()
  return { value: decode(raw), raw, end: Math.max(start, end) }
}
