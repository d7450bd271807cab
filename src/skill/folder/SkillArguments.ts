/**
 * Arguments of a `SKILL.md`: what `$ARGUMENTS` in its instructions stands for.
 *
 * @since 0.1.0
 */
import { stringify } from "../../tool/definition/Observation.js"

/**
 * What a skill is activated with: a text, or values by name.
 *
 * @since 0.1.0
 * @category models
 */
export type Arguments = string | Readonly<Record<string, unknown>>

/**
 * Characters that placeholders after the first may add to a body in all. Those for which nothing is left stay as they
 * are: many placeholders times long arguments would be more than any model reads.
 *
 * @since 0.1.0
 * @category constants
 */
export const MAX_REPEATED_LENGTH = 1_048_576

/** `$ARGUMENTS`, or its escape. A longer name (`$ARGUMENTS_FILE`) is something else. */
const placeholder = /\$?\$ARGUMENTS(?![A-Za-z0-9_])/g

const isPlainName = (name: string): boolean => /^[\p{L}\p{N}_.-]+$/u.test(name)

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * Arguments as they stand in a body: a text as it is, else `key='value', …` in the order of the keys. What is no text
 * stands as JSON, and what has no JSON form is left out. A quote within a value is doubled, and a key that is not made
 * of letters, digits, `_`, `.` and `-` is quoted: no value can pass for another argument.
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
 * A body with its arguments in the place of `$ARGUMENTS`; without arguments nothing stands there. `$$ARGUMENTS` is the
 * escape, for a `$ARGUMENTS` that is meant as text. Arguments are data: nothing in them is replaced in its turn.
 *
 * Arguments that the body has no place for are not lost: they follow it under a heading `## Arguments`.
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
