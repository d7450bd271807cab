/**
 * Measures turns in bytes, and cuts turns that are too large.
 *
 * @private
 * @since 0.1.0
 */
import type { NewTurn, TurnToolCall } from "./Session.js"

/**
 * The default maximum bytes of a turn: 4 MiB.
 *
 * @category constants
 */
export const defaultMaxBytes = 4 * 1024 * 1024

/** The size of numbers, booleans and nulls. */
const scalar = 8

/** The check of turns rejects deeper data. */
const deepest = 300

/** The bytes of plain data: texts in UTF-8, and a small constant for everything else. */
const bytesOf = (value: unknown, depth = 0): number => {
  if (typeof value === "string") return Buffer.byteLength(value)
  if (typeof value !== "object" || value === null || depth > deepest) return scalar
  let bytes = scalar
  if (Array.isArray(value)) {
    for (const one of value) bytes += bytesOf(one, depth + 1)
    return bytes
  }
  for (const key of Object.keys(value)) {
    bytes += Buffer.byteLength(key) + bytesOf((value as Record<string, unknown>)[key], depth + 1)
  }
  return bytes
}

type Sized = Pick<NewTurn, "content" | "files" | "toolCalls" | "skillResults" | "metadata">

const sumOf = (calls: ReadonlyArray<TurnToolCall>): number => calls.reduce((sum, call) => sum + bytesOf(call), 0)

/** What is stored of a turn besides its text and its calls. */
const restOf = ({ files, metadata, skillResults }: Sized): number =>
  bytesOf(metadata) + bytesOf(skillResults) + (files === undefined ? 0 : bytesOf(files))

/**
 * The bytes of a turn: its text, calls, results, metadata and references to files, all of which must be plain data.
 *
 * @category getters
 */
export const measure = (turn: Sized): number => Buffer.byteLength(turn.content) + sumOf(turn.toolCalls) + restOf(turn)

/** The beginning of a text, of at most this many bytes. */
const beginning = (text: string, bytes: number): string => {
  if (bytes <= 0) return ""
  const cut = Buffer.from(text.slice(0, bytes)).subarray(0, bytes)
  let end = cut.length
  // Not in the middle of a character.
  while (end > 0 && ((cut[end - 1] as number) & 0xc0) === 0x80) end--
  const last = cut[end - 1]
  const isWhole =
    last === undefined || last < 0x80 || cut.length - end + 1 === (last >= 0xf0 ? 4 : last >= 0xe0 ? 3 : 2)
  return cut.toString("utf8", 0, isWhole ? cut.length : end - 1)
}

/**
 * Cuts a turn to at most `most` bytes: it loses its oldest tool calls, then the end of its text, and a note is appended
 * to the text.
 *
 * @category combinators
 */
export const truncate = <T extends Sized>(turn: T, most: number): T => {
  const bytes = measure(turn)
  if (bytes <= most) return turn
  const note = `\n[Cut: this turn had ${bytes} bytes; ${most} are stored.]`
  let room = most - Buffer.byteLength(note) - restOf(turn)
  const text = Buffer.byteLength(turn.content)
  const kept: Array<TurnToolCall> = []
  let calls = 0
  for (const call of turn.toolCalls.toReversed()) {
    const size = bytesOf(call)
    if (calls + size > room - Math.min(text, room / 2)) break
    calls += size
    kept.unshift(call)
  }
  room -= calls
  return { ...turn, toolCalls: kept, content: `${text <= room ? turn.content : beginning(turn.content, room)}${note}` }
}
