/**
 * Shortens texts and writes times for a model.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"

/** The text, or its beginning and its end with the number of characters between them. */
export const ends = (text: string, most: number): string => {
  if (text.length <= most) return text
  const half = Math.floor(most / 2)
  return `${text.slice(0, half)}[…${text.length - 2 * half}…]${text.slice(text.length - half)}`
}

/** The time in ISO 8601. Times beyond the calendar are its ends. */
export const time = (timestamp: number): string =>
  DateTime.formatIso(DateTime.unsafeMake(Math.min(Math.max(timestamp, -8.64e15), 8.64e15)))
