/**
 * Reads JSON while it arrives. Each character is read once; the value so far shares with earlier ones what has not
 * changed since.
 *
 * @private
 * @since 0.1.0
 */
import * as JsonRepair from "./JsonRepair.js"

type Container = Array<unknown> | { [key: string]: unknown }

interface Frame {
  value: Container
  /** The key or index in the container above. */
  readonly place: string | number
  /** Items or members that have ended. */
  items: number
  /** A reader may hold the value: it is copied before it changes. */
  isShared: boolean
  /** Under a key that is dropped. */
  readonly isDropped: boolean
}

/** The string, number or literal that is being read. */
interface Token {
  readonly kind: "key" | "string" | "plain"
  text: string
  /** The part of an escape that was read. */
  escape: string
}

type Expected = "start" | "value" | "first-item" | "first-key" | "key" | "colon" | "comma" | "fence"

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const literals: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["false", false],
  ["null", null]
])
/** Longest number or literal. */
const maxPlain = 1_000
const delimiter = /[,\]}\s]/
const space = /[ \t\r\n]/
const control = /[^ -\uffff]/
const special = /["\\]/g
const hex = /^[0-9a-fA-F]{4}$/
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"]
])

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff

/**
 * A value that arrives in pieces. Strings grow; numbers and literals appear when they have ended, members when their
 * value has begun. A text that is not JSON ends it: `value` stays what it was. Text before a code fence or a value,
 * other than white space, is not JSON. Keys that could poison a prototype are dropped.
 *
 * @category models
 */
export class PartialJson {
  value: unknown
  state: "reading" | "whole" | "invalid" = "reading"
  private expected: Expected = "start"
  private readonly frames: Array<Frame> = []
  private key = ""
  private token: Token | undefined
  private changed = false

  /** Reads a piece; true if the value has changed. */
  push(piece: string): boolean {
    this.changed = false
    let at = 0
    while (at < piece.length && this.state === "reading") at = this.read(piece, at)
    const { token } = this
    if (token?.kind === "string" && this.state === "reading") this.put(shown(token.text))
    for (const frame of this.frames) frame.isShared = true
    return this.changed
  }

  private read(piece: string, at: number): number {
    if (this.token?.kind === "plain") return this.readPlain(this.token, piece, at)
    if (this.token !== undefined) return this.readString(this.token, piece, at)
    const char = piece[at] as string
    if (this.expected === "fence") {
      if (char === "\n") this.expected = "start"
      return at + 1
    }
    if (!space.test(char)) this.readMark(char)
    return at + 1
  }

  private readMark(char: string): void {
    const { expected } = this
    const top = this.frames.at(-1)?.value
    if (expected === "start" && char === "`") this.expected = "fence"
    else if (expected === "colon") this.expect(char === ":", "value")
    else if (expected === "comma" && char === ",") this.expected = Array.isArray(top) ? "value" : "key"
    else if (char === "]" && Array.isArray(top) && (expected === "comma" || expected === "first-item")) this.close()
    else if (char === "}" && !Array.isArray(top) && (expected === "comma" || expected === "first-key")) this.close()
    else if (expected === "key" || expected === "first-key") {
      this.expect(char === '"', expected)
      this.token = { kind: "key", text: "", escape: "" }
    } else if (expected === "value" || expected === "first-item" || expected === "start") this.begin(char)
    else this.state = "invalid"
  }

  private expect(isExpected: boolean, next: Expected): void {
    if (isExpected) this.expected = next
    else this.state = "invalid"
  }

  /** Begins a value. */
  private begin(char: string): void {
    if (char === "{" || char === "[") this.open(char === "{" ? {} : [])
    else if (this.expected === "start") this.state = "invalid"
    else if (char === '"') {
      this.token = { kind: "string", text: "", escape: "" }
      this.put("")
    } else this.token = { kind: "plain", text: char, escape: "" }
  }

  private open(value: Container): void {
    if (this.frames.length >= JsonRepair.maxDepth) {
      this.state = "invalid"
      return
    }
    const above = this.frames.at(-1)
    const isDropped = this.put(value)
    const place = above === undefined ? "" : this.placeIn(above)
    this.frames.push({ value, place, items: 0, isShared: false, isDropped })
    this.expected = Array.isArray(value) ? "first-item" : "first-key"
  }

  private close(): void {
    this.frames.pop()
    this.ended()
  }

  /** The value that was read, or begun and closed, is whole. */
  private ended(): void {
    this.token = undefined
    const top = this.frames.at(-1)
    if (top === undefined) {
      this.state = "whole"
      return
    }
    top.items++
    this.expected = "comma"
  }

  /** Where the value that is being read stands in its container. */
  private placeIn({ items, value }: Frame): string | number {
    return Array.isArray(value) ? items : this.key
  }

  /** Puts the value that is being read where it belongs; true if it is dropped. */
  private put(value: unknown): boolean {
    const top = this.frames.at(-1)
    if (top === undefined) this.value = value
    else {
      const place = this.placeIn(top)
      if (top.isDropped || place === "__proto__" || (place === "prototype" && top.place === "constructor")) return true
      const container = this.own(this.frames.length - 1) as { [place: string | number]: unknown }
      container[place] = value
    }
    this.changed = true
    return false
  }

  /** The container of a frame, which no reader holds. */
  private own(index: number): Container {
    const frame = this.frames[index] as Frame
    if (!frame.isShared) return frame.value
    frame.value = Array.isArray(frame.value) ? frame.value.slice() : { ...frame.value }
    frame.isShared = false
    if (index === 0) this.value = frame.value
    else (this.own(index - 1) as { [place: string | number]: unknown })[frame.place] = frame.value
    return frame.value
  }

  /** Numbers and literals end at what follows them. */
  private readPlain(token: Token, piece: string, at: number): number {
    let end = at
    while (end < piece.length && !delimiter.test(piece[end] as string)) end++
    token.text += piece.slice(at, end)
    if (end === piece.length && token.text.length <= maxPlain) return end
    if (token.text.length > maxPlain) this.state = "invalid"
    else if (literals.has(token.text)) this.put(literals.get(token.text))
    else if (number.test(token.text)) this.put(Number(token.text))
    else this.state = "invalid"
    if (this.state === "reading") this.ended()
    return end
  }

  private readString(token: Token, piece: string, at: number): number {
    if (token.escape !== "") return this.readEscape(token, piece[at] as string, at)
    special.lastIndex = at
    const end = special.exec(piece)?.index ?? piece.length
    const text = piece.slice(at, end)
    if (control.test(text)) {
      this.state = "invalid"
      return end
    }
    token.text += text
    if (end === piece.length) return end
    if (piece[end] === "\\") token.escape = "\\"
    else if (token.kind === "key") {
      this.key = token.text
      this.token = undefined
      this.expected = "colon"
    } else {
      this.put(token.text)
      this.ended()
    }
    return end + 1
  }

  private readEscape(token: Token, char: string, at: number): number {
    token.escape += char
    const { escape } = token
    const simple = escape.length === 2 ? escapes.get(char) : undefined
    const isUnit = escape[1] === "u" && (escape.length < 3 || hex.test(escape.slice(2).padEnd(4, "0")))
    if (simple !== undefined) token.text += simple
    else if (!isUnit) this.state = "invalid"
    else if (escape.length === 6) token.text += String.fromCharCode(Number.parseInt(escape.slice(2), 16))
    else return at + 1
    token.escape = ""
    return at + 1
  }
}

/** A surrogate pair appears as a whole. */
const shown = (text: string): string => (isHigh(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text)
