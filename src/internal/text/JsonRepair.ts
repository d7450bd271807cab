/**
 * Parses JSON written by models: repairs near-JSON, bounds size and work, and drops the keys that poison prototypes.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { jsonrepair } from "jsonrepair"

/**
 * Reason why a text has no value. `message` is for the model: it names the fault and quotes only single characters of
 * the text.
 *
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason: "invalid" | "too-deep" | "too-large"
  readonly message: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Longest text that is repaired, in UTF-16 units; valid JSON may be longer. Default 32,768. */
  readonly maxChars?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultMaxChars = 32_768

/**
 * Deepest nesting of a value.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxDepth = 256

const failure = (reason: Failure["reason"], message: string): Either.Either<never, Failure> =>
  Either.left({ reason, message })

const tooDeep = failure("too-deep", `The JSON is nested deeper than ${maxDepth} levels.`)

// `constructor` alone is an ordinary key; only with a `prototype` inside can a careless deep merge reach
// Object.prototype.
const isPoison = (key: string, value: unknown): boolean =>
  key === "__proto__" ||
  (key === "constructor" && typeof value === "object" && value !== null && Object.hasOwn(value, "prototype"))

/** Drops poisonous keys in place, without recursion; false if the value is nested too deeply. */
const sanitize = (root: unknown): boolean => {
  let level: Array<object> = typeof root === "object" && root !== null ? [root] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    const next: Array<object> = []
    for (const node of level) {
      const isArray = Array.isArray(node)
      for (const [key, value] of Object.entries(node)) {
        if (!isArray && isPoison(key, value)) Reflect.deleteProperty(node, key)
        else if (typeof value === "object" && value !== null) next.push(value)
      }
    }
    level = next
  }
  return true
}

// Both keys can be written with \u escapes, hence the third check.
const needsCare = (text: string): boolean =>
  text.length > 2 * maxDepth || text.includes("__proto__") || text.includes("constructor") || text.includes("\\u")

/**
 * Parses strict JSON, without the poisonous keys.
 *
 * @since 0.1.0
 * @category conversions
 */
export const decode = (text: string): Either.Either<unknown, Failure> => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return failure("invalid", "The text is not valid JSON.")
  }
  return !needsCare(text) || sanitize(value) ? Either.right(value) : tooDeep
}

class OverBudget extends Error {}

/**
 * Text that counts its reads. The repairer restarts a string at every doubtful quote, which takes seconds for a few
 * thousand hostile characters and cannot be interrupted, so reading itself ends the work.
 */
class Metered extends String {
  #left: number
  constructor(text: string, reads: number) {
    super(text)
    this.#left = reads
  }
  override charAt(index: number): string {
    if (--this.#left < 0) throw new OverBudget()
    return super.charAt(index)
  }
  override charCodeAt(index: number): number {
    if (--this.#left < 0) throw new OverBudget()
    return super.charCodeAt(index)
  }
}

const isOpening = (code: number): boolean => code === 91 || code === 123
const isClosing = (code: number): boolean => code === 93 || code === 125
const isQuote = (code: number): boolean => code === 34 || code === 39 || code === 96

/**
 * True if a text may nest deeper than `maxDepth`. The repairer recurses, and V8 aborts the process when it compiles an
 * expression near the end of the stack. Closing brackets within quotes of any kind do not count.
 */
const mayNestTooDeep = (text: string): boolean => {
  let depth = 0
  let quote = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isOpening(code)) {
      if (++depth > maxDepth) return true
    } else if (quote !== 0) {
      if (code === quote) quote = 0
    } else if (isQuote(code)) quote = code
    else if (isClosing(code) && depth > 0) depth--
  }
  return false
}

const readsPerChar = 4
const readsAtLeast = 20_000

/**
 * Parses a text: strict JSON first, else the repaired text (missing quotes, commas and brackets, single quotes,
 * comments, Python words, code fences, truncation). Takes time linear in the text up to `maxChars`, and does not repair
 * longer text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (text: string, options?: Options | undefined): Either.Either<unknown, Failure> => {
  const strict = decode(text)
  if (Either.isRight(strict) || strict.left.reason !== "invalid") return strict
  const maxChars = options?.maxChars ?? defaultMaxChars
  if (text.length > maxChars) {
    return failure(
      "too-large",
      `The text is not valid JSON, and longer than the ${maxChars} characters that are repaired.`
    )
  }
  if (mayNestTooDeep(text)) return tooDeep
  let repaired: string
  try {
    repaired = jsonrepair(new Metered(text, readsAtLeast + readsPerChar * text.length) as unknown as string)
  } catch (error) {
    // The repairer recurses: a RangeError is its stack overflow.
    if (error instanceof RangeError) return tooDeep
    if (error instanceof OverBudget) return failure("invalid", "The text is not valid JSON, and too broken to repair.")
    return failure("invalid", `The text is not valid JSON: ${error instanceof Error ? error.message : "unreadable"}.`)
  }
  return decode(repaired)
}

/**
 * A balanced object or array.
 *
 * @since 0.1.0
 * @category models
 */
interface Balanced {
  /** End of the value, exclusive. */
  readonly end: number
  /** Its text, with line breaks and tabs inside strings escaped, as models often forget. */
  readonly text: string
}

const escapes: { readonly [char: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/**
 * Finds the value that begins with the bracket at `from`; `undefined` if there is no bracket or it is never closed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const balancedAt = (text: string, from: number): Balanced | undefined => {
  if (text[from] !== "{" && text[from] !== "[") return undefined
  let depth = 0
  let inString = false
  let out = ""
  let copied = from
  for (let i = from; i < text.length; i++) {
    const char = text[i]!
    if (inString) {
      if (char === "\\") i++
      else if (char === '"') inString = false
      else if (char === "\n" || char === "\r" || char === "\t") {
        out += text.slice(copied, i) + escapes[char]
        copied = i + 1
      }
    } else if (char === '"') inString = true
    else if (char === "{" || char === "[") depth++
    else if ((char === "}" || char === "]") && --depth === 0) {
      return { end: i + 1, text: out + text.slice(copied, i + 1) }
    }
  }
  return undefined
}
