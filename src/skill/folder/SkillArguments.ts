/**
 * Replaces `$ARGUMENTS` in the instructions of a `SKILL.md`.
 *
 * @since 0.1.0
 */
import { stringify } from "../../tool/definition/Observation.js"

/**
 * Arguments of an activation: text, or values by name.
 *
 * @since 0.1.0
 * @category models
 */
export type Arguments = string | Readonly<Record<string, unknown>>

/**
 * Maximum characters that placeholders after the first may add to a body. Placeholders beyond that stay as they are:
 * many placeholders times long arguments would exceed what any model reads.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_REPEATED_LENGTH = 1_048_576

/** `$ARGUMENTS`, or its escape. A longer name (`$ARGUMENTS_FILE`) does not match. */
const placeholder = /\$?\$ARGUMENTS(?![A-Za-z0-9_])/g

const isPlainName = (name: string): boolean => /^[\p{L}\p{N}_.-]+$/u.test(name)

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * Formats arguments for a body: text as it is, otherwise `key='value', …` in the order of keys. Non-text values are
 * JSON, and values without a JSON form are left out. Quotes in values are doubled, and keys with characters other than
 * letters, digits, `_`, `.` and `-` are quoted, so that no value can pass for another argument.
 *
 * @since 0.1.0
 * @category conversions
 */
export const format = (params: Arguments): string => {
  if (typeof params === "string") return params
  const written: Array<string> = []
  for (const key of Object.keys(params)) {
    const value = stringify(params[key])
    if (value !== undefined) written.push(`${isPlainName(key) ? key : quoted(key)}=${quoted(value)}`)
  }
  return written.join(", ")
}

/**
 * Inserts arguments in place of `$ARGUMENTS`; without arguments, nothing. `$$ARGUMENTS` is the escape for a literal
 * `$ARGUMENTS`. Arguments are data: nothing in them is replaced again.
 *
 * Arguments without a placeholder follow the body under a heading `## Arguments`.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { SkillArguments } from "effect-lexigram/skill"
 *
 * SkillArguments.render("Translate $ARGUMENTS. Write $$ARGUMENTS to name them.", { text: "hello", to: "fr" })
 * // Translate text='hello', to='fr'. Write $ARGUMENTS to name them.
 * ```
 */
export const render = (body: string, params?: Arguments | undefined): string => {
  const given = params === undefined ? "" : format(params)
  let places = 0
  let left = MAX_REPEATED_LENGTH
  const rendered = body.replace(placeholder, (found) => {
    if (found.length === "$$ARGUMENTS".length) return "$ARGUMENTS"
    if (places++ > 0) left -= given.length
    return left < 0 ? found : given
  })
  return places > 0 || given === "" ? rendered : `${rendered.trimEnd()}\n\n## Arguments\n\n${given}\n`
}
