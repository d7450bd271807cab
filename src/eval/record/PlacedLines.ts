/**
 * Splits bytes into lines and says where each ends, so that a reader can go on there.
 *
 * @private
 * @since 0.1.0
 */
import * as Stream from "effect/Stream"

const LINE_FEED = 10

export interface PlacedLine {
  readonly text: string
  /** The offset of the byte after the line: that of its line break, if it has one. */
  readonly end: number
}

const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((size, { length }) => size + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** The lines of bytes, the first of which has the offset `from`. Bytes that are no UTF-8 become U+FFFD. */
export const split = <E, R>(bytes: Stream.Stream<Uint8Array, E, R>, from: number): Stream.Stream<PlacedLine, E, R> =>
  Stream.suspend(() => {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
    let open: Array<Uint8Array> = []
    let end = from
    const close = (): PlacedLine => {
      const text = decoder.decode(join(open))
      open = []
      return { text, end }
    }
    const add = (part: Uint8Array) => {
      open.push(part)
      end += part.length
    }
    const push = (chunk: Uint8Array): ReadonlyArray<PlacedLine> => {
      const lines: Array<PlacedLine> = []
      let start = 0
      for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, start)) {
        add(chunk.subarray(start, at))
        lines.push(close())
        end++
        start = at + 1
      }
      add(chunk.subarray(start))
      return lines
    }
    return Stream.concat(
      Stream.mapConcat(bytes, push),
      Stream.sync(() => close())
    )
  })
