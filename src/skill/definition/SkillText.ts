/**
 * Formats text of skills for models, so that nothing in it can be mistaken for its surroundings.
 *
 * @private
 * @since 0.1.0
 */
import * as VisibleText from "../../internal/text/VisibleText.js"

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;"
}

/**
 * Escapes to one line without markup.
 *
 * @since 0.1.0
 * @category conversions
 */
export const escape = (text: string): string =>
  VisibleText.visible(text.replace(/\s+/g, " ").trim()).replace(/[&<>"']/g, (sign) => entities[sign] as string)

/**
 * A name for a message: one line, bounded.
 *
 * @since 0.1.0
 * @category conversions
 */
export const name = (text: string): string => VisibleText.visible(text.slice(0, 128))

/** Line ends and tabs structure the text; joiner and variation selector of emoji hide nothing. */
const kept = /([\n\t]|\u200d|\ufe0f)/

/**
 * Keeps lines, and replaces invisible characters by their code points.
 *
 * @since 0.1.0
 * @category conversions
 */
export const lines = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .split(kept)
    .map((part, index) => (index % 2 === 1 ? part : VisibleText.visible(part)))
    .join("")

/**
 * Part of a text from an offset, never cutting a character.
 *
 * @since 0.1.0
 * @category models
 */
export interface Page {
  readonly text: string
  readonly offset: number
  readonly end: number
  /** Length of the whole text. */
  readonly length: number
}

const isWithinPair = (text: string, at: number): boolean =>
  at > 0 &&
  at < text.length &&
  (text.charCodeAt(at) & 0xfc00) === 0xdc00 &&
  (text.charCodeAt(at - 1) & 0xfc00) === 0xd800

/**
 * @since 0.1.0
 * @category constructors
 */
export const page = (text: string, options: { readonly offset: number; readonly maxChars: number }): Page => {
  const at = Math.min(Math.max(0, Math.floor(options.offset) || 0), text.length)
  const offset = isWithinPair(text, at) ? at - 1 : at
  const until = Math.min(text.length, offset + Math.max(2, options.maxChars))
  const end = isWithinPair(text, until) ? until - 1 : until
  return { text: text.slice(offset, end), offset, end, length: text.length }
}
