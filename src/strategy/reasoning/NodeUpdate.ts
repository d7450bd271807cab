/**
 * Bounds what an event shows of a graph update: the changed fields, without messages, in a limited number of bytes.
 *
 * @since 0.1.0
 */

/**
 * Maximum bytes of JSON for the update of one `NodeFinished` event, unless its graph sets another limit for the node.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_BYTES = 4096

/**
 * Marks a truncated text, and is the last member of a truncated list or record.
 *
 * @since 0.1.0
 * @category constants
 */
export const TRUNCATED = "…[truncated]"

const maxDepth = 16

/** The bytes of the mark as a member, with quotes, colon, value and comma. */
const mark = 24

/** Every list and record on the path to the truncation may carry the mark. */
const reserve = mark * (maxDepth + 2)

const roles = new Set<unknown>(["system", "user", "assistant", "tool"])

const isMessage = (value: object): boolean => {
  const { content, role } = value as { readonly role?: unknown; readonly content?: unknown }
  return roles.has(role) && (typeof content === "string" || Array.isArray(content))
}

/** The maximum bytes of a character in JSON as UTF-8. */
const bytesOf = (code: number): number =>
  code < 0x20 || (code >= 0xd800 && code <= 0xdfff) ? 6 : code < 0x80 ? (code === 34 || code === 92 ? 2 : 1) : 3

class Omitted {}
const omitted = new Omitted()

/**
 * Copies a value as its JSON would be, until the bytes are used up. Time and memory depend on the bytes, not on the
 * value.
 */
class Copy {
  private left: number

  constructor(bytes: number) {
    this.left = bytes - reserve
  }

  value(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
        return this.text(value)
      case "number":
        return this.atom(Number.isFinite(value) ? value : null, 24)
      case "boolean":
        return this.atom(value, 5)
      case "bigint":
        return this.text(String(value))
      case "object":
        if (value === null) return this.atom(null, 4)
        return depth > maxDepth ? this.text(TRUNCATED) : this.object(value, depth)
      default:
        return omitted
    }
  }

  private atom<A>(value: A, bytes: number): A {
    this.left -= bytes
    return value
  }

  private text(value: string): string {
    this.left -= 2
    let end = 0
    while (end < value.length && this.left > 0) this.left -= bytesOf(value.charCodeAt(end++))
    if (end === value.length) return value
    this.left = 0
    return value.slice(0, end).replace(/[\ud800-\udbff]$/, "") + TRUNCATED
  }

  private object(value: object, depth: number): unknown {
    this.left -= 2
    if (isMessage(value)) return omitted
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : this.text(value.toISOString())
    if (Symbol.iterator in value) return this.list(value as Iterable<unknown>, depth)
    return this.record(value as Record<string, unknown>, depth)
  }

  private list(values: Iterable<unknown>, depth: number): unknown {
    const copies: Array<unknown> = []
    let messages = 0
    for (const value of values) {
      if (this.left <= 0) {
        copies.push(TRUNCATED)
        return copies
      }
      this.left -= 1
      const copy = this.value(value, depth + 1)
      if (copy !== omitted) copies.push(copy)
      else if (++messages > 64) break
    }
    return copies.length === 0 && messages > 0 ? omitted : copies
  }

  private record(fields: Record<string, unknown>, depth: number): unknown {
    const copy: Record<string, unknown> = {}
    for (const key of Object.keys(fields)) {
      const bytes = key.length * 6 + 4
      if (this.left - bytes <= 0) {
        copy[TRUNCATED] = true
        this.left = 0
        break
      }
      const before = this.left
      const field = this.value(fields[key], depth + 1)
      if (field === omitted) {
        this.left = before
        continue
      }
      this.left -= key.length + 4
      if (key !== "__proto__") copy[key] = field
    }
    return copy
  }
}

/** The added part of a list that only grew. */
const added = (before: unknown, after: unknown): unknown =>
  Array.isArray(before) &&
  Array.isArray(after) &&
  before.length > 0 &&
  after.length >= before.length &&
  after[0] === before[0] &&
  after[before.length - 1] === before[before.length - 1]
    ? after.slice(before.length)
    : after

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Fields of the state that events never show. */
  readonly hidden?: ReadonlyArray<string> | undefined
  /** Bytes for the updates of individual nodes; default `MAX_BYTES`. */
  readonly maxBytes?: { readonly [node: string]: number | undefined } | undefined
}

/**
 * The visible updates of one run. Messages and hidden fields are omitted, a list that only grew is reduced to what was
 * added, and the whole fits the bytes of the node. A truncated value carries `TRUNCATED`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { NodeUpdate } from "effect-lexigram/strategy"
 *
 * const show = NodeUpdate.make({ hidden: ["token"], maxBytes: { search: 1_024 } })
 *
 * console.log(show("plan", { steps: ["search"], token: "s3cret" })) // { steps: [ 'search' ] }
 * ```
 */
export const make = (options: Options = {}): ((node: string, update: object) => object) => {
  const hidden = new Set(options.hidden)
  const known = new Map<string, unknown>()
  return (node, update) => {
    const fields: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(update)) {
      if (hidden.has(key)) continue
      fields[key] = added(known.get(key), value)
      if (Array.isArray(value)) known.set(key, value)
    }
    return new Copy(options.maxBytes?.[node] ?? MAX_BYTES).value(fields, 0) as object
  }
}

/**
 * A value without messages, in at most `MAX_BYTES` of JSON.
 *
 * @since 0.1.0
 * @category conversions
 */
export const bounded = (value: unknown): unknown => {
  const copy = new Copy(MAX_BYTES).value(value, 0)
  return copy === omitted ? undefined : copy
}
