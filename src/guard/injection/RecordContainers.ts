/**
 * Finds objects and lists in braces and brackets, as in JSON, Python and YAML, anywhere in a text.
 *
 * @since 0.1.0
 * @private
 */

import * as Steps from "../pipeline/Steps.js"
import { boundary, type Edit, isInstructive } from "./RecordLines.js"

/** Length of a value that decides what a name without quotation marks means. */
const ownValue = 200

const deepest = 200

interface Frame {
  readonly id: number
  readonly isObject: boolean
  /** Token expected next; `after`: a value, a comma or the end. */
  next: "key" | "value" | "after"
  members: number
}

interface FramedEdit extends Edit {
  readonly frame: number
}

const opening = /[{[]|"(?=[ \t]{0,8}[{[])/g
const space = /[ \t\r\n]*/y
const plainKey = /[\p{L}\p{N}_$][\p{L}\p{N}_$./ -]{0,63}/uy
const plainValue = /[^,{}[\]\n]+/y
const memberEnd = /[,{}[\]\n]/

const lengthOf = (sticky: RegExp, text: string, at: number): number => {
  sticky.lastIndex = at
  return sticky.exec(text)?.[0].length ?? 0
}

/** Returns the text from an index to the end of the member. */
const memberAt = (text: string, start: number, end: number): string => {
  const shown = text.slice(start, end)
  const length = shown.search(memberEnd)
  return length < 0 ? shown : shown.slice(0, length)
}

/** A name of several words may itself be text. */
const isText = (name: string): boolean => {
  const words = name.trim().split(/\s+/)
  return words.length > 3 || (words.length > 1 && isInstructive(name))
}

const escapes: { readonly [letter: string]: string } = { n: "\n", r: "\n", t: " ", b: " ", f: " " }
const hex = /^[0-9a-fA-F]{4}$/

class Reader {
  readonly edits: Array<FramedEdit> = []
  readonly broken = new Set<number>()
  isNested = false
  private readonly frames: Array<Frame> = []
  // Index from which no string ends, by quotation mark; searched for once.
  private readonly endless = new Map<string | undefined, number>()
  private ids = 0
  private at = 0

  constructor(private readonly text: string) {}

  *read(): Steps.Steps<void> {
    const { text } = this
    let pause = Steps.perStep
    while (this.at < text.length) {
      if (this.at >= pause) {
        yield
        pause = this.at + Steps.perStep
      }
      const frame = this.frames[this.frames.length - 1]
      if (frame === undefined) this.outside()
      else {
        this.at += lengthOf(space, text, this.at)
        if (this.at < text.length) this.inside(frame)
      }
    }
    this.breakOff(this.at)
  }

  private inside(frame: Frame): void {
    const char = this.text[this.at]
    if (char === (frame.isObject ? "}" : "]") && (frame.next !== "value" || !frame.isObject)) {
      this.frames.pop()
      this.at++
    } else if (frame.next === "key") this.key(frame)
    else if (frame.next === "value") this.value(frame)
    else if (char === ",") {
      frame.next = frame.isObject ? "key" : "value"
      this.at++
    } else this.breakOff(this.at)
  }

  /** Closes all open records; one with two or more members counts up to here. */
  private breakOff(to: number): void {
    for (const frame of this.frames) if (frame.members < 2) this.broken.add(frame.id)
    this.frames.length = 0
    this.at = to
  }

  private put(frame: number, start: number, end: number, text: string): void {
    this.edits.push({ frame, start, end, text })
  }

  /** Index after the closing quotation mark of a string; -1 if it is not closed. */
  private stringEnd(from: number): number {
    const { text } = this
    const quote = text[from]
    if (from >= (this.endless.get(quote) ?? text.length)) return -1
    for (let i = from + 1; i < text.length; i++) {
      if (text[i] === "\\") i++
      else if (text[i] === quote) return i + 1
    }
    this.endless.set(quote, from)
    return -1
  }

  private open(): void {
    if (this.frames.length === deepest) this.breakOff(this.at)
    const isObject = this.text[this.at] === "{"
    this.frames.push({ id: ++this.ids, isObject, next: isObject ? "key" : "value", members: 0 })
    this.at++
  }

  private outside(): void {
    const { text } = this
    opening.lastIndex = this.at
    const match = opening.exec(text)
    this.at = match?.index ?? text.length
    if (match === null) return
    if (match[0] !== '"') {
      this.open()
      return
    }
    const end = this.stringEnd(this.at)
    if (end < 0 || !text.slice(this.at, end).includes("\\")) this.at++
    else {
      this.unescape(0, this.at, end)
      this.at = end
    }
  }

  private key(frame: Frame): void {
    const { at: start, text } = this
    const isQuoted = text[start] === '"' || text[start] === "'"
    const end = isQuoted ? this.stringEnd(start) : start + lengthOf(plainKey, text, start)
    if (end <= start) {
      this.breakOff(end < 0 ? start + 1 : start)
      return
    }
    const colon = end + lengthOf(space, text, end)
    if (text[colon] !== ":") {
      this.breakOff(colon)
      return
    }
    const isKept = isQuoted
      ? isText(text.slice(start + 1, end - 1))
      : isInstructive(memberAt(text, start, colon + ownValue))
    if (!isKept) this.put(frame.id, start, colon + 1, boundary)
    else {
      this.put(frame.id, start, start, boundary)
      if (isQuoted) this.put(frame.id, colon, colon + 1, boundary)
    }
    frame.next = "value"
    this.at = colon + 1
  }

  private value(frame: Frame): void {
    const { at, text } = this
    const first = text[at]
    frame.next = "after"
    frame.members++
    if (first === "{" || first === "[") this.open()
    else if (first === '"' || first === "'") {
      const end = this.stringEnd(at)
      if (end < 0 && first === "'") this.breakOff(at + 1)
      else {
        // An unclosed string was cut off.
        this.unescape(frame.id, at, end < 0 ? text.length + 1 : end)
        this.at = end < 0 ? text.length : end
      }
    } else {
      const length = lengthOf(plainValue, text, at)
      if (length === 0) this.breakOff(at)
      else this.at += length
    }
  }

  /** Replaces the escapes of a string by the characters they represent. */
  private unescape(frame: number, start: number, end: number): void {
    const { text } = this
    let holdsQuotes = false
    let holdsRecord = false
    for (let i = start + 1; i < end - 1; i++) {
      const char = text[i]
      if (char === "{" || char === "[") holdsRecord = true
      if (char !== "\\") continue
      const letter = text[i + 1] ?? ""
      const digits = letter === "u" ? text.slice(i + 2, i + 6) : ""
      if (letter === '"' || letter === "'") holdsQuotes = true
      if (hex.test(digits)) {
        this.put(frame, i, i + 6, String.fromCharCode(Number.parseInt(digits, 16)))
        i += 5
      } else {
        this.put(frame, i, i + 2, escapes[letter] ?? letter)
        i++
      }
    }
    if (holdsQuotes && holdsRecord) this.isNested = true
    // Blanks the quotation marks: they quote nothing.
    this.put(frame, start, start + 1, " ")
    this.put(frame, end - 1, end, " ")
  }
}

/**
 * Finds the edits that replace the frames of records; `isNested` if a string may contain another record. Takes time
 * linear in the text.
 */
export function* find(text: string): Steps.Steps<{ readonly edits: ReadonlyArray<Edit>; readonly isNested: boolean }> {
  const reader = new Reader(text)
  yield* reader.read()
  return { edits: reader.edits.filter(({ frame }) => !reader.broken.has(frame)), isNested: reader.isNested }
}
