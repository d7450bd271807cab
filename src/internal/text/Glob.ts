/**
 * Name patterns of policies and model lists: `*` matches any text, including none, `?` one UTF-16 code unit, and every
 * other character itself.
 *
 * @private
 * @since 0.1.0
 */

/**
 * A longer pattern matches nothing: the limit keeps matching linear in the length of the text.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_PATTERN_LENGTH = 256

/**
 * @since 0.1.0
 * @category models
 */
export type Matcher = (text: string) => boolean

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Case-insensitive. Default false. */
  readonly ignoreCase?: boolean | undefined
}

const STAR = 42
const QUESTION = 63

/**
 * A failed star consumes one more unit, and earlier stars are not revisited: at most text times pattern steps.
 */
const matches = (pattern: string, text: string): boolean => {
  let p = 0
  let t = 0
  let star = -1
  let taken = 0
  while (t < text.length) {
    const unit = p < pattern.length ? pattern.charCodeAt(p) : -1
    if (unit === STAR) {
      star = p++
      taken = t
    } else if (unit === QUESTION || (unit !== -1 && unit === text.charCodeAt(t))) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++taken
    } else {
      return false
    }
  }
  while (p < pattern.length && pattern.charCodeAt(p) === STAR) p++
  return p === pattern.length
}

const same = (text: string): string => text
const lower = (text: string): string => text.toLowerCase()
const never: Matcher = () => false

/**
 * Compiles a test that one of the patterns matches a whole text. Without patterns nothing matches.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (patterns: ReadonlyArray<string>, options?: Options | undefined): Matcher => {
  const fold = options?.ignoreCase === true ? lower : same
  const names = new Set<string>()
  const globs: Array<string> = []
  for (const pattern of patterns) {
    if (pattern.length > MAX_PATTERN_LENGTH) continue
    const folded = fold(pattern)
    if (folded.includes("*") || folded.includes("?")) globs.push(folded.replace(/\*{2,}/g, "*"))
    else names.add(folded)
  }
  if (names.size === 0 && globs.length === 0) return never
  if (globs.includes("*")) return () => true
  return (given) => {
    const text = fold(given)
    return names.has(text) || globs.some((glob) => matches(glob, text))
  }
}
