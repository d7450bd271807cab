/**
 * Contents of a trace: what people, models and tools wrote. They are shown only if somebody asks for them.
 *
 * @private
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import * as PublicView from "../domain/PublicView.js"
import type { StoredFile } from "../domain/StoredFile.js"
import * as SecretText from "../internal/text/SecretText.js"

/**
 * Kinds of contents: messages to the run with their files, its answer, thoughts and judgments and plans, arguments of
 * calls with their forms, results of tools and updates of graphs, messages of errors, reasons of guards and people, and
 * the ids of users and sessions.
 *
 * @since 0.1.0
 * @category models
 */
export type Kind = "input" | "answer" | "reasoning" | "arguments" | "results" | "errors" | "reasons" | "identity"

/**
 * Which contents to show: all, none, or these kinds.
 *
 * @since 0.1.0
 * @category models
 */
export type Reveal = boolean | ReadonlyArray<Kind>

/**
 * A text or a value. It does not show in logs or JSON.
 *
 * @since 0.1.0
 * @category models
 */
export interface Content {
  readonly kind: Kind
  readonly value: Redacted.Redacted<unknown>
  /** Fields of the value that are never shown. */
  readonly secret?: ReadonlyArray<string> | undefined
}

export const make = (kind: Kind, value: unknown, secret?: ReadonlyArray<string> | undefined): Content => {
  const content = { kind, value: Redacted.make(value) }
  return secret === undefined ? content : { ...content, secret }
}

/** The names and addresses of files. */
export const ofFiles = (kind: Kind, files: ReadonlyArray<StoredFile>): Content | undefined => {
  const named = files.map(({ data, fileName }) => ({
    ...(fileName === undefined ? {} : { fileName }),
    ...("url" in data ? { url: data.url } : {})
  }))
  return named.some((file) => Object.keys(file).length > 0) ? make(kind, named) : undefined
}

/** `undefined` for an absent value and for an empty text. */
export const some = (kind: Kind, value: unknown, secret?: ReadonlyArray<string> | undefined): Content | undefined =>
  value === undefined || value === "" ? undefined : make(kind, value, secret)

export const isRevealed = ({ kind }: Content, reveal: Reveal): boolean =>
  typeof reveal === "boolean" ? reveal : reveal.includes(kind)

const CUT = "…"
const mostDepth = 24
/** A key that the cut falls into is not recognized: so many characters before the cut are left out. */
const margin = 256

/** At most so many characters, and none of a key. */
export const excerpt = (text: string, most: number): string => {
  if (text.length <= most) return SecretText.redact(text)
  const read = SecretText.redact(text.slice(0, most + margin))
  const end = text.length <= most + margin ? most : Math.min(most, read.length - margin)
  return `${read.slice(0, Math.max(0, end)).replace(/[\ud800-\udbff]$/, "")}${CUT}`
}

/** Copies a value as plain data until its characters are used up. Cycles end there, too. */
class Copy {
  constructor(private left: number) {}

  of(value: unknown, depth = 0): unknown {
    this.left -= 1
    switch (typeof value) {
      case "string":
        return this.text(value)
      case "bigint":
        return this.text(String(value))
      case "number":
      case "boolean":
        return value
      case "object":
        return value === null ? null : depth > mostDepth || this.left <= 0 ? CUT : this.object(value, depth)
      default:
        return null
    }
  }

  private text(value: string): string {
    const shown = excerpt(value, Math.max(0, this.left))
    this.left -= value.length
    return shown
  }

  private object(value: object, depth: number): unknown {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `${value.byteLength} bytes`
    if (value instanceof Date || Redacted.isRedacted(value)) return String(value)
    if (value instanceof Error) return this.text(`${value.name}: ${value.message}`)
    if (value instanceof Map) return this.list(value.entries(), depth)
    if (Array.isArray(value) || value instanceof Set) return this.list(value.values(), depth)
    const copy: Record<string, unknown> = {}
    for (const [name, member] of Object.entries(value)) {
      if (this.left <= 0) {
        copy[CUT] = true
        break
      }
      copy[name === "__proto__" ? "__proto__ " : this.text(name)] = this.of(member, depth + 1)
    }
    return copy
  }

  private list(values: Iterable<unknown>, depth: number): unknown {
    const copies: Array<unknown> = []
    for (const value of values) {
      if (this.left <= 0) {
        copies.push(CUT)
        break
      }
      copies.push(this.of(value, depth + 1))
    }
    return copies
  }
}

const unreadable = "(cannot be read)"

/**
 * A content as text of about `most` characters: a text as it is, anything else as JSON, without what the public
 * view of events hides as secret.
 */
export const textOf = ({ secret, value }: Content, most: number): string => {
  try {
    const whole = Redacted.value(value)
    if (typeof whole === "string" && (secret === undefined || secret.length === 0)) return excerpt(whole, most)
    const shown = PublicView.fromValue(new Copy(most).of(whole), secret)
    if (typeof shown === "string") return shown
    const line = JSON.stringify(shown) ?? "null"
    const text = line.length <= 72 ? line : JSON.stringify(shown, undefined, 2)
    return text.length <= 2 * most ? text : `${text.slice(0, 2 * most)}${CUT}`
  } catch {
    return unreadable
  }
}

export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** A whole number with separators, in every locale the same. */
export const number = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 0 })

/** What a content is without showing any of it: its type and its size. */
export const shapeOf = ({ value }: Content): string => {
  try {
    const whole = Redacted.value(value)
    if (whole === null || whole === undefined) return "nothing"
    if (typeof whole === "string") return counted(whole.length, "character")
    if (typeof whole !== "object") return typeof whole
    return Array.isArray(whole)
      ? `list of ${counted(whole.length, "item")}`
      : `object of ${counted(Object.keys(whole).length, "field")}`
  } catch {
    return unreadable
  }
}
