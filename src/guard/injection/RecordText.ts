/**
 * Removes the structure of records from a text: field names do not join sentences, values are separate texts, and
 * string escapes are decoded. Text outside of records stays as it is.
 *
 * @since 0.1.0
 * @private
 */

import * as Steps from "../pipeline/Steps.js"
import * as RecordContainers from "./RecordContainers.js"
import * as RecordLines from "./RecordLines.js"

/** A text derived from another. */
export interface RecordText {
  readonly text: string
  /** Source place of each character; absent where nothing moved. */
  readonly map: ReadonlyArray<number> | undefined
}

function* applyEdits(given: RecordText, edits: ReadonlyArray<RecordLines.Edit>): Steps.Steps<RecordText> {
  if (edits.length === 0) return given
  const { text: source } = given
  const origin = (at: number): number => given.map?.[at] ?? at
  const map: Array<number> = []
  const pieces: Array<string> = []
  let done = 0
  const keep = (to: number): void => {
    pieces.push(source.slice(done, to))
    for (let i = done; i < to; i++) map.push(origin(i))
  }
  let pause = Steps.perStep
  for (const { end, start, text } of edits.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    if (start < done) continue
    if (start >= pause) {
      yield
      pause = start + Steps.perStep
    }
    keep(start)
    pieces.push(text)
    for (let i = 0; i < text.length; i++) map.push(origin(start))
    done = end
  }
  keep(source.length)
  return { text: pieces.join(""), map }
}

/** Depth of records within strings of records. */
const nestings = 4

/** Takes time linear in the text; returns the text itself if it has no record. */
export const make = (source: string): RecordText => Steps.finish(makeInSteps(source))

export function* makeInSteps(source: string): Steps.Steps<RecordText> {
  let read: RecordText = { text: source, map: undefined }
  for (let depth = 0; depth < nestings; depth++) {
    const { edits, isNested } = yield* RecordContainers.find(read.text)
    read = yield* applyEdits(read, edits)
    if (!isNested) break
  }
  return yield* applyEdits(read, yield* RecordLines.find(read.text))
}

/** Maps a place of the derived text to its source. */
export const placeOf = (
  { map }: RecordText,
  source: string,
  start: number,
  end: number
): { readonly start: number; readonly end: number } => {
  if (map === undefined) return { start, end }
  const from = map[start] ?? source.length
  return { start: from, end: Math.max(from, map[end] ?? source.length) }
}
